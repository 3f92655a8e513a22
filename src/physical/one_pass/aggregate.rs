//! Calls inside an aggregation move into a projection below it, where they can share a pass.
//!
//! ```text
//! AggregateExec: avg(words(text)), avg(chars(text))   ⇒   AggregateExec: avg(call 0), avg(call 1)
//!                                                           ProjectionExec: text, words(text) AS call 0, …
//! ```
//! Refuses aggregations that read states of other aggregations, and those cut short by a limit.

use super::build::is_shared_call;
use arrow::datatypes::Schema;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateInputMode, PhysicalGroupBy};
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use std::sync::Arc;

/// The aggregation over a projection that computes its calls; `None` if it has none.
pub(super) fn with_calls_below(node: &dyn ExecutionPlan) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(aggregate) = node.downcast_ref::<AggregateExec>() else { return Ok(None) };
    if aggregate.mode().input_mode() != AggregateInputMode::Raw || aggregate.limit_options().is_some() {
        return Ok(None);
    }
    let mut calls = Calls { n_inputs: aggregate.input().schema().fields().len(), found: vec![] };
    let group = aggregate.group_expr();
    let keys = group.expr().iter().map(|(expr, name)| Ok((calls.below(expr)?, name.clone())));
    let keys = keys.collect::<Result<Vec<_>>>()?;
    let mut functions = Vec::with_capacity(aggregate.aggr_expr().len());
    for function in aggregate.aggr_expr() {
        let parts = function.all_expressions();
        let arguments = parts.args.iter().map(|expr| calls.below(expr)).collect::<Result<Vec<_>>>()?;
        let order_by = parts.order_by_exprs.iter().map(|expr| calls.below(expr)).collect::<Result<Vec<_>>>()?;
        let Some(function) = function.with_new_expressions(arguments, order_by) else { return Ok(None) };
        functions.push(Arc::new(function));
    }
    let filters =
        aggregate.filter_expr().iter().map(|filter| filter.as_ref().map(|expr| calls.below(expr)).transpose());
    let filters = filters.collect::<Result<Vec<_>>>()?;
    if calls.found.is_empty() {
        return Ok(None);
    }
    let projection = Arc::new(calls.projection(aggregate.input())?);
    let group =
        PhysicalGroupBy::new(keys, group.null_expr().to_vec(), group.groups().to_vec(), group.has_grouping_set());
    let schema = projection.schema();
    let moved = AggregateExec::try_new(*aggregate.mode(), group, functions, filters, projection, schema)?;
    // Types are what they were; a difference in metadata or nullability would be one in the plan above.
    Ok((moved.schema() == aggregate.schema()).then(|| Arc::new(moved) as Arc<dyn ExecutionPlan>))
}

struct Calls {
    n_inputs: usize,
    found: Vec<Arc<dyn PhysicalExpr>>,
}

impl Calls {
    /// The expression with its calls replaced by columns of the projection.
    fn below(&mut self, expr: &Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
        let moved = Arc::clone(expr).transform_down(|node| {
            if !is_shared_call(&node) {
                return Ok(Transformed::no(node));
            }
            let place = match self.found.iter().position(|known| known.eq(&node)) {
                Some(place) => place,
                None => {
                    self.found.push(node);
                    self.found.len() - 1
                }
            };
            let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(&name(place), self.n_inputs + place));
            Ok(Transformed::new(column, true, TreeNodeRecursion::Jump))
        })?;
        Ok(moved.data)
    }

    fn projection(self, input: &Arc<dyn ExecutionPlan>) -> Result<ProjectionExec> {
        let schema: Arc<Schema> = input.schema();
        let given = schema.fields().iter().enumerate().map(|(index, field)| ProjectionExpr {
            expr: Arc::new(Column::new(field.name(), index)),
            alias: field.name().clone(),
        });
        let made = self.found.into_iter().enumerate().map(|(place, expr)| ProjectionExpr { expr, alias: name(place) });
        ProjectionExec::try_new(given.chain(made).collect::<Vec<_>>(), Arc::clone(input))
    }
}

fn name(place: usize) -> String {
    format!("call {place}")
}
