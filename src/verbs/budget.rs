//! The run's memory pool and temporary folder, as the algorithms of `crate::dedup` ask for them.

use crate::dedup::Budget;
use crate::store::{ScratchFile, scratch_file};
use crate::{Error, Result, bug};
use datafusion::execution::TaskContext;
use datafusion::execution::disk_manager::DiskManager;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::physical_plan::metrics::Count;
use std::sync::Arc;

/// Claims from the session's pool. Two of them share it fairly: each can spill.
#[derive(Debug)]
pub(super) struct PoolBudget {
    reservation: MemoryReservation,
    disk: Arc<DiskManager>,
    spilled_bytes: Count,
    n_threads: usize,
}

impl PoolBudget {
    pub fn new(name: &str, context: &TaskContext, spilled_bytes: Count) -> Self {
        Self {
            reservation: MemoryConsumer::new(name).with_can_spill(true).register(context.memory_pool()),
            disk: Arc::clone(&context.runtime_env().disk_manager),
            spilled_bytes,
            n_threads: context.session_config().target_partitions(),
        }
    }
}

/// The threads that a query may use, for work on the rows of a batch.
pub(super) fn threads(budget: &dyn Budget) -> Result<rayon::ThreadPool> {
    let threads = rayon::ThreadPoolBuilder::new().num_threads(budget.n_threads().max(1)).build();
    threads.map_err(|error| bug!("threads of a deduplication: {error}"))
}

impl Budget for PoolBudget {
    fn try_grow(&self, n_bytes: usize) -> bool {
        self.reservation.try_grow(n_bytes).is_ok()
    }

    fn shrink(&self, n_bytes: usize) {
        self.reservation.shrink(n_bytes);
    }

    fn temp_file(&self) -> Result<ScratchFile> {
        // The manager makes the folder, and removes it at the end; the file has no name in it and goes when it is closed.
        let placed = self.disk.create_tmp_file("dedup")?;
        let folder = placed
            .path()
            .and_then(std::path::Path::parent)
            .map_or_else(std::env::temp_dir, std::path::Path::to_path_buf);
        scratch_file(&folder).map_err(|error| Error::io(folder, error))
    }

    fn note_spilled(&self, n_bytes: u64) {
        self.spilled_bytes.add(usize::try_from(n_bytes).unwrap_or(usize::MAX));
    }

    fn n_threads(&self) -> usize {
        self.n_threads
    }
}
