//! `SplitGuards`: a condition that can fail is computed only for the rows that the conditions before it leave.
//!
//! For plans without `OnePass`, which does that for every condition: DataFusion's `AND` mostly computes both sides for all rows.

use crate::optimizer::is_marked_condition;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::physical_expr::{conjunction, split_conjunction};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};
use std::sync::Arc;

/// Makes several filters of one at the marks of `GuardFailingConditions`.
///
/// ```text
/// FilterExec: t ~ 'a' AND after_guards(CAST(t) > 5)   ⇒   FilterExec: after_guards(CAST(t) > 5)
///                                                           FilterExec: t ~ 'a'
/// ```
/// Sound because conditions that are joined by `AND` may be asked one after the other. Leaves filters without marks alone.
#[derive(Debug)]
pub struct SplitGuards;

impl PhysicalOptimizerRule for SplitGuards {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let split = plan.transform_down(|node| {
            let Some(filter) = node.downcast_ref::<FilterExec>() else { return Ok(Transformed::no(node)) };
            let conditions = split_conjunction(filter.predicate());
            let last_mark = conditions.iter().rposition(|condition| is_marked_condition(condition));
            let Some(at) = last_mark.filter(|at| *at > 0) else { return Ok(Transformed::no(node)) };
            let (before, after) = conditions.split_at(at);
            let all = |conditions: &[&Arc<_>]| conjunction(conditions.iter().map(|condition| Arc::clone(condition)));
            let below = FilterExecBuilder::new(all(before), Arc::clone(filter.input())).build()?;
            let above =
                FilterExecBuilder::from(filter).with_predicate(all(after)).with_input(Arc::new(below)).build()?;
            Ok(Transformed::yes(Arc::new(above) as Arc<dyn ExecutionPlan>))
        })?;
        Ok(split.data)
    }

    fn name(&self) -> &str {
        "SplitGuards"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
