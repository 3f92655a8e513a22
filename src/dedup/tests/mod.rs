//! The same results as brute force, whatever memory and threads there are.

mod clusters;
mod near_kept;
mod records;
mod stored_rows;

use super::{Budget, FixedBudget};
use std::sync::Arc;

/// No memory at all, too little, enough for some, no limit; one thread and four.
pub(super) fn budgets() -> Vec<Arc<dyn Budget>> {
    let limits = [0, 10_000, 300_000, 3_000_000, usize::MAX];
    limits.iter().flat_map(|limit| [1, 4].map(|n_threads| budget(*limit, n_threads))).collect()
}

pub(super) fn budget(limit_bytes: usize, n_threads: usize) -> Arc<dyn Budget> {
    Arc::new(FixedBudget::of(limit_bytes, n_threads))
}

/// A well mixed number for each number.
pub(super) fn mix(n: u64) -> u64 {
    xxhash_rust::xxh3::xxh3_64(&n.to_le_bytes())
}
