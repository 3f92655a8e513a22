//! `SortBeyondMemory`: sorts measure what they hold in bytes, and go to disk before memory is used up.

use crate::exec::{ExternalSortExec, Sorting};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use std::sync::Arc;

/// Replaces a sort, and the merge above it.
///
/// ```text
/// SortPreservingMergeExec: [text@1 ASC]                         ⇒   ExternalSortExec: [text@1 ASC]
///   SortExec: [text@1 ASC], preserve_partitioning=[true]              FileScanExec: 'docs/'
///     FileScanExec: 'docs/'
/// ```
/// A merge above nodes that keep the order of sorted partitions is replaced too, and merges them. Sound because both give the
/// same rows in the order of the same keys. Pays off because DataFusion's merge holds batches of
/// so many rows, whatever they take, and cannot spill them.
/// Leaves alone sorts with a limit, which hold no more rows than that, and keys that cannot be made bytes.
#[derive(Debug)]
pub struct SortBeyondMemory {
    /// The bytes that a batch aims at.
    pub batch_bytes: usize,
}

impl PhysicalOptimizerRule for SortBeyondMemory {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let replaced = plan.transform_down(|node| {
            let merge = node.downcast_ref::<SortPreservingMergeExec>().filter(|merge| merge.fetch().is_none());
            let sort_below = merge.and_then(|merge| merge.input().downcast_ref::<SortExec>());
            let (input, order, sorting) = match (merge, sort_below, node.downcast_ref::<SortExec>()) {
                (Some(merge), Some(sort), _) if sort.fetch().is_none() && merge.expr() == sort.expr() => {
                    (sort.input(), sort.expr(), Sorting::IntoOne)
                }
                (Some(merge), _, _) if is_sorted_below(merge.input()) => {
                    (merge.input(), merge.expr(), Sorting::OfSorted)
                }
                (None, _, Some(sort)) if sort.fetch().is_none() => {
                    let each = sort.preserve_partitioning();
                    (sort.input(), sort.expr(), if each { Sorting::EachPartition } else { Sorting::IntoOne })
                }
                _ => return Ok(Transformed::no(node)),
            };
            let sort = ExternalSortExec::try_new(Arc::clone(input), order.clone(), sorting, self.batch_bytes)?;
            Ok(match sort {
                Some(sort) => Transformed::yes(Arc::new(sort) as Arc<dyn ExecutionPlan>),
                None => Transformed::no(node),
            })
        })?;
        Ok(replaced.data)
    }

    fn name(&self) -> &str {
        "SortBeyondMemory"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Whether the partitions of a plan are sorted by it, and not as a scan gives them.
fn is_sorted_below(plan: &Arc<dyn ExecutionPlan>) -> bool {
    if let Some(sort) = plan.downcast_ref::<SortExec>() {
        return sort.fetch().is_none();
    }
    match plan.children().as_slice() {
        [input] if plan.maintains_input_order() == [true] => is_sorted_below(input),
        _ => false,
    }
}
