//! The first stage of a row-set deduplication: one partition of the rows is read to its end. Its keys go to the groups of all
//! partitions; its documents, and what may be asked about them later, stay here.

use super::fates::NameStore;
use super::per;
use super::rows::Keys;
use super::work::{Budgets, Work};
use crate::dedup::{Budget, Method, Positions, RowStore, StoredRows, packed};
use crate::verbs::documents::Documents;
use crate::{Result, bug};
use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Int64Type, UInt64Type};
use arrow::row::{RowConverter, SortField};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Records that are collected before they go to the groups of all partitions, which takes a lock.
const LOCAL_RECORDS: usize = 8192;

/// A partition that is being read.
pub(super) struct Partition<'a> {
    work: &'a Work,
    partition: usize,
    key: usize,
    shared: &'a Mutex<Keys>,
    hashes: Vec<[u64; 3]>,
    bands: Vec<[u64; 2]>,
    keep: KeepKeys<'a>,
    names: NameStore,
    positions: Option<Positions>,
    documents: Documents,
}

/// A partition that was read to its end.
pub(super) struct ReadPartition {
    pub documents: Documents,
    pub positions: Option<Positions>,
    pub keep_keys: Option<StoredRows>,
    pub names: Option<StoredRows>,
}

impl<'a> Partition<'a> {
    pub fn new(work: &'a Work, partition: usize, budgets: &Budgets, shared: &'a Mutex<Keys>) -> Result<Self> {
        let Some(key) = work.columns.key else { return Err(bug!("{} has no key", work.request.label)) };
        Ok(Self {
            work,
            partition,
            key,
            shared,
            hashes: vec![],
            bands: vec![],
            keep: KeepKeys::new(work, &budgets.keys)?,
            names: NameStore::new(work, &budgets.keys),
            positions: work.position.map(|_| Positions::new(&budgets.keys)),
            documents: Documents::new(Arc::clone(&work.input_schema), Arc::clone(&budgets.documents)),
        })
    }

    /// Takes the next rows.
    pub fn push(&mut self, batch: RecordBatch) -> Result<()> {
        self.push_keys(&batch)?;
        if let (Some(positions), Some(column)) = (&mut self.positions, self.work.position) {
            let column = batch.column(column).as_primitive::<UInt64Type>();
            column.values().iter().try_for_each(|position| positions.push(*position))?;
        }
        self.keep.push(&batch)?;
        self.names.push(&batch)?;
        self.documents.push(batch)
    }

    pub fn finish(mut self) -> Result<ReadPartition> {
        self.share()?;
        self.documents.finish()?;
        let (keep_keys, names) = (self.keep.finish()?, self.names.finish()?);
        Ok(ReadPartition { documents: self.documents, positions: self.positions, keep_keys, names })
    }

    fn push_keys(&mut self, batch: &RecordBatch) -> Result<()> {
        let within = per::values(self.work, batch)?;
        let column = batch.column(self.key);
        let first_row = self.documents.n_rows();
        let row = |place: usize| packed(self.partition, first_row + place as u64);
        let wrong = || bug!("a key of type {}", column.data_type());
        if let Method::Exact(_) = &self.work.request.method {
            let hashes = column.as_fixed_size_binary_opt().ok_or_else(wrong)?;
            for (place, hash) in hashes.iter().enumerate() {
                // A row without values has no duplicates.
                let Some(Ok(hash)) = hash.map(<[u8; 16]>::try_from) else { continue };
                let hash = within.map_or(hash, |values| per::hash_within(values, place, hash));
                let hash = u128::from_be_bytes(hash);
                self.hashes.push([(hash >> 64) as u64, hash as u64, row(place)]);
            }
        } else {
            let lists = column.as_list_opt::<i32>().ok_or_else(wrong)?;
            let bands = lists.values().as_primitive_opt::<Int64Type>().ok_or_else(wrong)?;
            for place in (0..lists.len()).filter(|place| lists.is_valid(*place)) {
                let range = lists.value_offsets()[place] as usize..lists.value_offsets()[place + 1] as usize;
                for band in &bands.values()[range] {
                    let key = within.map_or(*band as u64, |values| per::key_within(values, place, *band as u64));
                    self.bands.push([key, row(place)]);
                }
            }
        }
        if self.hashes.len().max(self.bands.len()) < LOCAL_RECORDS { Ok(()) } else { self.share() }
    }

    /// The records go to those of the other partitions.
    fn share(&mut self) -> Result<()> {
        match &mut *locked(self.shared) {
            Keys::Whole(groups) => groups.extend(&self.hashes)?,
            Keys::Bands(groups) => groups.extend(&self.bands)?,
        }
        self.hashes.clear();
        self.bands.clear();
        Ok(())
    }
}

/// The lock, also when a thread that held it panicked: that panic ends the run anyway.
fn locked(keys: &Mutex<Keys>) -> MutexGuard<'_, Keys> {
    keys.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What `KEEP … BY` orders by: for each row bytes that compare as the values do.
pub(super) struct KeepKeys<'a> {
    work: &'a Work,
    converter: Option<(RowConverter, RowStore)>,
}

impl<'a> KeepKeys<'a> {
    pub fn new(work: &'a Work, budget: &Arc<dyn Budget>) -> Result<Self> {
        if work.columns.keep_by.is_empty() {
            return Ok(Self { work, converter: None });
        }
        let field = |(index, options): &(usize, _)| {
            SortField::new_with_options(work.input_schema.field(*index).data_type().clone(), *options)
        };
        let converter = RowConverter::new(work.columns.keep_by.iter().map(field).collect());
        let converter = converter.map_err(|error| bug!("KEEP BY: {error}"))?;
        Ok(Self { work, converter: Some((converter, RowStore::new(budget))) })
    }

    pub fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        let Some((converter, store)) = &mut self.converter else { return Ok(()) };
        let columns: Vec<_> = self.work.columns.keep_by.iter().map(|(index, _)| batch.column(*index).clone()).collect();
        let rows = converter.convert_columns(&columns).map_err(|error| bug!("KEEP BY: {error}"))?;
        rows.iter().try_for_each(|row| store.push(row.data()))
    }

    pub fn finish(self) -> Result<Option<StoredRows>> {
        self.converter.map(|(_, store)| store.finish()).transpose()
    }
}
