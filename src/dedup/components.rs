//! Connected components: pairs of rows that belong together become clusters.
//!
//! In memory: a lock-free union-find over all rows, [`Components::memory_bytes`] = 4 bytes a row (8 from 2³² rows on).
//! A root is always linked below a smaller one, so the root of a cluster is its smallest row, in whatever order the
//! pairs come. Refused that memory: the pairs go to disk (16 bytes each) and `contraction.rs` unites them there.
//! Invariant: the clusters depend on the set of pairs only.
//! Not here: which row of a cluster stays (`survivors.rs`).

use super::claim::Claim;
use super::groups::Groups;
use super::sorted::Sorted;
use super::{Budget, contraction, threads};
use crate::{Result, bug};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// No document of an index.
const NOT_INDEXED: u64 = u64::MAX;

/// Takes pairs of rows.
pub struct Components {
    budget: Arc<dyn Budget>,
    n_rows: u64,
    pairs: Pairs,
}

enum Pairs {
    InMemory { parents: Parents, _claim: Claim },
    OnDisk(Mutex<Groups<2>>),
}

/// Each row's parent, never larger than the row; a root is its own.
enum Parents {
    Narrow(Vec<AtomicU32>),
    Wide(Vec<AtomicU64>),
}

impl Parents {
    fn new(n_rows: u64) -> Self {
        match u32::try_from(n_rows) {
            Ok(n_rows) => Parents::Narrow((0..n_rows).map(AtomicU32::new).collect()),
            Err(_) => Parents::Wide((0..n_rows).map(AtomicU64::new).collect()),
        }
    }

    #[inline]
    fn get(&self, row: u64) -> u64 {
        match self {
            Parents::Narrow(parents) => u64::from(parents[row as usize].load(Ordering::Relaxed)),
            Parents::Wide(parents) => parents[row as usize].load(Ordering::Relaxed),
        }
    }

    /// Sets the parent of `row` if it is still `old`.
    #[inline]
    fn replace(&self, row: u64, old: u64, new: u64) -> bool {
        let (ok, failed) = (Ordering::Relaxed, Ordering::Relaxed);
        match self {
            Parents::Narrow(parents) => {
                parents[row as usize].compare_exchange(old as u32, new as u32, ok, failed).is_ok()
            }
            Parents::Wide(parents) => parents[row as usize].compare_exchange(old, new, ok, failed).is_ok(),
        }
    }

    fn root(&self, mut row: u64) -> u64 {
        loop {
            let parent = self.get(row);
            if parent == row {
                return row;
            }
            let grandparent = self.get(parent);
            if grandparent != parent {
                // Halves the path; if another thread was faster, its parent is as good.
                self.replace(row, parent, grandparent);
            }
            row = grandparent;
        }
    }

    fn union(&self, mut a: u64, mut b: u64) {
        loop {
            (a, b) = (self.root(a), self.root(b));
            if a == b {
                return;
            }
            let (small, large) = (a.min(b), a.max(b));
            if self.replace(large, large, small) {
                return;
            }
        }
    }
}

impl Components {
    /// Memory that lets the pairs of so many rows stay off the disk.
    pub fn memory_bytes(n_rows: u64) -> u64 {
        n_rows.saturating_mul(if n_rows <= u64::from(u32::MAX) { 4 } else { 8 })
    }

    /// Each of `n_rows` rows on its own.
    pub fn new(n_rows: u64, budget: &Arc<dyn Budget>) -> Self {
        let mut claim = Claim::none(budget);
        let granted = usize::try_from(Self::memory_bytes(n_rows)).is_ok_and(|n_bytes| claim.try_grow(n_bytes));
        let pairs = if granted {
            Pairs::InMemory { parents: Parents::new(n_rows), _claim: claim }
        } else {
            Pairs::OnDisk(Mutex::new(Groups::by_row(budget, n_rows).distinct()))
        };
        Self { budget: Arc::clone(budget), n_rows, pairs }
    }

    /// Puts two rows into one cluster. From any thread.
    pub fn union(&self, a: u64, b: u64) -> Result<()> {
        if a.max(b) >= self.n_rows {
            return Err(bug!("pair ({a}, {b}) of {} rows", self.n_rows));
        }
        match &self.pairs {
            Pairs::InMemory { parents, .. } => parents.union(a, b),
            Pairs::OnDisk(pairs) if a != b => threads::locked(pairs).push([a.max(b), a.min(b)])?,
            Pairs::OnDisk(_) => {}
        }
        Ok(())
    }

    /// True if the pairs did not fit in memory.
    pub fn is_external(&self) -> bool {
        matches!(self.pairs, Pairs::OnDisk(_))
    }

    /// The clusters. `touches` are pairs (row, number in an index): what a row of this run has in common with documents
    /// seen before; `Groups::by_row(budget, n_rows)` holds them.
    pub fn into_clusters(self, touches: Option<Groups<2>>) -> Result<Clusters> {
        let mut members = Groups::<3>::by_row(&self.budget, self.n_rows);
        let mut touches = touches.map(Groups::finish).transpose()?.into_iter().flatten().peekable();
        match self.pairs {
            Pairs::InMemory { parents, .. } => {
                for row in 0..self.n_rows {
                    let root = parents.root(row);
                    if root != row {
                        members.push([root, row, NOT_INDEXED])?;
                    }
                }
                for touch in touches {
                    let [row, ordinal] = touch?;
                    members.push([parents.root(row), row, ordinal])?;
                }
            }
            Pairs::OnDisk(pairs) => {
                let pairs = pairs.into_inner().unwrap_or_else(PoisonError::into_inner);
                contraction::for_each_child(pairs, self.n_rows, &self.budget, |row, root| {
                    members.push([root, row, NOT_INDEXED])?;
                    while let Some(touch) =
                        touches.next_if(|touch| !matches!(touch, Ok([touched, _]) if *touched > row))
                    {
                        let [touched, ordinal] = touch?;
                        members.push([if touched == row { root } else { touched }, touched, ordinal])?;
                    }
                    Ok(())
                })?;
                for touch in touches {
                    let [row, ordinal] = touch?;
                    members.push([row, row, ordinal])?;
                }
            }
        }
        Ok(Clusters { members: members.finish()? })
    }
}

/// Rows that belong together.
pub struct Clusters {
    members: Sorted<3>,
}

impl Clusters {
    /// Calls `f` with the rows, ascending, of each cluster that has at least two or touches the index, and the smallest
    /// number in the index that it touches; in ascending order of the smallest rows.
    pub fn for_each_cluster(mut self, mut f: impl FnMut(&[u64], Option<u64>) -> Result<()>) -> Result<()> {
        let mut rows: Vec<u64> = Vec::new();
        let mut indexed = NOT_INDEXED;
        let mut emit = |rows: &[u64], indexed: u64| {
            if rows.is_empty() { Ok(()) } else { f(rows, (indexed != NOT_INDEXED).then_some(indexed)) }
        };
        self.members.for_each_record(|&[root, row, ordinal]| {
            if rows.first() != Some(&root) {
                emit(&rows, indexed)?;
                rows.clear();
                rows.push(root);
                indexed = NOT_INDEXED;
            }
            // A row that touches the index comes more than once.
            if rows.last() != Some(&row) {
                rows.push(row);
            }
            indexed = indexed.min(ordinal);
            Ok(())
        })?;
        emit(&rows, indexed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_beyond_32_bits_unite_as_those_below() {
        let narrow = Parents::new(1000);
        let wide = Parents::Wide((0..1000).map(AtomicU64::new).collect());
        for n in 0..700_u64 {
            let (a, b) = (n * n % 1000, n * 7 % 1000);
            narrow.union(a, b);
            wide.union(a, b);
        }
        let roots = |parents: &Parents| (0..1000).map(|row| parents.root(row)).collect::<Vec<_>>();
        assert_eq!(roots(&narrow), roots(&wide));
        assert!(roots(&wide).iter().enumerate().all(|(row, root)| *root <= row as u64));
        assert_eq!(Components::memory_bytes(1 << 32), 8 << 32);
    }
}
