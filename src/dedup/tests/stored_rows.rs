//! `RowStore`.
#![allow(clippy::unwrap_used)]

use super::{budget, budgets, mix};
use crate::dedup::{RowStore, StoredRows};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn bytes_of(row: u64) -> Vec<u8> {
    // Most are short, some are empty, a few are longer than a piece of memory.
    let n_bytes = if row % 997 == 5 { 300_000 } else { mix(row) % 40 };
    (0..n_bytes).map(|n| (row + n) as u8).collect()
}

fn get(store: &StoredRows, row: u64) -> Option<Vec<u8>> {
    let mut bytes = b"left over".to_vec();
    store.get(row, &mut bytes).unwrap().then_some(bytes)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    #[test]
    fn rows_are_found_in_any_memory(n_rows in 0..3000_u64, every in 1..5_u64, seed in any::<u64>()) {
        for budget in budgets() {
            let mut dense = RowStore::new(&budget);
            let mut sparse = RowStore::sparse(&budget);
            let mut expected = BTreeMap::new();
            for row in 0..n_rows {
                dense.push(&bytes_of(row)).unwrap();
                if mix(row ^ seed).is_multiple_of(every) {
                    sparse.push_row(row, &bytes_of(row)).unwrap();
                    expected.insert(row, bytes_of(row));
                }
            }
            let (dense, sparse) = (dense.finish().unwrap(), sparse.finish().unwrap());
            prop_assert_eq!(sparse.n_rows(), expected.len() as u64);
            for row in (0..n_rows).rev() {
                prop_assert_eq!(get(&dense, row), Some(bytes_of(row)));
                prop_assert_eq!(get(&sparse, row), expected.get(&row).cloned());
            }
            prop_assert_eq!(get(&dense, n_rows), None);
            prop_assert_eq!(get(&sparse, n_rows + 1), None);
        }
    }
}

#[test]
fn several_threads_read_a_store_on_disk() {
    let mut store = RowStore::new(&budget(0, 4));
    (0..100_000).for_each(|row| store.push(&bytes_of(row)).unwrap());
    assert!(store.has_spilled());
    let store = store.finish().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let store = &store;
            scope.spawn(move || {
                for row in (thread..100_000).step_by(101) {
                    assert_eq!(get(store, row), Some(bytes_of(row)));
                }
            });
        }
    });
}

#[test]
fn rows_out_of_order_are_our_mistake() {
    let mut store = RowStore::sparse(&budget(usize::MAX, 1));
    store.push_row(4, b"x").unwrap();
    assert!(store.push_row(4, b"y").is_err());
    assert!(RowStore::new(&budget(usize::MAX, 1)).push_row(1, b"y").is_err());
}
