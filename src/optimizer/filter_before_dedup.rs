//! `FilterBeforeDedup`: a filter on what `DEDUP EXACT` compares comes before it.

use crate::verb::VerbNode;
use datafusion::common::Column;
use datafusion::common::tree_node::Transformed;
use datafusion::error::Result;
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{Expr, Filter, LogicalPlan};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use std::sync::Arc;

/// Moves conditions below an exact deduplication.
///
/// ```text
/// Filter: words(text) > 50 AND score > 5      Filter: score > 5
///   Dedup: DEDUP EXACT ON text            ⇒     Dedup: DEDUP EXACT ON text
///     …                                           Filter: words(text) > 50
/// ```
/// Sound: copies have the same values in the columns that are compared, so a condition on them drops all copies or none,
/// and fewer rows are hashed and kept. Refuses conditions on other columns (another copy may pass), those that give another
/// answer each time, `DEDUP FUZZY` and the others (the copy that stays may not pass), runs that add to an index (what
/// it is given would change), and runs that want to see what was dropped.
#[derive(Debug)]
pub struct FilterBeforeDedup;

impl OptimizerRule for FilterBeforeDedup {
    fn name(&self) -> &str {
        "FilterBeforeDedup"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn rewrite(&self, plan: LogicalPlan, _config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Filter(filter) = &plan else { return Ok(Transformed::no(plan)) };
        let Some(node) = VerbNode::of(&filter.input) else { return Ok(Transformed::no(plan)) };
        let passes = |condition: &Expr| {
            let columns: Vec<&Column> = condition.column_refs().into_iter().collect();
            !columns.is_empty() && !condition.is_volatile() && node.verb.lets_filter_pass(&columns)
        };
        let (below, above): (Vec<Expr>, Vec<Expr>) =
            split_conjunction_owned(filter.predicate.clone()).into_iter().partition(passes);
        let Some(below) = conjunction(below) else { return Ok(Transformed::no(plan)) };
        let rows = LogicalPlan::Filter(Filter::try_new(below, Arc::new(node.rows().clone()))?);
        let dedup = node.over(rows)?.into_plan();
        let moved = match conjunction(above) {
            Some(above) => LogicalPlan::Filter(Filter::try_new(above, Arc::new(dedup))?),
            None => dedup,
        };
        Ok(Transformed::yes(moved))
    }
}
