//! Vectors compared on a device, where a run has one.
//!
//! Invariant: a device gives the bits that the CPU gives (`gpu::nearest`, `gpu::most_similar`), so it does not matter
//! which comparisons it did. What it cannot do, the CPU does.
//! Not here: which device, and whether it is worth it; that is for those who make the plan.

use super::nearest::{Best, Others};
use super::vectors::Vectors;
use crate::Result;
use crate::dedup::Budget;
use crate::gpu::{self, Device, GpuError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Vectors that go over at a time: the centres go with them, so these should be many.
const PASS_BYTES: usize = 64 << 20;

/// Clusters with fewer rows than a block of threads takes are compared sooner than they are copied.
const LEAST_ROWS: usize = 32;

/// Hears of what failed on a device. An error ends the run; otherwise the CPU goes on.
pub(super) type OnFailure = Box<dyn Fn(&GpuError) -> Result<()> + Send + Sync>;

/// A device that compares vectors until it fails.
pub(super) struct OnDevice {
    device: Arc<Device>,
    on_failure: OnFailure,
    is_lost: AtomicBool,
}

impl OnDevice {
    pub(super) fn new(device: Arc<Device>, on_failure: OnFailure) -> Self {
        Self { device, on_failure, is_lost: AtomicBool::new(false) }
    }

    /// The nearest centre of each row and the product with it. None: it is for the CPU to do.
    pub(super) fn nearest(&self, rows: &[f32], centres: &[f32], stride: usize) -> Result<Option<(Vec<u32>, Vec<f32>)>> {
        self.ask(|device| gpu::nearest(device, rows, centres, stride))
    }

    /// The best of each row of a cluster, given in the order of the ranking. None: it is for the CPU to do.
    pub(super) fn best_of(&self, ranked: &[f32], stride: usize, others: Others) -> Result<Option<Vec<Option<Best>>>> {
        let others = match others {
            Others::Before => gpu::Others::Before,
            Others::All => gpu::Others::All,
        };
        let found = self.ask(|device| gpu::most_similar(device, ranked, stride, others))?;
        let best = |similar: gpu::Similar| Best { place: similar.place, similarity: similar.similarity };
        Ok(found.map(|found| found.into_iter().map(|similar| similar.map(best)).collect()))
    }

    /// Whether a cluster of so many rows is worth a launch.
    pub(super) fn takes(&self, n_rows: usize) -> bool {
        n_rows >= LEAST_ROWS && !self.is_lost.load(Relaxed)
    }

    fn ask<T>(&self, work: impl Fn(&Arc<Device>) -> Result<T, GpuError>) -> Result<Option<T>> {
        if self.is_lost.load(Relaxed) {
            return Ok(None);
        }
        let mut done = work(&self.device);
        if matches!(done, Err(GpuError::OutOfMemory { .. })) {
            // What is kept for later batches may be in the way.
            self.device.release_unused();
            done = work(&self.device);
        }
        let error = match done {
            Ok(found) => return Ok(Some(found)),
            Err(error) => error,
        };
        (self.on_failure)(&error)?;
        // There may be room again the next time; nothing else gets better.
        if !matches!(error, GpuError::OutOfMemory { .. }) {
            self.is_lost.store(true, Relaxed);
        }
        Ok(None)
    }
}

/// How passes over all vectors are made: who compares, and how many vectors at a time. That changes no result.
pub(super) struct Passes<'a> {
    pub(super) device: Option<&'a OnDevice>,
    pub(super) block_rows: usize,
    budget: &'a dyn Budget,
    claimed_bytes: usize,
}

impl<'a> Passes<'a> {
    /// Over `vectors`: chunk by chunk, or with a device in larger blocks if there is memory to put them together.
    pub(super) fn new(vectors: &Vectors, device: Option<&'a OnDevice>, budget: &'a dyn Budget) -> Self {
        let mut passes = Self { device, block_rows: vectors.chunk_rows(), budget, claimed_bytes: 0 };
        if device.is_none() {
            return passes;
        }
        let vector_bytes = vectors.stride() * size_of::<f32>();
        let mut block_rows = (PASS_BYTES / vector_bytes).min(vectors.len());
        while block_rows > passes.block_rows {
            if budget.try_grow(block_rows * vector_bytes) {
                passes.claimed_bytes = block_rows * vector_bytes;
                passes.block_rows = block_rows;
                break;
            }
            block_rows /= 2;
        }
        passes
    }
}

impl Drop for Passes<'_> {
    fn drop(&mut self) {
        self.budget.shrink(self.claimed_bytes);
    }
}
