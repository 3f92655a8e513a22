//! What one chain of operators on a device needs to know.

use super::{Engine, GroupStates, Sizing};
use crate::exec::{BatchSize, ShareSemaphore};
use crate::logical::Resources;
use crate::{bug, gpu};
use arrow::array::RecordBatch;
use datafusion::error::Result;
use std::sync::Arc;

/// What device memory is set aside in.
pub const MEMORY_UNIT_BYTES: usize = 64 << 10;

/// A chain of operators that runs on a device, and how.
#[derive(Debug, Clone)]
pub struct Segment {
    /// What the kernel computes.
    pub program: Arc<gpu::Program>,
    /// The input's columns that are copied in, in the order of the program's.
    pub columns: Vec<usize>,
    /// The outputs that the device computes, ascending, each with its place among the program's results; all others are
    /// columns of the input.
    pub outputs: Vec<(usize, usize)>,
    /// What becomes of the rows that are left, if they are grouped by key: only groups leave the segment.
    pub groups: Option<GroupStates>,
    /// The batches that are planned.
    pub batch: BatchSize,
    /// By what they are sized when the rows are there.
    pub sizing: Sizing,
    /// Batches of one partition under way at once.
    pub n_in_flight: usize,
    /// What the query sets aside for these operators.
    pub resources: Resources,
    /// The memory that [`Resources::gpu_memory_bytes`] sets aside, in units of [`MEMORY_UNIT_BYTES`].
    pub memory: Option<Arc<ShareSemaphore>>,
    /// Whether to fail rather than to run on the CPU.
    pub require: bool,
    /// The devices. `None`: the plan was made for other hardware, to be looked at.
    pub engine: Option<Arc<Engine>>,
    /// Lines for EXPLAIN: where each operator runs, why, and what it costs.
    pub notes: Vec<String>,
    /// The copies in and back, for EXPLAIN.
    pub copies: [String; 2],
}

impl Segment {
    /// What leaves the segment: the rows that are left, or their groups.
    pub(super) fn of_rows(&self, rows: RecordBatch) -> Result<RecordBatch> {
        match &self.groups {
            Some(groups) => groups.of_rows(&rows),
            None => Ok(rows),
        }
    }

    /// The same program with rows for a result.
    pub(super) fn program_of_rows(&self) -> Result<Arc<gpu::Program>> {
        let program = gpu::Program::clone(&self.program).grouped(None);
        Ok(Arc::new(program.map_err(|why| bug!("a program without groups: {why}"))?))
    }
}
