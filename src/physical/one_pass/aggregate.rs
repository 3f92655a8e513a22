//! Calls inside an aggregation move into a projection below it, where they can share a pass.
//!
//! ```text
//! AggregateExec: avg(words(text)), max(x)   ⇒   AggregateExec: avg(call 0), max(x)
//!                                                 ProjectionExec: x, words(text) AS call 0
//! ```
//! Columns that only calls read stay below: a text would be copied from batch to batch for nothing. Refuses aggregations that read states of other aggregations, and those cut short by a limit.

use super::build::is_shared_call;
use arrow::datatypes::Schema;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion, TreeNodeVisitor};
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
    let mut calls = Calls::default();
    for expr in expressions(aggregate) {
        expr.visit(&mut calls)?;
    }
    if calls.found.is_empty() {
        return Ok(None);
    }
    calls.columns.sort_unstable();
    calls.columns.dedup();
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
    let projection = Arc::new(calls.projection(aggregate.input())?);
    let group =
        PhysicalGroupBy::new(keys, group.null_expr().to_vec(), group.groups().to_vec(), group.has_grouping_set());
    let schema = projection.schema();
    let moved = AggregateExec::try_new(*aggregate.mode(), group, functions, filters, projection, schema)?;
    // Types are what they were; a difference in metadata or nullability would be one in the plan above.
    Ok((moved.schema() == aggregate.schema()).then(|| Arc::new(moved) as Arc<dyn ExecutionPlan>))
}

/// Everything that an aggregation computes of its input's rows.
fn expressions(aggregate: &AggregateExec) -> Vec<Arc<dyn PhysicalExpr>> {
    let keys = aggregate.group_expr().expr().iter().map(|(expr, _)| Arc::clone(expr));
    let filters = aggregate.filter_expr().iter().flatten().cloned();
    let of_functions = aggregate.aggr_expr().iter().flat_map(|function| {
        let parts = function.all_expressions();
        parts.args.into_iter().chain(parts.order_by_exprs)
    });
    keys.chain(filters).chain(of_functions).collect()
}

/// What the projection gives to the aggregation.
#[derive(Default)]
struct Calls {
    /// Columns of the input that are read beside the calls, in ascending order.
    columns: Vec<usize>,
    /// The calls, which come after them.
    found: Vec<Arc<dyn PhysicalExpr>>,
}

impl<'n> TreeNodeVisitor<'n> for Calls {
    type Node = Arc<dyn PhysicalExpr>;

    fn f_down(&mut self, node: &'n Self::Node) -> Result<TreeNodeRecursion> {
        if is_shared_call(node) {
            if !self.found.contains(node) {
                self.found.push(Arc::clone(node));
            }
            return Ok(TreeNodeRecursion::Jump);
        }
        self.columns.extend(node.downcast_ref::<Column>().map(Column::index));
        Ok(TreeNodeRecursion::Continue)
    }
}

impl Calls {
    /// The expression over the columns of the projection.
    fn below(&self, expr: &Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
        let column = |name: &str, index: usize| Arc::new(Column::new(name, index)) as Arc<dyn PhysicalExpr>;
        let moved = Arc::clone(expr).transform_down(|node| {
            if let Some(place) = self.found.iter().position(|known| known.eq(&node)) {
                return Ok(Transformed::new(
                    column(&name(place), self.columns.len() + place),
                    true,
                    TreeNodeRecursion::Jump,
                ));
            }
            let Some(read) = node.downcast_ref::<Column>() else { return Ok(Transformed::no(node)) };
            let Ok(place) = self.columns.binary_search(&read.index()) else {
                return Err(crate::bug!("column {read} was not collected").into());
            };
            Ok(Transformed::new(column(read.name(), place), true, TreeNodeRecursion::Jump))
        })?;
        Ok(moved.data)
    }

    fn projection(self, input: &Arc<dyn ExecutionPlan>) -> Result<ProjectionExec> {
        let schema: Arc<Schema> = input.schema();
        let given = self.columns.into_iter().map(|index| {
            let field = schema.field(index);
            ProjectionExpr { expr: Arc::new(Column::new(field.name(), index)), alias: field.name().clone() }
        });
        let made = self.found.into_iter().enumerate().map(|(place, expr)| ProjectionExpr { expr, alias: name(place) });
        ProjectionExec::try_new(given.chain(made).collect::<Vec<_>>(), Arc::clone(input))
    }
}

fn name(place: usize) -> String {
    format!("call {place}")
}
