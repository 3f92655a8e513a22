//! `Groups` and `Sorted`.
#![allow(clippy::unwrap_used)]

use super::{budget, budgets, mix};
use crate::dedup::{Budget, FixedBudget, Groups};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

type Grouped = Vec<(Vec<u64>, Vec<u64>)>;

fn by_hand<const N: usize>(records: &[[u64; N]], min_rows: usize) -> Grouped {
    let mut groups: BTreeMap<Vec<u64>, Vec<u64>> = BTreeMap::new();
    for record in records {
        groups.entry(record[..N - 1].to_vec()).or_default().push(record[N - 1]);
    }
    groups.values_mut().for_each(|rows| rows.sort_unstable());
    groups.into_iter().filter(|(_, rows)| rows.len() >= min_rows).collect()
}

fn filled<const N: usize>(records: &[[u64; N]], budget: &Arc<dyn Budget>) -> Groups<N> {
    let mut groups = Groups::new(budget);
    groups.extend(records).unwrap();
    groups
}

fn grouped<const N: usize>(records: &[[u64; N]], min_rows: usize, budget: &Arc<dyn Budget>) -> Grouped {
    let mut found = Grouped::new();
    let sorted = filled(records, budget).finish().unwrap();
    let add = |key: &[u64], rows: &[u64]| {
        found.push((key.to_vec(), rows.to_vec()));
        Ok(())
    };
    sorted.for_each_group(min_rows, add).unwrap();
    found
}

fn grouped_in_parallel<const N: usize>(records: &[[u64; N]], min_rows: usize, budget: &Arc<dyn Budget>) -> Grouped {
    let found = Mutex::new(Grouped::new());
    let sorted = filled(records, budget).finish().unwrap();
    let add = |key: &[u64], rows: &[u64]| {
        found.lock().unwrap().push((key.to_vec(), rows.to_vec()));
        Ok(())
    };
    sorted.par_for_each_group(min_rows, add).unwrap();
    let mut found = found.into_inner().unwrap();
    found.sort();
    found
}

/// Keys of all sorts: few and many, hashes and small numbers, all in one corner of the range.
fn records() -> impl Strategy<Value = Vec<[u64; 3]>> {
    (0..12_000_u64, 1..3_000_u64, 0..4_u32, any::<u64>()).prop_map(|(n_records, n_keys, shape, seed)| {
        let record = |n: u64| {
            let key = mix(n ^ seed) % n_keys;
            match shape {
                0 => [mix(key), mix(key + 1), n],
                1 => [key, 7, mix(n)],
                2 => [u64::MAX - key % 3, mix(key), n / 3],
                _ => [5, 5, n % 2],
            }
        };
        (0..n_records).map(record).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn groups_are_the_same_in_any_memory(records in records(), min_rows in 1..4_usize) {
        let expected = by_hand(&records, min_rows);
        for budget in budgets() {
            prop_assert_eq!(&grouped(&records, min_rows, &budget), &expected);
            prop_assert_eq!(&grouped_in_parallel(&records, min_rows, &budget), &expected);
        }
    }

    #[test]
    fn equal_records_are_kept_once_on_request(records in records()) {
        let expected: Vec<[u64; 3]> = records.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
        for budget in budgets() {
            let mut groups = Groups::new(&budget).distinct();
            groups.extend(&records).unwrap();
            let found: Vec<[u64; 3]> = groups.finish().unwrap().map(|record| record.unwrap()).collect();
            prop_assert_eq!(&found, &expected);
        }
    }
}

#[test]
fn two_million_records_pass_through_almost_no_memory() {
    let records: Vec<[u64; 2]> = (0..2_000_000).map(|n| [mix(n % 600_000), n]).collect();
    let expected = grouped(&records, 4, &budget(usize::MAX, 2));
    assert_eq!(expected.len(), 200_000);
    assert_eq!(grouped(&records, 4, &budget(500_000, 2)), expected);
    assert_eq!(grouped_in_parallel(&records, 4, &budget(500_000, 2)), expected);
}

#[test]
fn a_million_rows_with_one_key_are_one_group() {
    let n_rows = 1_200_000;
    let rows: Vec<u64> = (0..n_rows).collect();
    for limit_bytes in [0, usize::MAX] {
        let budget = budget(limit_bytes, 1);
        let records: Vec<[u64; 2]> = rows.iter().map(|row| [mix(9), *row]).collect();
        assert_eq!(grouped(&records, 2, &budget), [(vec![mix(9)], rows.clone())]);
        let equal = vec![[mix(9), 4]; n_rows as usize];
        assert_eq!(grouped(&equal, 2, &budget), [(vec![mix(9)], vec![4; n_rows as usize])]);
    }
}

#[test]
fn touches_no_file_when_the_memory_suffices() {
    let n_records = 100_000;
    for limit_bytes in [usize::MAX, Groups::<2>::memory_bytes(n_records) as usize] {
        let mut groups = Groups::new(&budget(limit_bytes, 1));
        (0..n_records).for_each(|n| groups.push([mix(n), n]).unwrap());
        assert!(!groups.has_spilled());
    }
    let mut groups = Groups::new(&budget(1_000_000, 1));
    (0..n_records * 3).for_each(|n| groups.push([mix(n), n]).unwrap());
    assert!(groups.has_spilled());
}

#[test]
fn gives_all_memory_back() {
    let limit_bytes = 3_000_000;
    let fixed = Arc::new(FixedBudget::of(limit_bytes, 2));
    let budget: Arc<dyn Budget> = fixed.clone();
    for n_records in [50_000, 1_000_000] {
        let mut groups = Groups::new(&budget).distinct();
        (0..n_records).for_each(|n| groups.push([mix(n % 200_000), n % 7]).unwrap());
        let mut sorted = groups.finish().unwrap();
        sorted.next().unwrap().unwrap();
        drop(sorted);
        assert!(fixed.try_grow(limit_bytes), "everything is free again");
        fixed.shrink(limit_bytes);
    }
}
