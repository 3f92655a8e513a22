//! `Components`, `Candidates` and `Survivors`.
#![allow(clippy::unwrap_used)]

use super::{budget, budgets, mix};
use crate::dedup::contraction::for_each_child;
use crate::dedup::{
    Budget, Candidates, Chooser, Components, Decision, Groups, KeepWhich, Kept, PairCounts, RowStore, Survivors,
    star_and_chain,
};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

type Found = Vec<(Vec<u64>, Option<u64>)>;

/// Colours spread along the pairs until nothing changes.
fn by_hand(n_rows: u64, pairs: &[(u64, u64)], touches: &[(u64, u64)]) -> Found {
    let mut colours: Vec<u64> = (0..n_rows).collect();
    loop {
        let before = colours.clone();
        for (a, b) in pairs {
            let smaller = colours[*a as usize].min(colours[*b as usize]);
            (colours[*a as usize], colours[*b as usize]) = (smaller, smaller);
        }
        if colours == before {
            break;
        }
    }
    let mut clusters: BTreeMap<u64, (Vec<u64>, Option<u64>)> = BTreeMap::new();
    for row in 0..n_rows {
        let (rows, indexed) = clusters.entry(colours[row as usize]).or_default();
        rows.push(row);
        let touched = touches.iter().filter(|touch| touch.0 == row).map(|touch| touch.1);
        *indexed = indexed.iter().copied().chain(touched).min();
    }
    clusters.into_values().filter(|(rows, indexed)| rows.len() > 1 || indexed.is_some()).collect()
}

fn clusters(n_rows: u64, pairs: &[(u64, u64)], touches: &[(u64, u64)], budget: &Arc<dyn Budget>) -> Found {
    let components = Components::new(n_rows, budget);
    std::thread::scope(|scope| {
        let components = &components;
        for pairs in pairs.chunks(pairs.len().div_ceil(budget.n_threads()).max(1)) {
            scope.spawn(move || pairs.iter().for_each(|(a, b)| components.union(*a, *b).unwrap()));
        }
    });
    let mut touched = Groups::by_row(budget, n_rows);
    touches.iter().for_each(|(row, ordinal)| touched.push([*row, *ordinal]).unwrap());
    let mut found = Found::new();
    let add = |rows: &[u64], indexed| {
        found.push((rows.to_vec(), indexed));
        Ok(())
    };
    components.into_clusters(Some(touched)).unwrap().for_each_cluster(add).unwrap();
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn clusters_are_the_same_in_any_memory(
        n_rows in 1..3000_u64, density in 0.0..1.5_f64, n_touches in 0..20_u64, seed in any::<u64>()
    ) {
        let row = |n: u64| mix(n ^ seed) % n_rows;
        let n_pairs = (n_rows as f64 * density) as u64;
        let pairs: Vec<(u64, u64)> = (0..n_pairs).map(|n| (row(2 * n), row(2 * n + 1))).collect();
        let touches: Vec<(u64, u64)> = (0..n_touches).map(|n| (row(!n), mix(n) % 50)).collect();
        let expected = by_hand(n_rows, &pairs, &touches);
        for budget in budgets() {
            prop_assert_eq!(&clusters(n_rows, &pairs, &touches, &budget), &expected);
        }
    }

    #[test]
    fn candidates_are_each_verified_once(groups in prop::collection::vec((0..40_u64, 0..60_u64), 0..400)) {
        let thirds = |a: u64, b: u64| if (a + b).is_multiple_of(3) { 0.9 } else { 0.1 };
        let records: Vec<[u64; 2]> = groups.iter().map(|(key, row)| [mix(*key), *row]).collect();
        let rows_of: BTreeMap<u64, BTreeSet<u64>> = records.iter().fold(BTreeMap::new(), |mut all, [key, row]| {
            all.entry(*key).or_insert_with(BTreeSet::new).insert(*row);
            all
        });
        let mut pairs = BTreeSet::new();
        for rows in rows_of.values() {
            let rows: Vec<u64> = rows.iter().copied().collect();
            star_and_chain(&rows, |pair| { pairs.insert(pair); Ok(()) }).unwrap();
        }
        let good: Vec<(u64, u64)> =
            pairs.iter().filter(|[a, b]| thirds(*a, *b) > 0.5).map(|[a, b]| (*a, *b)).collect();
        let (n_candidates, n_verified) = (pairs.len() as u64, good.len() as u64);
        let counts = PairCounts { n_candidates, n_verified, n_refused: n_candidates - n_verified };
        for budget in budgets() {
            let mut candidates = Candidates::new(60, &budget);
            let mut keyed = Groups::new(&budget);
            keyed.extend(&records).unwrap();
            candidates.add_groups(keyed.finish().unwrap(), |_| {}).unwrap();
            let components = Components::new(60, &budget);
            let found = candidates.verify(&components, 0.5, Ok, |a, b| Ok(thirds(*a, b))).unwrap();
            prop_assert_eq!(found, counts);
            let mut clusters = Found::new();
            let add = |rows: &[u64], indexed| { clusters.push((rows.to_vec(), indexed)); Ok(()) };
            components.into_clusters(None).unwrap().for_each_cluster(add).unwrap();
            prop_assert_eq!(&clusters, &by_hand(60, &good, &[]));
        }
    }
}

#[test]
fn a_long_chain_is_one_cluster_without_memory() {
    // Neighbours in the chain are far apart in the input.
    let n_rows = 30_000_u64;
    let place = |n: u64| n * 7919 % n_rows;
    let pairs: Vec<(u64, u64)> = (1..n_rows).map(|n| (place(n - 1), place(n))).collect();
    let found = clusters(n_rows, &pairs, &[], &budget(0, 1));
    assert_eq!(found, [((0..n_rows).collect(), None)]);
}

#[test]
fn pairs_of_any_shape_are_united_in_a_few_passes_over_them() {
    // Without memory there are as many ranges as there can be, and all of them have to be gone through.
    let n_rows = 60_000_u64;
    let random = |n: u64| (mix(2 * n) % n_rows, mix(2 * n + 1) % n_rows);
    type Pair<'a> = &'a dyn Fn(u64) -> (u64, u64);
    let shapes: [(&str, u64, u64, Pair<'_>); 6] = [
        ("a giant component", 5 * n_rows / 2, 8, &random),
        ("as many pairs as rows", n_rows, 5, &random),
        ("a chain in order", n_rows - 1, 2, &|n| (n, n + 1)),
        ("a shuffled chain", n_rows - 1, 4, &|n| (n * 7919 % n_rows, (n + 1) * 7919 % n_rows)),
        ("a star at the first row", n_rows - 1, 2, &|n| (0, n + 1)),
        ("a star at the last row", n_rows - 1, 4, &|n| (n_rows - 1, n)),
    ];
    for (shape, n_pairs, most_reads, pair) in shapes {
        let mut found = Vec::new();
        for (limit_bytes, n_ranges) in [(0, 235), (200_000, 4), (usize::MAX, 1)] {
            let budget = budget(limit_bytes, 1);
            let mut pairs = Groups::by_row(&budget, n_rows).distinct();
            let all = (0..n_pairs).map(pair).filter(|(a, b)| a != b);
            all.for_each(|(a, b)| pairs.push([a.max(b), a.min(b)]).unwrap());
            let mut children = Vec::new();
            let add = |row, root| {
                children.push((row, root));
                Ok(())
            };
            let passes = for_each_child(pairs, n_rows, &budget, add).unwrap();
            assert_eq!(passes.n_ranges, n_ranges, "{shape}");
            assert!(passes.n_read <= most_reads * n_pairs, "{shape}: {} reads of {n_pairs} pairs", passes.n_read);
            found.push(children);
        }
        assert!(found.iter().all(|children| *children == found[0]), "{shape}");
    }
}

#[test]
fn a_pair_outside_of_the_rows_is_our_mistake() {
    assert!(Components::new(3, &budget(usize::MAX, 1)).union(1, 3).is_err());
}

#[test]
fn a_group_gives_a_star_and_a_chain() {
    let mut pairs = Vec::new();
    star_and_chain(&[2, 5, 6, 9], |pair| {
        pairs.push(pair);
        Ok(())
    })
    .unwrap();
    assert_eq!(pairs, [[2, 5], [2, 6], [5, 6], [2, 9], [6, 9]]);
}

fn kept(which: KeepWhich, keys: Option<&[&str]>, rows: &[u64], indexed: Option<u64>) -> Kept {
    let mut store = RowStore::new(&budget(usize::MAX, 1));
    keys.iter().copied().flatten().for_each(|key| store.push(key.as_bytes()).unwrap());
    let store = store.finish().unwrap();
    Chooser { which, keys: keys.map(|_| &store) }.choose(rows, indexed).unwrap()
}

#[test]
fn the_row_that_stays_is_chosen_by_key_then_by_place() {
    let keys: Option<&[&str]> = Some(&["b", "a", "c", "a", "c"]);
    let rows = [0, 1, 2, 3, 4];
    assert_eq!(kept(KeepWhich::First, None, &rows, None), Kept::Row(0));
    assert_eq!(kept(KeepWhich::Last, None, &rows, None), Kept::Row(4));
    assert_eq!(kept(KeepWhich::First, keys, &rows, None), Kept::Row(1));
    assert_eq!(kept(KeepWhich::Last, keys, &rows, None), Kept::Row(4));
    assert_eq!(kept(KeepWhich::Last, keys, &rows[..4], None), Kept::Row(2));
    assert_eq!(kept(KeepWhich::Any, keys, &rows, None), Kept::Row(0));
    assert_eq!(kept(KeepWhich::None, keys, &rows, None), Kept::Nobody);
    assert_eq!(kept(KeepWhich::First, keys, &rows, Some(77)), Kept::Indexed(77));
    assert_eq!(kept(KeepWhich::None, keys, &rows, Some(77)), Kept::Nobody);
}

#[test]
fn decisions_come_in_row_order_in_any_memory() {
    let n_rows = 20_000;
    for budget in budgets() {
        let mut survivors = Survivors::new(n_rows, &budget);
        let chooser = Chooser { which: KeepWhich::First, keys: None };
        // Clusters of three, the last one first; every fourth row is alone.
        for first in (0..n_rows / 4).rev().map(|n| n * 4) {
            let rows = [first, first + 1, first + 2];
            survivors.add_cluster(&rows, None, chooser, |row, _| Ok(Some(row as f64 / 1e6))).unwrap();
        }
        assert_eq!(survivors.n_dropped(), n_rows / 2);
        let mut decisions = survivors.finish().unwrap();
        for row in 0..n_rows {
            let cluster = row / 4 * 4;
            let similarity = (row != cluster).then_some(row as f64 / 1e6);
            let expected = Decision { row, kept: Kept::Row(cluster), cluster, size: 3, similarity };
            let decision = decisions.next_for(row).unwrap();
            assert_eq!(decision, (row % 4 != 3).then_some(expected));
            assert_eq!(decision.is_some_and(|decision| decision.is_kept()), row == cluster);
        }
    }
}

#[test]
fn a_reader_of_decisions_skips_rows_that_are_not_asked_for() {
    let mut survivors = Survivors::new(100, &budget(usize::MAX, 1));
    let chooser = Chooser { which: KeepWhich::None, keys: None };
    survivors.add_cluster(&[3, 5, 90], Some(4), chooser, |_, _| Ok(None)).unwrap();
    survivors.add_cluster(&[7], Some(11), Chooser { which: KeepWhich::First, keys: None }, |_, _| Ok(None)).unwrap();
    let mut decisions = survivors.finish().unwrap();
    assert_eq!(decisions.next_for(4).unwrap(), None);
    let decision = decisions.next_for(7).unwrap().unwrap();
    assert_eq!((decision.kept, decision.size, decision.is_kept()), (Kept::Indexed(11), 1, false));
    assert_eq!(decisions.next_for(90).unwrap().unwrap().kept, Kept::Nobody);
    assert_eq!(decisions.next_for(91).unwrap(), None);
}
