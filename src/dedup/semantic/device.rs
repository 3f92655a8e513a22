//! Vectors compared on devices, where a run has some.
//!
//! Invariant: a device gives the bits that the CPU gives (`gpu::nearest`, `gpu::most_similar`), so it does not matter
//! which comparisons it did. What it cannot do, the CPU does.
//! Not here: which devices, and whether it is worth it; that is for those who make the plan.

use super::nearest::{Best, Others};
use super::vectors::Vectors;
use crate::dedup::Budget;
use crate::gpu::{self, Device, GpuError};
use crate::{Result, bug};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Vectors that go over at a time: the centres go with them, so these should be many.
const PASS_BYTES: usize = 64 << 20;

/// Clusters with fewer rows than a block of threads takes are compared sooner than they are copied.
const LEAST_ROWS: usize = 32;

/// The devices of a run: which there are, who may use them now, and who hears of what happens there.
pub trait Comparers: Send + Sync {
    /// Those that work, each with its place among all.
    fn working(&self) -> Vec<(usize, Arc<Device>)>;

    /// How many launches a device may have under way, and the memory of all of them.
    fn bounds(&self) -> gpu::Bounds;

    /// Waits for leave to have so many launches under way on a device, which lasts until what it returns is dropped.
    fn enter(&self, place: usize, n_launches: usize) -> Box<dyn Send>;

    /// Hears of what failed on a device. An error ends the run; otherwise the others go on, or the CPU.
    fn failed(&self, place: usize, error: &GpuError) -> Result<()>;

    /// Hears of what was compared.
    fn compared(&self, counts: gpu::ComparisonCounts);
}

/// Devices that compare vectors until they fail.
pub(super) struct OnDevices {
    comparers: Box<dyn Comparers>,
    /// Which of the devices begins: work too small for all of them goes round.
    turn: AtomicUsize,
}

impl OnDevices {
    pub(super) fn new(comparers: Box<dyn Comparers>) -> Self {
        Self { comparers, turn: AtomicUsize::new(0) }
    }

    /// The nearest centre of each row and the product with it. None: it is for the CPU to do.
    pub(super) fn nearest(&self, rows: &[f32], centres: &[f32], stride: usize) -> Result<Option<gpu::NearestCentres>> {
        let n_rows = rows.len() / stride.max(1);
        let bounds = self.comparers.bounds();
        let parts = self.share_out(
            n_rows,
            |part| n_rows as f64 * part,
            bounds.n_launches,
            |device, part| gpu::nearest(device, &rows[part.start * stride..part.end * stride], centres, stride, bounds),
        )?;
        Ok(parts.map(|parts| {
            let (best, products): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
            (best.concat(), products.concat())
        }))
    }

    /// The best of each row of a cluster, given in the order of the ranking. None: it is for the CPU to do.
    pub(super) fn best_of(&self, ranked: &[f32], stride: usize, others: Others) -> Result<Option<Vec<Option<Best>>>> {
        let n_rows = ranked.len() / stride.max(1);
        let bounds = self.comparers.bounds();
        // Of the first half of the pairs of a row with those before it, seven tenths of the rows have a part.
        let end = |part: f64| n_rows as f64 * if others == Others::Before { part.sqrt() } else { part };
        let others = match others {
            Others::Before => gpu::Others::Before,
            Others::All => gpu::Others::All,
        };
        let parts = self.share_out(n_rows, end, 1, |device, part| {
            gpu::most_similar(device, ranked, stride, others, part, bounds)
        })?;
        let best = |similar: gpu::Similar| Best { place: similar.place, similarity: similar.similarity };
        Ok(parts.map(|parts| parts.concat().into_iter().map(|similar| similar.map(best)).collect()))
    }

    /// Whether a cluster of so many rows is worth a launch.
    pub(super) fn takes(&self, n_rows: usize) -> bool {
        n_rows >= LEAST_ROWS && !self.comparers.working().is_empty()
    }

    /// Cuts rows into a part for each device, the k-th of n of which ends at `end(k / n)`, and has them worked on side by
    /// side. A part whose device fails goes to another one; None if no device is left to do it.
    fn share_out<T: Send>(
        &self,
        n_rows: usize,
        end: impl Fn(f64) -> f64,
        n_launches: usize,
        work: impl Fn(&Arc<Device>, Range<usize>) -> Result<(T, gpu::ComparisonCounts), GpuError> + Sync,
    ) -> Result<Option<Vec<T>>> {
        let mut devices = self.comparers.working();
        let n_parts = devices.len().min(n_rows / LEAST_ROWS).max(1);
        let turn = self.turn.fetch_add(n_parts, Relaxed);
        if devices.is_empty() {
            return Ok(None);
        }
        let first = turn % devices.len();
        devices.rotate_left(first);
        let ends: Vec<usize> = (0..=n_parts).map(|k| end(k as f64 / n_parts as f64).round() as usize).collect();
        let waiting: Mutex<Vec<usize>> = Mutex::new((0..n_parts).rev().collect());
        let done: Mutex<Vec<Option<T>>> = Mutex::new((0..n_parts).map(|_| None).collect());
        let run = |(place, device): &(usize, Arc<Device>)| -> Result<()> {
            loop {
                let Some(part) = lock(&waiting).pop() else { return Ok(()) };
                let rows = ends[part]..ends[part + 1].min(n_rows);
                match self.ask(*place, device, n_launches, |device| work(device, rows.clone()))? {
                    Some(found) => lock(&done)[part] = Some(found),
                    None => {
                        lock(&waiting).push(part);
                        return Ok(());
                    }
                }
            }
        };
        std::thread::scope(|scope| {
            let (here, elsewhere) = devices[..n_parts].split_at(1);
            let elsewhere: Vec<_> = elsewhere.iter().map(|device| scope.spawn(|| run(device))).collect();
            let mut ended = here.iter().try_for_each(&run);
            for other in elsewhere {
                let other = other.join().unwrap_or_else(|_| Err(bug!("a thread that compares vectors ended")));
                ended = ended.and(other);
            }
            ended
        })?;
        // What a device gave back after the others were through.
        for device in &devices {
            run(device)?;
        }
        Ok(done.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().collect())
    }

    fn ask<T>(
        &self,
        place: usize,
        device: &Arc<Device>,
        n_launches: usize,
        work: impl Fn(&Arc<Device>) -> Result<(T, gpu::ComparisonCounts), GpuError>,
    ) -> Result<Option<T>> {
        if !self.comparers.working().iter().any(|(working, _)| *working == place) {
            return Ok(None);
        }
        let _leave = self.comparers.enter(place, n_launches);
        let mut done = work(device);
        if matches!(done, Err(GpuError::OutOfMemory { .. })) {
            // What is kept for later batches may be in the way.
            device.release_unused();
            done = work(device);
        }
        match done {
            Ok((found, counts)) => {
                self.comparers.compared(counts);
                Ok(Some(found))
            }
            Err(error) => self.comparers.failed(place, &error).map(|()| None),
        }
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How passes over all vectors are made: who compares, and how many vectors at a time. That changes no result.
pub(super) struct Passes<'a> {
    pub(super) devices: Option<&'a OnDevices>,
    pub(super) block_rows: usize,
    budget: &'a dyn Budget,
    claimed_bytes: usize,
}

impl<'a> Passes<'a> {
    /// Over `vectors`: chunk by chunk, or with devices in larger blocks if there is memory to put them together.
    pub(super) fn new(vectors: &Vectors, devices: Option<&'a OnDevices>, budget: &'a dyn Budget) -> Self {
        let mut passes = Self { devices, block_rows: vectors.chunk_rows(), budget, claimed_bytes: 0 };
        if devices.is_none() {
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
