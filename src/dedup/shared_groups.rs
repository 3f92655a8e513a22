//! Records that several threads add, dealt out to several stores of [`Groups`].
//!
//! ```text
//! thread ──► records in hand ──┐         ┌─(lock)─► first store
//! thread ──► records in hand ──┴─(many)──┼─(lock)─► second store
//!                                        └─ …
//! ```
//! Each store has a lock of its own and is given many records at a time, so that threads hardly ever wait for each other.
//! Memory: that of one store ([`Groups::memory_bytes`]), and what threads have in hand.
//! Invariant: what comes out depends on the records only, not on who added them.

use super::groups::{Cut, Groups};
use super::sorted::Sorted;
use super::{Budget, threads};
use crate::{Result, bug};
use std::sync::{Arc, Mutex, PoisonError};

/// Stores for records that begin with a hash: one for each value of its leading bits.
const N_RANGES: usize = 16;

/// The bits of a hash that do not decide about its store.
const RANGE_BITS: u32 = u64::BITS - N_RANGES.trailing_zeros();

/// Records that a thread has in hand before it takes the locks.
const MOST_IN_HAND: usize = 8192;

/// Several stores of records.
pub struct SharedGroups<const N: usize> {
    stores: Vec<Mutex<Groups<N>>>,
}

/// One thread's way into them.
pub struct Adder<'a, const N: usize> {
    stores: &'a [Mutex<Groups<N>>],
    /// For each store.
    in_hand: Vec<Vec<[u64; N]>>,
    n_in_hand: usize,
}

impl<const N: usize> SharedGroups<N> {
    /// For keys whose first word is a hash; equal ones are in the same store.
    pub fn new(budget: &Arc<dyn Budget>) -> Self {
        let smallest = (0..N_RANGES as u64).map(|range| range << RANGE_BITS);
        let cuts = smallest.map(|smallest| Cut::between(0, smallest, smallest + ((1 << RANGE_BITS) - 1)));
        let stores = cuts.map(|cut| Groups::with_cut(budget, cut).one_of(N_RANGES));
        Self { stores: stores.map(Mutex::new).collect() }
    }

    /// A store for each partition, for records that begin with a place there: a number below that of its places.
    pub(super) fn by_place(budget: &Arc<dyn Budget>, n_places: &[u64]) -> Self {
        let stores = n_places.iter().map(|n| Groups::by_row(budget, *n).one_of(n_places.len()));
        Self { stores: stores.map(Mutex::new).collect() }
    }

    /// A way in, for one thread.
    pub fn adder(&self) -> Adder<'_, N> {
        Adder { stores: &self.stores, in_hand: vec![vec![]; self.stores.len()], n_in_hand: 0 }
    }

    /// Ends the adding: all records in order, after each store was made `ready`.
    pub fn finish(self, ready: impl Fn(Groups<N>) -> Groups<N>) -> Result<Sorted<N>> {
        let mut stores = self.into_stores().map(|store| ready(store).finish());
        let first = stores.next().ok_or_else(|| bug!("no store for records"))??;
        stores.try_fold(first, |all, next| Ok(all.then(next?)))
    }

    /// Ends the adding: the records of each store in order.
    pub(super) fn finish_each(self) -> Result<Vec<Sorted<N>>> {
        self.into_stores().map(Groups::finish).collect()
    }

    fn into_stores(self) -> impl Iterator<Item = Groups<N>> {
        self.stores.into_iter().map(|store| store.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<const N: usize> Adder<'_, N> {
    /// Adds a record that begins with a hash.
    #[inline]
    pub fn push(&mut self, record: [u64; N]) -> Result<()> {
        self.push_to((record[0] >> RANGE_BITS) as usize, record)
    }

    /// Adds a record to a store.
    #[inline]
    pub(super) fn push_to(&mut self, store: usize, record: [u64; N]) -> Result<()> {
        self.in_hand[store].push(record);
        self.n_in_hand += 1;
        if self.n_in_hand < MOST_IN_HAND { Ok(()) } else { self.hand_over() }
    }

    /// Adds what is left in hand. Without this it is lost.
    pub fn finish(mut self) -> Result<()> {
        self.hand_over()
    }

    fn hand_over(&mut self) -> Result<()> {
        self.n_in_hand = 0;
        for (store, records) in self.stores.iter().zip(&mut self.in_hand).filter(|(_, records)| !records.is_empty()) {
            threads::locked(store).extend(records)?;
            records.clear();
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::dedup::FixedBudget;
    use xxhash_rust::xxh3::xxh3_64;

    #[test]
    fn records_come_out_in_order_whoever_added_them_and_wherever_they_lay() {
        let record = |n: u64| [xxh3_64(&(n / 3).to_le_bytes()), n];
        let mut expected: Vec<[u64; 2]> = (0..60_000).map(record).collect();
        expected.sort_unstable();
        for (memory, n_threads) in [(usize::MAX, 1), (usize::MAX, 5), (0, 5)] {
            let budget: Arc<dyn Budget> = Arc::new(FixedBudget::of(memory, n_threads));
            let shared = SharedGroups::<2>::new(&budget);
            std::thread::scope(|scope| {
                for thread in 0..n_threads as u64 {
                    let shared = &shared;
                    scope.spawn(move || {
                        let mut adder = shared.adder();
                        (thread..60_000).step_by(n_threads).for_each(|n| adder.push(record(n)).unwrap());
                        adder.finish().unwrap();
                    });
                }
            });
            let found: Result<Vec<[u64; 2]>> = shared.finish(|groups| groups).unwrap().collect();
            assert!(found.unwrap() == expected, "{n_threads} threads");
        }
    }

    #[test]
    fn each_partition_gets_the_records_of_its_places() {
        let budget: Arc<dyn Budget> = Arc::new(FixedBudget::of(0, 2));
        let shared = SharedGroups::<2>::by_place(&budget, &[70_000, 0, 5]);
        let mut adder = shared.adder();
        (0..70_000).rev().for_each(|place| adder.push_to(0, [place, 1]).unwrap());
        [3, 0, 3].into_iter().for_each(|place| adder.push_to(2, [place, place]).unwrap());
        adder.finish().unwrap();
        let found = shared.finish_each().unwrap().into_iter().map(|records| records.map(Result::unwrap).collect());
        let found: Vec<Vec<[u64; 2]>> = found.collect();
        assert!(found[0].iter().map(|record| record[0]).eq(0..70_000));
        assert_eq!(found[1..], [vec![], vec![[0, 0], [3, 3], [3, 3]]]);
    }
}
