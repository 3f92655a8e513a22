//! `SortBeyondMemory`: sorts measure what they hold in bytes, and go to disk before memory is used up.

use crate::exec::ExternalSortExec;
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
/// Sound because both give the same rows in the order of the same keys. Pays off because DataFusion's merge holds batches of
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
            let merged = node.downcast_ref::<SortPreservingMergeExec>().filter(|merge| merge.fetch().is_none());
            let below = merged.and_then(|merge| merge.input().downcast_ref::<SortExec>());
            let (sort, is_merging) = match (below, node.downcast_ref::<SortExec>()) {
                (Some(sort), _) => (sort, true),
                (None, Some(sort)) => (sort, !sort.preserve_partitioning()),
                (None, None) => return Ok(Transformed::no(node)),
            };
            let is_same_order = merged.is_none_or(|merge| merge.expr() == sort.expr());
            if sort.fetch().is_some() || !is_same_order {
                return Ok(Transformed::no(node));
            }
            let (input, order) = (Arc::clone(sort.input()), sort.expr().clone());
            Ok(match ExternalSortExec::try_new(input, order, is_merging, self.batch_bytes)? {
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
