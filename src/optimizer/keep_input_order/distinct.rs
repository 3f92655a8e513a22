//! The first of equal rows: `DISTINCT` and `DISTINCT ON`.
//!
//! `DISTINCT` becomes a grouping with the position of each group's first row, which is the order of what comes out.

use super::Walk;
use super::carried::{Carried, Key, Order};
use arrow::datatypes::FieldRef;
use datafusion::common::TableReference;
use datafusion::error::Result;
use datafusion::functions_aggregate::expr_fn::min;
use datafusion::logical_expr::expr_rewriter::normalize_cols;
use datafusion::logical_expr::{Aggregate, Distinct, DistinctOn, Expr, LogicalPlan};
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
    /// DistinctOn: on k, select x   ⇒   Projection: x
    ///                                    a verb that keeps the first row for each k
    /// ```
    /// `ORDER BY`, if it is there, decides which row of a group is the first.
    pub(super) fn distinct_on(&self, distinct: DistinctOn) -> Result<Carried> {
        let DistinctOn { on_expr, select_expr, sort_expr, input, schema } = distinct;
        let mut input = self.visit(Arc::unwrap_or_clone(input))?;
        if let Some(by) = sort_expr {
            let (plan, order) = self.order_by(input, by)?;
            input = Carried::known(plan, order);
        }
        let mut keys = normalize_cols(on_expr, &input.plan)?;
        let mut seen = HashSet::new();
        keys.retain(|key| seen.insert(key.clone()));
        let first_rows = match &input.order {
            Some(_) => (self.first_rows)(&input.plan, &keys)?,
            None => None,
        };
        let Some(node) = first_rows else {
            let distinct = DistinctOn::try_new(keys, select_expr, None, Arc::new(input.plan))?;
            return Ok(Carried::unknown(LogicalPlan::Distinct(Distinct::On(distinct))));
        };
        let rows = Carried { plan: node.rows().clone(), order: input.order };
        let first_rows = self.verb_over(&node, vec![rows])?;
        let columns = normalize_cols(select_expr, &first_rows.plan)?;
        let named = |(expr, (qualifier, field)): (Expr, (Option<&TableReference>, &FieldRef))| {
            expr.alias_qualified(qualifier.cloned(), field.name())
        };
        self.project(first_rows, columns.into_iter().zip(schema.iter()).map(named).collect())
    }
}
