//! What `KEEP … PER` tells rows apart by: a hash, or null where all values are null, which is a value too.
//!
//! Keys of `EXACT` and `FUZZY` are mixed with it, so that rows of different values have none in common. `SEMANTIC` has no
//! keys: the values of its rows are in memory or on disk.

use super::work::DedupWork;
use crate::dedup::{Budget, RowStore, StoredRows};
use crate::{Result, bug};
use arrow::array::{Array, AsArray, FixedSizeBinaryArray, RecordBatch};
use std::sync::Arc;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

/// The column of a batch, if the query has a `PER`.
pub(super) fn values<'a>(work: &DedupWork, batch: &'a RecordBatch) -> Result<Option<&'a FixedSizeBinaryArray>> {
    let Some(index) = work.columns.per else { return Ok(None) };
    let column = batch.column(index);
    let wrong = || bug!("PER of type {}", column.data_type());
    Ok(Some(column.as_fixed_size_binary_opt().ok_or_else(wrong)?))
}

/// A row's value.
fn value(values: &FixedSizeBinaryArray, place: usize) -> &[u8] {
    if values.is_valid(place) { values.value(place) } else { &[] }
}

/// A hash that only rows with the same value have in common.
pub(super) fn hash_within(values: &FixedSizeBinaryArray, place: usize, hash: [u8; 16]) -> [u8; 16] {
    xxh3_128(&[&hash, value(values, place)].concat()).to_be_bytes()
}

/// The same for the fingerprint of a band.
pub(super) fn key_within(values: &FixedSizeBinaryArray, place: usize, key: u64) -> u64 {
    xxh3_64(&[&key.to_le_bytes(), value(values, place)].concat())
}

/// Takes the values of all rows, if there are any.
pub(super) struct PerValues<'a> {
    work: &'a DedupWork,
    store: Option<RowStore>,
}

impl<'a> PerValues<'a> {
    pub fn new(work: &'a DedupWork, budget: &Arc<dyn Budget>) -> Self {
        Self { work, store: work.columns.per.map(|_| RowStore::new(budget)) }
    }

    pub fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        let (Some(store), Some(values)) = (&mut self.store, values(self.work, batch)?) else { return Ok(()) };
        (0..values.len()).try_for_each(|place| store.push(value(values, place)))
    }

    pub fn finish(self) -> Result<Option<StoredRows>> {
        self.store.map(RowStore::finish).transpose()
    }
}
