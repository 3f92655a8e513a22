//! The first stage of a deduplication: one partition of the rows is read to its end. Its keys go where those of all partitions
//! meet; its documents, and what may be asked about them later, stay here.
//!
//! Not here: keys (`keys.rs`, `semantic.rs`).

use super::decisions::{NameStore, Names};
use super::work::{Budgets, DedupWork};
use crate::dedup::{Budget, Numbering, Positions, RowStore, StoredRows};
use crate::verbs::documents::Documents;
use crate::{Result, bug};
use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::UInt64Type;
use arrow::row::{RowConverter, SortField};
use std::sync::Arc;

/// A partition that is being read.
pub(super) struct Partition<'a> {
    work: &'a DedupWork,
    keep: KeepKeys<'a>,
    names: NameStore,
    positions: Option<Positions>,
    documents: Documents,
}

/// A partition that was read to its end.
pub(super) struct ReadPartition {
    documents: Documents,
    positions: Option<Positions>,
    keep_keys: Option<StoredRows>,
    names: Option<StoredRows>,
}

impl<'a> Partition<'a> {
    pub fn new(work: &'a DedupWork, budgets: &Budgets, number: usize) -> Result<Self> {
        let documents = Documents::new(Arc::clone(&work.input_schema), Arc::clone(&budgets.documents));
        Ok(Self {
            work,
            keep: KeepKeys::new(work, &budgets.keys)?,
            names: NameStore::new(work, &budgets.keys),
            positions: work.position.map(|_| Positions::new(&budgets.keys)),
            documents: documents.of_partition(work.again.as_ref(), number),
        })
    }

    /// Rows so far.
    pub fn n_rows(&self) -> u64 {
        self.documents.n_rows()
    }

    /// Takes the next rows.
    pub fn push(&mut self, batch: RecordBatch) -> Result<()> {
        if let (Some(positions), Some(column)) = (&mut self.positions, self.work.position) {
            let column = batch.column(column).as_primitive::<UInt64Type>();
            column.values().iter().try_for_each(|position| positions.push(*position))?;
        }
        self.keep.push(&batch)?;
        self.names.push(&batch)?;
        self.documents.push(batch)
    }

    pub fn finish(mut self) -> Result<ReadPartition> {
        self.documents.finish()?;
        let (keep_keys, names) = (self.keep.finish()?, self.names.finish()?);
        Ok(ReadPartition { documents: self.documents, positions: self.positions, keep_keys, names })
    }
}

/// What is kept of all rows, beside their keys, until it is decided about them.
pub(super) struct ReadRows {
    pub documents: Vec<Documents>,
    pub numbering: Arc<Numbering>,
    pub keep_keys: Option<StoredRows>,
    pub names: Names,
}

impl ReadRows {
    pub fn of_partitions(partitions: Vec<ReadPartition>) -> Result<Self> {
        let (mut documents, mut positions, mut keep_keys, mut names) = (vec![], vec![], vec![], vec![]);
        for partition in partitions {
            documents.push(partition.documents);
            positions.push(partition.positions);
            keep_keys.extend(partition.keep_keys);
            names.push(partition.names);
        }
        let numbering = Arc::new(match positions.into_iter().collect::<Option<_>>() {
            Some(positions) => Numbering::new(positions)?,
            None => Numbering::of_one(documents.iter().map(Documents::n_rows).sum()),
        });
        let keep_keys = Some(keep_keys).filter(|keys| !keys.is_empty());
        let keep_keys = keep_keys.map(|keys| StoredRows::of_partitions(keys, &numbering));
        Ok(Self { keep_keys, names: Names::of_partitions(names, &numbering), documents, numbering })
    }
}

/// What `KEEP … BY` orders by: for each row bytes that compare as the values do.
pub(super) struct KeepKeys<'a> {
    work: &'a DedupWork,
    converter: Option<(RowConverter, RowStore)>,
}

impl<'a> KeepKeys<'a> {
    pub fn new(work: &'a DedupWork, budget: &Arc<dyn Budget>) -> Result<Self> {
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
