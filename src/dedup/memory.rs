//! What a deduplication holds in memory at its peak, for EXPLAIN; past the budget the same bytes lie on disk.
//!
//! | step | bytes | held until |
//! |---|---|---|
//! | keys, exact | 27 a row | the clusters are decided |
//! | keys, fuzzy | 18 a row and band | the pairs are made |
//! | pairs | 18 each, at most two for each key that was seen before | they are verified |
//! | components | 4 a row, 8 from 2³² rows on | the clusters are known |
//! | who stays, with `link = 'kept'` | a bit a row, and 16 for each band that a row shares | the clusters are known |
//! | clusters | 27 a row that has a duplicate | the decisions are known |
//! | decisions | 45 a row that has a duplicate | the end |
//! | stored texts and keys of `KEEP BY`, for vectors values of `PER` | 8 a row and the bytes | they are read |
//! | the order of `KEEP BY`, with `link = 'kept'` | 16 a row, 63 while it is sorted | the clusters are known |
//!
//! A record of n words counts 9·n bytes: 8·n, and what an allocator adds. Stores that grow leave up to a quarter of
//! what they hold unused, at most 16 MiB each. Without asking the budget a store uses [`super::FLOOR_BYTES`], and a
//! thread at most half a MiB for reading. Of one group or cluster, the rows are in memory where a function is given
//! them as a slice: 8 bytes each.

use super::{Components, Groups, Link, SharedKeys, Survivors};

/// Memory that `DEDUP EXACT` of so many rows needs in order to stay off the disk, if `n_clustered_rows` of them have a
/// duplicate.
pub fn exact_memory_bytes(n_rows: u64, n_clustered_rows: u64) -> u64 {
    Groups::<3>::memory_bytes(n_rows).saturating_add(Survivors::memory_bytes(n_clustered_rows))
}

/// Memory that `DEDUP FUZZY` of so many rows with so many bands needs in order to stay off the disk, if
/// `n_clustered_rows` of them have a duplicate, without what verification reads and `KEEP BY` orders by.
pub fn fuzzy_memory_bytes(n_rows: u64, n_bands: u32, link: Link, n_clustered_rows: u64) -> u64 {
    let keys_bytes = Groups::<2>::memory_bytes(n_rows.saturating_mul(u64::from(n_bands)));
    let pairs_bytes = Groups::<2>::memory_bytes(n_clustered_rows.saturating_mul(2));
    let clusters_bytes =
        Groups::<3>::memory_bytes(n_clustered_rows).saturating_add(Survivors::memory_bytes(n_clustered_rows));
    match link {
        Link::Component => Components::memory_bytes(n_rows)
            .saturating_add(keys_bytes.saturating_add(pairs_bytes).max(pairs_bytes.saturating_add(clusters_bytes))),
        Link::Kept => {
            let n_shared_keys = n_clustered_rows.saturating_mul(u64::from(n_bands));
            // Pairs of a round beside the similar ones of all rounds.
            let rounds_bytes =
                SharedKeys::memory_bytes(n_rows, n_shared_keys).saturating_add(pairs_bytes.saturating_mul(2));
            keys_bytes.max(rounds_bytes).max(pairs_bytes.saturating_add(clusters_bytes))
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::dedup::{Budget, Candidates, Chooser, FixedBudget, KeepWhich};
    use std::sync::Arc;

    /// Half of the rows repeat the one before; true if everything stayed in memory.
    fn fuzzy_stays_in_memory(n_rows: u64, n_bands: u32, limit_bytes: u64) -> bool {
        let budget: Arc<dyn Budget> = Arc::new(FixedBudget::of(limit_bytes as usize, 1));
        let components = Components::new(n_rows, &budget);
        let mut keys = Groups::<2>::new(&budget);
        for row in 0..n_rows {
            for band in 0..u64::from(n_bands) {
                let key = xxhash_rust::xxh3::xxh3_64(&[(row / 2).to_le_bytes(), band.to_le_bytes()].concat());
                keys.push([key, row]).unwrap();
            }
        }
        let mut in_memory = !components.is_external() && !keys.has_spilled();
        let mut candidates = Candidates::new(n_rows, &budget);
        candidates.add_groups(keys.finish().unwrap(), |_| {}).unwrap();
        in_memory &= !candidates.has_spilled();
        candidates.unite(&components).unwrap();
        let mut survivors = Survivors::new(n_rows, &budget);
        let chooser = Chooser { which: KeepWhich::First, keys: None };
        let decide = |rows: &[u64], indexed| survivors.add_cluster(rows, indexed, chooser, |_, _| Ok(None)).map(drop);
        components.into_clusters(None).unwrap().for_each_cluster(decide).unwrap();
        in_memory && !survivors.has_spilled()
    }

    #[test]
    fn nothing_is_spilled_within_the_formula_and_something_in_a_third_of_it() {
        for (n_rows, n_bands) in [(30_000, 14), (200_000, 3)] {
            let enough_bytes = fuzzy_memory_bytes(n_rows, n_bands, Link::Component, n_rows);
            assert!(fuzzy_stays_in_memory(n_rows, n_bands, enough_bytes));
            assert!(!fuzzy_stays_in_memory(n_rows, n_bands, enough_bytes / 3));
        }
    }
}
