//! How much memory of a device may be used, who has how much of it, and the staging buffers that wait for reuse.
//!
//! Invariant: the sum of all claims never exceeds the limit; a claim ends with the batch that holds it.
//! Not here: taking the memory itself (`flight.rs`).

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
#[cfg(test)]
use std::time::{Duration, Instant};

use super::{GpuError, flight::Gear};

/// What is used of a device's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryUse {
    /// What may be used in all: the fraction of the device's memory that was asked for.
    pub limit_bytes: usize,
    /// What batches and the operators' tables have now.
    pub used_bytes: usize,
    /// The most they ever had.
    pub peak_bytes: usize,
    /// What the driver's pool holds for them, used or not; the same as used where there is no pool.
    pub reserved_bytes: usize,
}

/// The memory of one device, as numbers.
#[derive(Debug)]
pub(super) struct Budget {
    limit_bytes: usize,
    state: Mutex<Used>,
    freed: Condvar,
}

#[derive(Debug, Default)]
struct Used {
    /// By batches.
    now_bytes: usize,
    /// By what stays while the device is open.
    fixed_bytes: usize,
    peak_bytes: usize,
}

/// A batch's part of the budget, given back when dropped.
#[derive(Debug)]
pub(super) struct Claim {
    budget: Arc<Budget>,
    n_bytes: usize,
}

impl Budget {
    pub(super) fn new(limit_bytes: usize) -> Arc<Self> {
        Arc::new(Self { limit_bytes, state: Mutex::default(), freed: Condvar::new() })
    }

    /// Takes `n_bytes` for a batch, or says what is in the way.
    pub(super) fn claim(self: &Arc<Self>, n_bytes: usize) -> Result<Claim, GpuError> {
        let mut used = self.lock();
        if n_bytes > self.room(&used) {
            return Err(self.out_of_memory(n_bytes, &used, 0));
        }
        used.now_bytes += n_bytes;
        used.peak_bytes = used.peak_bytes.max(used.now_bytes + used.fixed_bytes);
        Ok(Claim { budget: self.clone(), n_bytes })
    }

    /// The error of a device that has no room for a batch, although the budget had and gave it `claimed_bytes`.
    pub(super) fn device_is_full(&self, needed_bytes: usize, claimed_bytes: usize) -> GpuError {
        self.out_of_memory(needed_bytes, &self.lock(), claimed_bytes)
    }

    /// Only what other batches have counts as in use: it is what waiting can free.
    fn out_of_memory(&self, needed_bytes: usize, used: &Used, claimed_bytes: usize) -> GpuError {
        GpuError::OutOfMemory {
            needed_bytes,
            limit_bytes: self.limit_bytes.saturating_sub(used.fixed_bytes),
            in_use_bytes: used.now_bytes.saturating_sub(claimed_bytes),
        }
    }

    fn room(&self, used: &Used) -> usize {
        self.limit_bytes.saturating_sub(used.now_bytes + used.fixed_bytes)
    }

    /// Waits until `n_bytes` could be claimed, for at most `patience`; whether they can.
    #[cfg(test)]
    pub(super) fn wait_for(&self, n_bytes: usize, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let mut used = self.lock();
        loop {
            if n_bytes <= self.room(&used) {
                return true;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            // All that waiting can free is what batches have.
            if left.is_zero() || n_bytes > self.room(&used) + used.now_bytes {
                return false;
            }
            used = self.freed.wait_timeout(used, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The numbers; a pool holds `reserved_bytes`, if there is one.
    pub(super) fn read(&self, reserved_bytes: Option<u64>) -> MemoryUse {
        let used = self.lock();
        let used_bytes = used.now_bytes + used.fixed_bytes;
        MemoryUse {
            limit_bytes: self.limit_bytes,
            used_bytes,
            peak_bytes: used.peak_bytes,
            reserved_bytes: reserved_bytes.map_or(used_bytes, |n_bytes| n_bytes as usize),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Used> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Claim {
    /// Keeps it for good.
    pub(super) fn keep(mut self) {
        let n_bytes = std::mem::take(&mut self.n_bytes);
        let mut used = self.budget.lock();
        used.now_bytes -= n_bytes;
        used.fixed_bytes += n_bytes;
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.budget.lock().now_bytes -= self.n_bytes;
        self.budget.freed.notify_all();
    }
}

/// Staging buffers and markers that no batch uses.
#[derive(Debug)]
pub(super) struct Spares {
    gear: Mutex<Vec<Gear>>,
    /// So many are kept: as many as there can be under way without waiting.
    n_kept: usize,
}

impl Spares {
    pub(super) fn new(n_kept: usize) -> Self {
        Self { gear: Mutex::default(), n_kept }
    }

    /// The smallest that is large enough.
    pub(super) fn take(&self, n_bytes: usize) -> Option<Gear> {
        let mut gear = self.lock();
        let fitting = gear.iter().enumerate().filter(|(_, gear)| gear.staging.n_bytes() >= n_bytes);
        let (place, _) = fitting.min_by_key(|(_, gear)| gear.staging.n_bytes())?;
        Some(gear.swap_remove(place))
    }

    /// Keeps it for the next batch; the smallest goes if there are too many.
    pub(super) fn put(&self, returned: Gear) {
        let mut gear = self.lock();
        gear.push(returned);
        if gear.len() > self.n_kept
            && let Some((place, _)) = gear.iter().enumerate().min_by_key(|(_, gear)| gear.staging.n_bytes())
        {
            gear.swap_remove(place);
        }
    }

    /// Frees them all.
    pub(super) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Gear>> {
        self.gear.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The size of a new staging buffer for `n_bytes`: rounded up, so that the next batch, a little larger, fits as well.
pub(super) fn staging_bytes(n_bytes: usize) -> usize {
    let step = (n_bytes.max(64 << 10).next_power_of_two() / 4).max(1);
    n_bytes.max(64 << 10).next_multiple_of(step)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_claim_is_given_back_when_dropped() {
        let budget = Budget::new(100);
        let first = budget.claim(60).unwrap();
        let refused = budget.claim(41).unwrap_err();
        assert_eq!(refused, GpuError::OutOfMemory { needed_bytes: 41, limit_bytes: 100, in_use_bytes: 60 });
        let second = budget.claim(40).unwrap();
        drop(first);
        assert_eq!(
            budget.read(None),
            MemoryUse { limit_bytes: 100, used_bytes: 40, peak_bytes: 100, reserved_bytes: 40 }
        );
        drop(second);
        assert_eq!(budget.read(Some(7)).reserved_bytes, 7);
        assert_eq!(budget.read(None).used_bytes, 0);
    }

    #[test]
    fn a_full_device_is_told_apart_from_a_full_budget_by_what_is_in_use() {
        let budget = Budget::new(100);
        budget.claim(10).unwrap().keep();
        let _other = budget.claim(20).unwrap();
        let _batch = budget.claim(30).unwrap();
        let error = budget.device_is_full(30, 30);
        assert_eq!(error, GpuError::OutOfMemory { needed_bytes: 30, limit_bytes: 90, in_use_bytes: 20 });
        assert_eq!(budget.read(None).used_bytes, 60);
        assert_eq!(budget.read(None).peak_bytes, 60);
    }

    #[test]
    fn waiting_ends_when_a_batch_is_done_and_is_refused_for_what_never_fits() {
        let budget = Budget::new(100);
        let claim = budget.claim(80).unwrap();
        assert!(budget.wait_for(20, Duration::ZERO));
        assert!(!budget.wait_for(21, Duration::ZERO));
        assert!(!budget.wait_for(101, Duration::from_secs(3600)));
        let waiter = {
            let budget = budget.clone();
            std::thread::spawn(move || budget.wait_for(100, Duration::from_secs(3600)))
        };
        drop(claim);
        assert!(waiter.join().unwrap());
    }

    proptest! {
        #[test]
        fn claims_never_exceed_the_limit(sizes in prop::collection::vec((0usize..200, any::<bool>()), 0..50)) {
            let budget = Budget::new(500);
            let mut held: Vec<(usize, Claim)> = vec![];
            for (n_bytes, gives_back) in sizes {
                if gives_back && !held.is_empty() {
                    held.remove(n_bytes % held.len());
                }
                let in_use: usize = held.iter().map(|(n_bytes, _)| n_bytes).sum();
                match budget.claim(n_bytes) {
                    Ok(claim) => held.push((n_bytes, claim)),
                    Err(_) => prop_assert!(in_use + n_bytes > 500),
                }
                let in_use: usize = held.iter().map(|(n_bytes, _)| n_bytes).sum();
                prop_assert_eq!(budget.read(None).used_bytes, in_use);
                prop_assert!(in_use <= 500);
            }
        }

        #[test]
        fn staging_is_large_enough_and_at_most_half_as_large_again(n_bytes in 0usize..1 << 34) {
            let staged = staging_bytes(n_bytes);
            prop_assert!(staged >= n_bytes);
            prop_assert!(staged as f64 <= (n_bytes.max(64 << 10)) as f64 * 1.5);
        }
    }
}
