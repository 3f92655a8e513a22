//! The first of equal rows: `DISTINCT` and `DISTINCT ON`.
//!
//! Both become a grouping with the position of each group's first row, which is the order of what comes out.

use super::Walk;
use super::carried::{Carried, Key, Order, column};
use datafusion::error::Result;
use datafusion::functions_aggregate::expr_fn::min;
use datafusion::functions_aggregate::first_last::first_value;
use datafusion::logical_expr::expr_rewriter::normalize_cols;
use datafusion::logical_expr::{Aggregate, Distinct, DistinctOn, Expr, LogicalPlan, Projection};
use std::collections::HashSet;
use std::sync::Arc;

impl Walk<'_> {
    /// ```text
    /// Distinct   ⇒   Aggregate: group by all columns, min(position)
    /// ```
    pub(super) fn distinct(&self, input: LogicalPlan) -> Result<Carried> {
        let schema = Arc::clone(input.schema());
        let n_columns = schema.fields().len();
        let input = self.visit(input)?;
        if input.order.is_none() || n_columns == 0 {
            let plan = LogicalPlan::Distinct(Distinct::All(Arc::new(input.strip(&schema)?)));
            return Ok(Carried::by_columns(plan, n_columns));
        }
        let (input, position, spans) = self.position(input)?;
        let columns = schema.columns().into_iter().map(Expr::Column).collect();
        let first = min(position).alias(self.name());
        let plan = LogicalPlan::Aggregate(Aggregate::try_new(Arc::new(input), columns, vec![first])?);
        Ok(Carried::known(plan, Order::of(vec![Key::ascending(n_columns)]).of_positions(spans)))
    }

    /// ```text
    /// DistinctOn: on k, select x   ⇒   Projection: x, position
    ///                                    Aggregate: group by k, first_value(x ORDER BY position), min(position)
    /// ```
    /// `ORDER BY`, if it is there, decides which row of a group is the first.
    pub(super) fn distinct_on(&self, distinct: DistinctOn) -> Result<Carried> {
        let DistinctOn { on_expr, select_expr, sort_expr, input, schema } = distinct;
        let mut input = self.visit(Arc::unwrap_or_clone(input))?;
        if let Some(by) = sort_expr {
            let (plan, order) = self.order_by(input, by)?;
            input = Carried::known(plan, order);
        }
        if input.order.is_none() {
            let distinct = DistinctOn::try_new(on_expr, select_expr, None, Arc::new(input.plan))?;
            return Ok(Carried::unknown(LogicalPlan::Distinct(Distinct::On(distinct))));
        }
        let (input, position, spans) = self.position(input)?;
        let in_order = vec![position.clone().sort(true, false)];
        let mut firsts: Vec<Expr> = normalize_cols(select_expr, &input)?
            .into_iter()
            .map(|expr| first_value(expr, in_order.clone()).alias(self.name()))
            .collect();
        firsts.push(min(position).alias(self.name()));
        let mut groups = normalize_cols(on_expr, &input)?;
        let mut seen = HashSet::new();
        groups.retain(|key| seen.insert(key.clone()));
        let n_groups = groups.len();
        let plan = LogicalPlan::Aggregate(Aggregate::try_new(Arc::new(input), groups, firsts)?);
        let names = schema.iter().enumerate();
        let mut columns: Vec<Expr> = names
            .map(|(at, (qualifier, field))| {
                column(plan.schema(), n_groups + at).alias_qualified(qualifier.cloned(), field.name())
            })
            .collect();
        let n_columns = columns.len();
        columns.push(column(plan.schema(), n_groups + n_columns));
        let plan = LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?);
        Ok(Carried::known(plan, Order::of(vec![Key::ascending(n_columns)]).of_positions(spans)))
    }
}
