//! What a device was asked to do, counted: the figures behind `EXPLAIN ANALYZE`.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Calls to the driver since the runtime was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Copies of batches to the device.
    pub copies_in: u64,
    /// Bytes of them.
    pub bytes_in: u64,
    /// Copies of results from the device.
    pub copies_out: u64,
    /// Bytes of them.
    pub bytes_out: u64,
    /// Kernels started.
    pub launches: u64,
    /// Device memory taken for a batch.
    pub allocations: u64,
    /// The device or its budget had no room for a batch.
    pub failed_allocations: u64,
    /// Copies of the operators' tables: one for a device.
    pub setup_copies: u64,
    /// Bytes of them.
    pub setup_bytes: u64,
    /// Kernels compiled by NVRTC.
    pub compiled: u64,
    /// Kernels found compiled, on disk or among the precompiled.
    pub found_compiled: u64,
    /// Staging buffers made, because none that was free was large enough.
    pub staging_buffers: u64,
    /// Those of them that are ordinary memory, because pinned memory was not asked for or not to be had.
    pub pageable_buffers: u64,
}

/// [`Counters`] that several threads add to.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) copies_in: AtomicU64,
    pub(super) bytes_in: AtomicU64,
    pub(super) copies_out: AtomicU64,
    pub(super) bytes_out: AtomicU64,
    pub(super) launches: AtomicU64,
    pub(super) allocations: AtomicU64,
    pub(super) failed_allocations: AtomicU64,
    pub(super) setup_copies: AtomicU64,
    pub(super) setup_bytes: AtomicU64,
    pub(super) compiled: AtomicU64,
    pub(super) found_compiled: AtomicU64,
    pub(super) staging_buffers: AtomicU64,
    pub(super) pageable_buffers: AtomicU64,
}

/// One more.
pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}

/// So many bytes more.
pub(super) fn add_bytes(counter: &AtomicU64, n_bytes: usize) {
    counter.fetch_add(n_bytes as u64, Relaxed);
}

impl Tally {
    /// What was counted so far.
    pub(super) fn read(&self) -> Counters {
        let read = |counter: &AtomicU64| counter.load(Relaxed);
        Counters {
            copies_in: read(&self.copies_in),
            bytes_in: read(&self.bytes_in),
            copies_out: read(&self.copies_out),
            bytes_out: read(&self.bytes_out),
            launches: read(&self.launches),
            allocations: read(&self.allocations),
            failed_allocations: read(&self.failed_allocations),
            setup_copies: read(&self.setup_copies),
            setup_bytes: read(&self.setup_bytes),
            compiled: read(&self.compiled),
            found_compiled: read(&self.found_compiled),
            staging_buffers: read(&self.staging_buffers),
            pageable_buffers: read(&self.pageable_buffers),
        }
    }
}
