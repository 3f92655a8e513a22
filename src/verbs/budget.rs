//! The run's memory pool and temporary folder, as the algorithms of `crate::dedup` ask for them.

use crate::dedup::Budget;
use crate::store::{ScratchFile, TempSpace, temp_file};
use crate::{Result, bug};
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::physical_plan::metrics::Count;
use std::sync::Arc;

/// Claims from the session's pool. Two of them share it fairly: each can spill.
#[derive(Debug)]
pub(super) struct PoolBudget {
    reservation: MemoryReservation,
    space: Option<Arc<TempSpace>>,
    spilled_bytes: Count,
    n_threads: usize,
}

impl PoolBudget {
    pub fn new(name: &str, context: &TaskContext, spilled_bytes: Count) -> Self {
        Self {
            reservation: MemoryConsumer::new(name).with_can_spill(true).register(context.memory_pool()),
            space: context.session_config().get_extension::<TempSpace>(),
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
        self.space.as_ref().map_or_else(temp_file, |space| space.file())
    }

    fn note_spilled(&self, n_bytes: u64) {
        self.spilled_bytes.add(usize::try_from(n_bytes).unwrap_or(usize::MAX));
    }

    fn n_threads(&self) -> usize {
        self.n_threads
    }
}
