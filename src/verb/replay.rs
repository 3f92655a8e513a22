//! Where a verb gets its rows from when it goes through them again, if they do not fit in memory.
//!
//! ```text
//! Spool       rows ──► temporary file ──► again                    whatever the rows come from
//! Source      rows, dropped …             source ──► rows again    what comes before is cheap, and gives the same each time
//! Checkpoint  rows ──► files of units (kept for another attempt anyway) ──► again
//! ```
//! Invariant: each partition gives the same rows in the same order again. So where rows come from their source again, a
//! partition reads the splits that are its own, both times, and not those that nobody else has taken.
//! Not here: which of them it is (`physical::ReplayRows`), going through them (`verbs/replay.rs`).

use crate::sources::{FileScanExec, SplitShare};
use datafusion::execution::TaskContext;
use datafusion::execution::config::SessionConfig;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use std::sync::Arc;

/// The counter of rows that came again from elsewhere than memory or a spool.
pub const REPLAYED_ROWS: &str = "replayed_rows";

/// Where rows come from again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReplayFrom {
    /// A temporary file.
    #[default]
    Spool,
    /// The files that they were read from, by the same computation.
    Source,
    /// The files in which the run keeps them for another attempt.
    Checkpoint,
}

/// What was decided about the rows of a verb.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replay {
    /// Where rows come from again.
    pub from: ReplayFrom,
    /// What EXPLAIN says.
    pub note: String,
}

impl Default for Replay {
    fn default() -> Self {
        let note = "documents: kept in memory while it lasts, then in a temporary file, and gone through again";
        Self { from: ReplayFrom::Spool, note: note.to_string() }
    }
}

/// The only scan below, where each node has one input.
pub fn only_scan(rows: &Arc<dyn ExecutionPlan>) -> Option<&FileScanExec> {
    match (rows.downcast_ref::<FileScanExec>(), rows.children().as_slice()) {
        (Some(scan), _) => Some(scan),
        (None, [input]) => only_scan(input),
        _ => None,
    }
}

/// The splits that are a partition's own. Those of one partition lie apart, so that all partitions come forward together.
pub fn own_splits(rows: &Arc<dyn ExecutionPlan>, partition: usize) -> Option<SplitShare> {
    let n_partitions = rows.output_partitioning().partition_count();
    let scan = only_scan(rows)?;
    Some(SplitShare((partition..scan.n_splits()).step_by(n_partitions.max(1)).collect()))
}

/// The same run with another configuration.
pub fn with_config(of_run: &TaskContext, config: SessionConfig) -> Arc<TaskContext> {
    Arc::new(TaskContext::new(
        of_run.task_id(),
        of_run.session_id(),
        config,
        of_run.scalar_functions().clone(),
        of_run.higher_order_functions().clone(),
        of_run.aggregate_functions().clone(),
        of_run.window_functions().clone(),
        of_run.runtime_env(),
    ))
}
