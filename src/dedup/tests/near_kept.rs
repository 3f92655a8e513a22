//! `Preference` and `SharedKeys`: who stays where a row goes only if it is similar to one that stays.
#![allow(clippy::unwrap_used)]

use super::{budget, budgets, mix};
use crate::dedup::{
    Budget, Chooser, Groups, KeepWhich, Kept, Link, PairCounts, Preference, RowStore, SharedKeys, StoredRows,
    fuzzy_memory_bytes,
};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Rows in the order of preference.
fn ranked(n_rows: u64, which: KeepWhich, keys: Option<&[Vec<u8>]>) -> Vec<u64> {
    let mut rows: Vec<u64> = (0..n_rows).collect();
    if let Some(keys) = keys {
        rows.sort_by_key(|row| (&keys[*row as usize], *row));
    }
    if which == KeepWhich::Last {
        rows.reverse();
    }
    rows
}

/// Each row that goes, and what it belongs to: every row is compared with every one that stays.
fn by_hand(ranked: &[u64], touches: &BTreeMap<u64, u64>, is_similar: impl Fn(u64, u64) -> bool) -> BTreeMap<u64, Kept> {
    let mut staying: Vec<u64> = vec![];
    let mut goes = BTreeMap::new();
    for row in ranked {
        let first = staying.iter().find(|kept| is_similar(**kept, *row));
        let owner = touches.get(row).map(|ordinal| Kept::Indexed(*ordinal)).or(first.map(|kept| Kept::Row(*kept)));
        match owner {
            Some(owner) => drop(goes.insert(*row, owner)),
            None => staying.push(*row),
        }
    }
    goes
}

struct Corpus {
    n_rows: u64,
    /// Key, row.
    records: Vec<[u64; 2]>,
    /// Row, document of an index.
    touches: Vec<[u64; 2]>,
}

impl Corpus {
    fn keys_of(&self) -> Vec<BTreeSet<u64>> {
        let mut keys = vec![BTreeSet::new(); self.n_rows as usize];
        for [key, row] in &self.records {
            keys[*row as usize].insert(*key);
        }
        keys
    }

    fn decide(
        &self,
        chooser: Chooser<'_>,
        budget: &Arc<dyn Budget>,
        similarity: Option<&(dyn Fn(u64, u64) -> f64 + Sync)>,
    ) -> (BTreeMap<u64, Kept>, PairCounts) {
        let order = Preference::new(chooser, self.n_rows, budget).unwrap();
        let mut keyed = Groups::new(budget);
        keyed.extend(&self.records).unwrap();
        let mut touched = Groups::by_row(budget, self.n_rows).distinct();
        touched.extend(&self.touches).unwrap();
        let shared = SharedKeys::new(keyed.finish().unwrap(), &order, budget, |_| {}).unwrap();
        let (belongings, counts) = match similarity {
            Some(similarity) => shared.decide(Some(touched), 0.5, Ok, |a, b| Ok(similarity(*a, b))).unwrap(),
            None => shared.decide_all_similar(Some(touched)).unwrap(),
        };
        let mut goes = BTreeMap::new();
        let add = |rows: &[u64], kept: Kept| {
            assert!(rows.is_sorted() && rows.len() + usize::from(matches!(kept, Kept::Indexed(_))) > 1);
            let others = rows.iter().filter(|row| kept != Kept::Row(**row));
            assert_eq!(others.clone().count(), rows.len() - usize::from(matches!(kept, Kept::Row(_))));
            others.for_each(|row| assert_eq!(goes.insert(*row, kept), None, "row {row} goes twice"));
            Ok(())
        };
        belongings.for_each_cluster(add).unwrap();
        (goes, counts)
    }
}

fn stored(keys: &[Vec<u8>], budget: &Arc<dyn Budget>) -> StoredRows {
    let mut store = RowStore::new(budget);
    keys.iter().for_each(|key| store.push(key).unwrap());
    store.finish().unwrap()
}

/// Keys of different lengths that share their beginnings, none the beginning of another.
fn keep_keys(n_rows: u64, seed: u64) -> Vec<Vec<u8>> {
    let key = |row: u64| {
        let n_bytes = [3, 8, 9, 30][(mix(row ^ seed) % 4) as usize];
        let mut key: Vec<u8> =
            (0..n_bytes).map(|at| if at < 7 { 5 } else { (mix(row * 31 + at) % 2) as u8 + 1 }).collect();
        key.push(0);
        key
    };
    (0..n_rows).map(key).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_row_goes_if_it_is_similar_to_one_that_stays_and_belongs_to_the_first(
        n_rows in 1..500_u64, n_keys in 1..300_u64, keys_a_row in 1..4_u64, likeness in 1..6_u64, n_touches in 0..8_u64,
        which in prop::sample::select(vec![KeepWhich::First, KeepWhich::Last, KeepWhich::Any]),
        has_keys in any::<bool>(), seed in any::<u64>(),
    ) {
        // Some keys are shared by many rows, most by few.
        let key = |n: u64| mix((mix(n ^ seed) % n_keys).min(mix(n ^ seed ^ 1) % n_keys));
        let records = (0..n_rows * keys_a_row).map(|n| [key(n), n % n_rows]).collect();
        let touches = (0..n_touches).map(|n| [mix(n ^ !seed) % n_rows, mix(n) % 3]).collect();
        let corpus = Corpus { n_rows, records, touches };
        let keys_of = corpus.keys_of();
        let shares = |a: u64, b: u64| !keys_of[a as usize].is_disjoint(&keys_of[b as usize]);
        // Like neighbours on a line: similar to the next, not to the one after that.
        let place = |row: u64| mix(row ^ seed) % (n_rows * likeness);
        let close = |a: u64, b: u64| if place(a).abs_diff(place(b)) <= 20 { 0.9 } else { 0.1 };
        let mut first_touched = BTreeMap::new();
        for [row, ordinal] in &corpus.touches {
            first_touched.entry(*row).and_modify(|first: &mut u64| *first = (*first).min(*ordinal)).or_insert(*ordinal);
        }
        let keys = keep_keys(n_rows, seed);
        let keys = Some(keys.as_slice()).filter(|_| has_keys);
        let order = ranked(n_rows, which, keys.filter(|_| which != KeepWhich::Any));
        let expected = by_hand(&order, &first_touched, |a, b| shares(a, b) && close(a, b) > 0.5);
        let all_similar = by_hand(&order, &first_touched, shares);
        for budget in budgets() {
            let stored = keys.map(|keys| stored(keys, &budget));
            let chooser = Chooser { which, keys: stored.as_ref() };
            prop_assert_eq!(&corpus.decide(chooser, &budget, Some(&close)).0, &expected);
            prop_assert_eq!(&corpus.decide(chooser, &budget, None).0, &all_similar);
        }
    }
}

const FIRST: Chooser<'static> = Chooser { which: KeepWhich::First, keys: None };

#[test]
fn a_chain_falls_apart_where_its_ends_are_unlike() {
    // 0 is like 1, 1 like 2, and so on: every second one stays.
    let n_rows = 20_000;
    let records = (1..n_rows).flat_map(|row| [[mix(row), row - 1], [mix(row), row]]).collect();
    let corpus = Corpus { n_rows, records, touches: vec![] };
    for budget in [budget(0, 1), budget(usize::MAX, 4)] {
        let (goes, counts) = corpus.decide(FIRST, &budget, None);
        assert_eq!(goes, (1..n_rows).step_by(2).map(|row| (row, Kept::Row(row - 1))).collect());
        assert_eq!(counts.n_candidates, n_rows - 1, "each pair once");
    }
}

/// Rows of a key that several threads do not have in hand at once stay side by side in the log all the same.
#[test]
fn keys_of_many_rows_and_of_few_are_looked_through_by_any_number_of_threads() {
    let n_rows = 40_000;
    let large = (0..6).flat_map(|key| (key..9_000).map(move |row| [mix(key), row]));
    let small = (9_000..n_rows).map(|row| [mix(row / 3 * 3), row]);
    let records: Vec<[u64; 2]> = large.chain(small).collect();
    let corpus = Corpus { n_rows, records, touches: vec![] };
    let similar = |a: u64, b: u64| if a % 5 == b % 5 { 1.0 } else { 0.0 };
    for chooser in [FIRST, Chooser { which: KeepWhich::Last, keys: None }] {
        let expected = corpus.decide(chooser, &budget(usize::MAX, 1), Some(&similar));
        assert!(expected.0.len() > 8_000, "{}", expected.0.len());
        for budget in [budget(usize::MAX, 8), budget(0, 8)] {
            assert!(corpus.decide(chooser, &budget, Some(&similar)) == expected);
        }
    }
}

#[test]
fn copies_are_compared_with_the_one_that_stays_and_not_with_each_other() {
    let n_rows = 5000;
    let records = (0..n_rows * 3).map(|n| [mix(n / n_rows), n % n_rows]).collect();
    let corpus = Corpus { n_rows, records, touches: vec![] };
    let (goes, counts) = corpus.decide(FIRST, &budget(0, 2), Some(&|_, _| 1.0));
    assert_eq!(goes.len() as u64, n_rows - 1);
    assert_eq!(counts, PairCounts { n_candidates: n_rows - 1, n_verified: n_rows - 1, n_refused: 0 });
}

#[test]
fn unlike_rows_that_share_a_key_take_a_bounded_number_of_comparisons() {
    let n_rows = 4000;
    let corpus = Corpus { n_rows, records: (0..n_rows).map(|row| [7, row]).collect(), touches: vec![] };
    let last_two = |a: u64, b: u64| if a.min(b) == n_rows - 2 { 1.0 } else { 0.0 };
    let (goes, counts) = corpus.decide(FIRST, &budget(usize::MAX, 2), Some(&last_two));
    assert!(goes.is_empty(), "sixty-four that stay are enough to have been compared with");
    assert!(counts.n_candidates <= 64 * n_rows, "{counts:?}");
    assert!(counts.n_candidates > 63 * (n_rows - 64), "{counts:?}");
}

#[test]
fn copies_stay_in_memory_within_the_formula() {
    let (n_rows, n_bands) = (20_000_u64, 14);
    let records: Vec<[u64; 2]> =
        (0..n_rows).flat_map(|row| (0..n_bands).map(move |band| [mix(row / 2 * 100 + band), row])).collect();
    let is_spilled = |limit_bytes: u64| {
        let counted: Arc<Counted> = Arc::new(Counted::of(limit_bytes as usize));
        let budget: Arc<dyn Budget> = counted.clone();
        let corpus = Corpus { n_rows, records: records.clone(), touches: vec![] };
        let (goes, _) = corpus.decide(FIRST, &budget, None);
        assert_eq!(goes.len() as u64, n_rows / 2);
        counted.n_spilled.load(std::sync::atomic::Ordering::Relaxed) > 0
    };
    let enough_bytes = fuzzy_memory_bytes(n_rows, n_bands as u32, Link::Kept, n_rows);
    assert!(!is_spilled(enough_bytes));
    assert!(is_spilled(enough_bytes / 3));
}

/// Counts what goes to disk.
struct Counted {
    inner: crate::dedup::FixedBudget,
    n_spilled: std::sync::atomic::AtomicU64,
}

impl Counted {
    fn of(limit_bytes: usize) -> Self {
        Self { inner: crate::dedup::FixedBudget::of(limit_bytes, 1), n_spilled: 0.into() }
    }
}

impl Budget for Counted {
    fn try_grow(&self, n_bytes: usize) -> bool {
        self.inner.try_grow(n_bytes)
    }

    fn shrink(&self, n_bytes: usize) {
        self.inner.shrink(n_bytes);
    }

    fn temp_file(&self) -> crate::Result<crate::store::ScratchFile> {
        self.inner.temp_file()
    }

    fn note_spilled(&self, n_bytes: u64) {
        self.n_spilled.fetch_add(n_bytes, std::sync::atomic::Ordering::Relaxed);
    }

    fn n_threads(&self) -> usize {
        1
    }
}
