//! Candidate pairs: rows that share a key, each pair once, and their verification.
//!
//! A group of n rows gives the pairs of its first row with each other one (star) and of each row with the next (chain):
//! at most 2n − 3 pairs, so that the cost stays linear however large a group is.
//! Memory: 18 bytes a pair ([`Candidates::memory_bytes`]), past the budget on disk.
//! Invariant: pairs and counts do not depend on the order of groups, the memory or the threads.

use super::components::Components;
use super::groups::Groups;
use super::sorted::Sorted;
use super::{Budget, threads};
use crate::Result;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Pairs that a thread collects before it takes the lock.
const LOCAL_PAIRS: usize = 4096;

/// Takes groups of rows that share a key.
pub struct Candidates {
    pairs: Groups<2>,
}

/// How many pairs there were and what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PairCounts {
    /// Distinct pairs that share a key.
    pub n_candidates: u64,
    /// Of these, similar enough.
    pub n_verified: u64,
    /// Of these, not.
    pub n_refused: u64,
}

impl Candidates {
    /// For groups of rows below `n_rows`.
    pub fn new(n_rows: u64, budget: &Arc<dyn Budget>) -> Self {
        Self { pairs: Groups::by_row(budget, n_rows).distinct() }
    }

    /// The pairs of one group: rows ascending.
    pub fn add_group(&mut self, rows: &[u64]) -> Result<()> {
        star_and_chain(rows, |pair| self.pairs.push(pair))
    }

    /// The pairs of all groups with the same key, found in parallel. `seen` is called with the rows of each pair.
    pub fn add_groups<const N: usize>(&mut self, groups: Sorted<N>, seen: impl Fn(u64) + Sync) -> Result<()> {
        let pairs = Mutex::new(&mut self.pairs);
        groups.par_for_each_part(|mut part| {
            let mut local: Vec<[u64; 2]> = Vec::with_capacity(LOCAL_PAIRS);
            let mut add = |pair: [u64; 2]| {
                pair.into_iter().for_each(&seen);
                local.push(pair);
                if local.len() < LOCAL_PAIRS {
                    return Ok(());
                }
                let added = threads::locked(&pairs).extend(&local);
                local.clear();
                added
            };
            // As `star_and_chain`, without holding the group: one with all rows of a corpus needs no memory here.
            let (mut first, mut previous) = ([0; N], None);
            part.for_each_record(|record| {
                let row = record[N - 1];
                match previous {
                    Some(before) if first[..N - 1] == record[..N - 1] => {
                        if before != row {
                            add([first[N - 1], row])?;
                            if before != first[N - 1] {
                                add([before, row])?;
                            }
                        }
                    }
                    _ => first = *record,
                }
                previous = Some(row);
                Ok(())
            })?;
            threads::locked(&pairs).extend(&local)
        })
    }

    /// Adds one pair.
    pub fn add_pair(&mut self, a: u64, b: u64) -> Result<()> {
        if a == b { Ok(()) } else { self.pairs.push([a.min(b), a.max(b)]) }
    }

    /// True if there is no pair.
    pub fn is_empty(&self) -> bool {
        self.pairs.n_records() == 0
    }

    /// True if pairs went to disk.
    #[cfg(test)]
    pub fn has_spilled(&self) -> bool {
        self.pairs.has_spilled()
    }

    /// The distinct pairs (a, b), a < b, in ascending order.
    pub fn finish(self) -> Result<Sorted<2>> {
        self.pairs.finish()
    }

    /// Puts every pair into one cluster.
    pub fn unite(self, components: &Components) -> Result<PairCounts> {
        self.verify(components, 0.0, |_| Ok(()), |_, _| Ok(1.0))
    }

    /// Puts the pairs that are similar enough into one cluster. See [`Candidates::for_each_similar`].
    pub fn verify<L>(
        self,
        components: &Components,
        threshold: f64,
        load: impl Fn(u64) -> Result<L> + Sync,
        similarity: impl Fn(&L, u64) -> Result<f64> + Sync,
    ) -> Result<PairCounts> {
        self.for_each_similar(threshold, load, similarity, |a, b| components.union(a, b))
    }

    /// Calls `found` with the pairs that are similar enough, in no particular order and from as many threads as the
    /// budget has. `load` is called once for each first row of a pair, and what it gives is compared with each of that
    /// row's second rows.
    pub fn for_each_similar<L>(
        self,
        threshold: f64,
        load: impl Fn(u64) -> Result<L> + Sync,
        similarity: impl Fn(&L, u64) -> Result<f64> + Sync,
        found: impl Fn(u64, u64) -> Result<()> + Sync,
    ) -> Result<PairCounts> {
        let n_candidates = AtomicU64::new(0);
        let n_verified = AtomicU64::new(0);
        self.finish()?.par_for_each_part(|mut part| {
            let mut loaded: Option<(u64, L)> = None;
            let (mut n_seen, mut n_similar) = (0, 0);
            part.for_each_record(|&[a, b]| {
                let left = match loaded.take() {
                    Some((row, left)) if row == a => left,
                    _ => load(a)?,
                };
                n_seen += 1;
                if similarity(&left, b)? >= threshold {
                    n_similar += 1;
                    found(a, b)?;
                }
                loaded = Some((a, left));
                Ok(())
            })?;
            n_candidates.fetch_add(n_seen, Ordering::Relaxed);
            n_verified.fetch_add(n_similar, Ordering::Relaxed);
            Ok(())
        })?;
        let (n_candidates, n_verified) = (n_candidates.into_inner(), n_verified.into_inner());
        Ok(PairCounts { n_candidates, n_verified, n_refused: n_candidates - n_verified })
    }
}

/// The pairs (first, other) and (previous, this) of ascending rows.
pub fn star_and_chain(rows: &[u64], mut f: impl FnMut([u64; 2]) -> Result<()>) -> Result<()> {
    let [first, others @ ..] = rows else { return Ok(()) };
    let mut previous = *first;
    for row in others.iter().copied().filter(|row| row != first) {
        if row != previous {
            f([*first, row])?;
            if previous != *first {
                f([previous, row])?;
            }
        }
        previous = row;
    }
    Ok(())
}
