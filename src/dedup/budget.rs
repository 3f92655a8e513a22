//! Where an algorithm's memory and temporary files come from.

use crate::Result;
use crate::store::{ScratchFile, temp_file};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Memory and disk for one deduplication. Claimed before it is used and given back after; an algorithm that is
/// refused memory goes on with a temporary file.
pub trait Budget: Send + Sync {
    /// Claims memory; false if there is none left.
    fn try_grow(&self, n_bytes: usize) -> bool;

    /// Gives memory back.
    fn shrink(&self, n_bytes: usize);

    /// An empty file that is gone when it is closed.
    fn temp_file(&self) -> Result<ScratchFile>;

    /// Counts bytes that went to temporary files, for EXPLAIN ANALYZE.
    fn note_spilled(&self, n_bytes: u64);

    /// How many threads may work at a time.
    fn n_threads(&self) -> usize;
}

/// As much memory as a number says, files in the system's temporary folder: for tests and tools.
#[derive(Debug)]
pub struct FixedBudget {
    left_bytes: AtomicUsize,
    n_threads: usize,
}

impl FixedBudget {
    /// No limit, one thread.
    pub fn new() -> Self {
        Self::of(usize::MAX, 1)
    }

    /// So much memory and so many threads.
    pub fn of(limit_bytes: usize, n_threads: usize) -> Self {
        Self { left_bytes: AtomicUsize::new(limit_bytes), n_threads }
    }
}

impl Default for FixedBudget {
    fn default() -> Self {
        Self::new()
    }
}

impl Budget for FixedBudget {
    fn try_grow(&self, n_bytes: usize) -> bool {
        let take = |left: usize| left.checked_sub(n_bytes);
        self.left_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }

    fn shrink(&self, n_bytes: usize) {
        self.left_bytes.fetch_add(n_bytes, Ordering::Relaxed);
    }

    fn temp_file(&self) -> Result<ScratchFile> {
        temp_file()
    }

    fn note_spilled(&self, _n_bytes: u64) {}

    fn n_threads(&self) -> usize {
        self.n_threads
    }
}
