//! What rows are compared by, gathered from all partitions: hashes and fingerprints. Documents stay where they are.

use super::per;
use super::work::DedupWork;
use crate::dedup::{Adder, Budget, Method, Numbering, SharedGroups, Sorted, packed};
use crate::{Result, bug};
use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::Int64Type;
use std::sync::Arc;

/// The records that are grouped.
pub(super) enum Keys {
    /// 128-bit hash, row.
    Whole(SharedGroups<3>),
    /// Fingerprint of a band, row.
    Bands(SharedGroups<2>),
}

/// The same, in order.
pub(super) enum SortedKeys {
    Whole(Sorted<3>),
    Bands(Sorted<2>),
}

impl Keys {
    /// None yet.
    pub fn new(work: &DedupWork, budget: &Arc<dyn Budget>) -> Self {
        match work.request.method {
            Method::Exact(_) => Keys::Whole(SharedGroups::new(budget)),
            _ => Keys::Bands(SharedGroups::new(budget)),
        }
    }

    /// The way in for the keys of one partition.
    pub fn of_partition<'a>(&'a self, work: &'a DedupWork, partition: usize) -> Result<PartitionKeys<'a>> {
        let Some(column) = work.columns.key else { return Err(bug!("{} has no key", work.request.label)) };
        let records = match self {
            Keys::Whole(groups) => Records::Whole(groups.adder()),
            Keys::Bands(groups) => Records::Bands(groups.adder()),
        };
        Ok(PartitionKeys { work, partition, column, records })
    }

    /// All of them, with the numbers of the rows.
    pub fn finish(self, numbering: &Arc<Numbering>) -> Result<SortedKeys> {
        // Of one partition, rows have their numbers.
        let is_alone = numbering.n_partitions() == 1;
        Ok(match self {
            Keys::Whole(groups) => {
                SortedKeys::Whole(groups.finish(|keys| if is_alone { keys } else { keys.numbered(numbering) })?)
            }
            Keys::Bands(groups) => {
                SortedKeys::Bands(groups.finish(|keys| if is_alone { keys } else { keys.numbered(numbering) })?)
            }
        })
    }
}

/// The keys of a partition that is being read.
pub(super) struct PartitionKeys<'a> {
    work: &'a DedupWork,
    partition: usize,
    column: usize,
    records: Records<'a>,
}

enum Records<'a> {
    Whole(Adder<'a, 3>),
    Bands(Adder<'a, 2>),
}

impl PartitionKeys<'_> {
    /// Takes those of the next rows.
    pub fn push(&mut self, batch: &RecordBatch, first_row: u64) -> Result<()> {
        let within = per::values(self.work, batch)?;
        let column = batch.column(self.column);
        let row = |place: usize| packed(self.partition, first_row + place as u64);
        let wrong = || bug!("a key of type {}", column.data_type());
        match &mut self.records {
            Records::Whole(records) => {
                let hashes = column.as_fixed_size_binary_opt().ok_or_else(wrong)?;
                for (place, hash) in hashes.iter().enumerate() {
                    // A row without values has no duplicates.
                    let Some(Ok(hash)) = hash.map(<[u8; 16]>::try_from) else { continue };
                    let hash = within.map_or(hash, |values| per::hash_within(values, place, hash));
                    let hash = u128::from_be_bytes(hash);
                    records.push([(hash >> 64) as u64, hash as u64, row(place)])?;
                }
            }
            Records::Bands(records) => {
                let lists = column.as_list_opt::<i32>().ok_or_else(wrong)?;
                let bands = lists.values().as_primitive_opt::<Int64Type>().ok_or_else(wrong)?;
                for place in (0..lists.len()).filter(|place| lists.is_valid(*place)) {
                    let range = lists.value_offsets()[place] as usize..lists.value_offsets()[place + 1] as usize;
                    for band in &bands.values()[range] {
                        let key = within.map_or(*band as u64, |values| per::key_within(values, place, *band as u64));
                        records.push([key, row(place)])?;
                    }
                }
            }
        }
        Ok(())
    }

    /// No more rows will come.
    pub fn finish(self) -> Result<()> {
        match self.records {
            Records::Whole(records) => records.finish(),
            Records::Bands(records) => records.finish(),
        }
    }
}
