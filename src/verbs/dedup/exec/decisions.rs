//! The last stage: the decisions of a partition's rows, carried out. Its documents go by again in their order.

use super::apply::{Reason, kept_rows};
use super::work::DedupWork;
use crate::dedup::index::IndexNames;
use crate::dedup::{Budget, Decision, DecisionReader, ExtraColumn, Kept, Method, Numbering, RowStore, StoredRows};
use crate::verbs::documents::Documents;
use crate::verbs::working::{Output, Stop, in_parallel};
use crate::{Error, Result, bug};
use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use std::sync::{Arc, Mutex, PoisonError};

/// How documents are named to the user: by their `id`, without one by their number in the input.
pub(super) struct Names {
    stored: Option<StoredRows>,
    indexed: Option<Mutex<IndexNames>>,
}

/// Takes the names of a partition's rows, if anybody will ask for them.
pub(super) struct NameStore {
    column: Option<usize>,
    store: Option<RowStore>,
}

impl NameStore {
    pub fn new(work: &DedupWork, budget: &Arc<dyn Budget>) -> Self {
        let asks = |column: ExtraColumn| work.request.extra.iter().any(|(extra, _)| *extra == column);
        let is_asked = work.dropped.is_some() || asks(ExtraColumn::KeptId) || work.request.against.is_some();
        let column = work.columns.id.filter(|_| is_asked);
        Self { column, store: column.map(|_| RowStore::new(budget)) }
    }

    pub fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        let (Some(column), Some(store)) = (self.column, &mut self.store) else { return Ok(()) };
        // Whatever a corpus calls an id: a text, a number, an object.
        let options = FormatOptions::new();
        let names = ArrayFormatter::try_new(batch.column(column).as_ref(), &options);
        let names = names.map_err(|error| bug!("names of documents: {error}"))?;
        (0..batch.num_rows()).try_for_each(|row| store.push(names.value(row).to_string().as_bytes()))
    }

    pub fn finish(self) -> Result<Option<StoredRows>> {
        self.store.map(RowStore::finish).transpose()
    }
}

impl Names {
    /// Of all rows.
    pub fn of_partitions(stored: Vec<Option<StoredRows>>, numbering: &Arc<Numbering>) -> Self {
        let stored: Option<Vec<StoredRows>> = stored.into_iter().collect();
        Self { stored: stored.map(|stored| StoredRows::of_partitions(stored, numbering)), indexed: None }
    }

    /// Whether documents have names of their own.
    pub fn are_known(&self) -> bool {
        self.stored.is_some()
    }

    /// Documents of an index have names too.
    pub fn add_indexed(&mut self, indexed: IndexNames) {
        self.indexed = Some(Mutex::new(indexed));
    }

    /// The name of what stayed.
    fn of_kept(&self, kept: Kept) -> Result<Option<String>> {
        match kept {
            Kept::Row(row) => Ok(Some(self.of(row)?)),
            Kept::Indexed(ordinal) => {
                let mut names = self.indexed.as_ref().map(|names| names.lock().unwrap_or_else(PoisonError::into_inner));
                let name = names.as_mut().map(|names| names.get(ordinal)).transpose()?.flatten();
                Ok(Some(name.map_or_else(|| format!("#{} of the index", ordinal + 1), str::to_string)))
            }
            Kept::Nobody => Ok(None),
        }
    }

    /// The name of a row.
    pub fn of(&self, row: u64) -> Result<String> {
        let mut bytes = vec![];
        match &self.stored {
            Some(stored) if stored.get(row, &mut bytes)? => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            _ => Ok(format!("#{}", row + 1)),
        }
    }
}

/// The documents of all partitions go by once more.
pub(super) fn apply_all(
    work: &DedupWork,
    documents: &[Documents],
    decisions: DecisionReader,
    (numbering, budget): (&Numbering, &Arc<dyn Budget>),
    names: &Names,
    outputs: Vec<Output>,
    stop: &Stop,
) -> Result<()> {
    let decisions = decisions.of_partitions(numbering, budget)?;
    let partitions = documents.iter().zip(decisions).zip(outputs).collect();
    in_parallel(stop, partitions, |partition, ((documents, decisions), output)| {
        apply(work, documents, PartitionRows { partition, numbering }, decisions, names, &output)?;
        work.dropped.as_ref().map_or(Ok(()), |dropped| dropped.end(partition))?;
        output.end();
        Ok(())
    })?;
    Ok(())
}

/// A partition among all.
#[derive(Clone, Copy)]
struct PartitionRows<'a> {
    partition: usize,
    numbering: &'a Numbering,
}

/// Sends the rows that stay, and writes those that go into the ledger.
fn apply(
    work: &DedupWork,
    documents: &Documents,
    place: PartitionRows<'_>,
    mut decisions: DecisionReader,
    names: &Names,
    output: &Output,
) -> Result<()> {
    let threshold = match &work.request.method {
        Method::Fuzzy(fuzzy) if fuzzy.verify => Some(fuzzy.threshold),
        Method::Semantic(semantic) => Some(semantic.threshold),
        _ => None,
    };
    for batch in documents.replay()? {
        let (first_row, batch) = batch?;
        let rows = first_row..first_row + batch.num_rows() as u64;
        let rows = rows.map(|row| place.numbering.number_of(place.partition, row));
        let decisions: Vec<Option<Decision>> = rows.map(|row| decisions.next_for(row)).collect::<Result<_>>()?;
        let goes = |decision: &Option<Decision>| decision.as_ref().is_some_and(|decision| !decision.is_kept());
        if let Some(dropped) = work.dropped.as_ref().filter(|_| work.request.drops) {
            let going = decisions.iter().enumerate().filter_map(|(place, decision)| {
                Some((place, decision.as_ref().filter(|decision| !decision.is_kept())?))
            });
            let reasons = going.map(|(place, decision)| {
                Ok(Reason { place: place as u32, value: decision.similarity, kept: names.of_kept(decision.kept)? })
            });
            dropped.write(
                (place.partition, &batch),
                &work.request.label,
                threshold,
                &reasons.collect::<Result<Vec<_>>>()?,
            )?;
        }
        let keep: Vec<bool> = decisions.iter().map(|decision| !work.request.drops || !goes(decision)).collect();
        let added = added_columns(work, place, first_row, &decisions, names)?;
        let kept = kept_rows(&batch, &keep, added, &work.columns, &work.output_schema)?;
        match output.send(kept) {
            // Nobody reads this partition; others may be read.
            Err(Error::Interrupted) => return Ok(()),
            sent => sent?,
        }
    }
    Ok(())
}

fn added_columns(
    work: &DedupWork,
    place: PartitionRows<'_>,
    first_row: u64,
    decisions: &[Option<Decision>],
    names: &Names,
) -> Result<Vec<ArrayRef>> {
    let number = |row: u64| place.numbering.number_of(place.partition, row);
    let rows = || decisions.iter().zip((first_row..).map(number));
    let column = |column: ExtraColumn| -> Result<ArrayRef> {
        Ok(match column {
            // A row without duplicates is a cluster of its own.
            ExtraColumn::ClusterId => Arc::new(Int64Array::from_iter_values(
                rows().map(|(decision, row)| decision.as_ref().map_or(row, |decision| decision.cluster) as i64),
            )),
            ExtraColumn::ClusterSize => Arc::new(Int64Array::from_iter_values(
                rows().map(|(decision, _)| decision.as_ref().map_or(1, |decision| decision.size) as i64),
            )),
            ExtraColumn::KeptId => {
                let name = |(decision, row): (&Option<Decision>, u64)| match decision {
                    Some(decision) => names.of_kept(decision.kept),
                    None => Ok(Some(names.of(row)?)),
                };
                Arc::new(StringArray::from(rows().map(name).collect::<Result<Vec<_>>>()?))
            }
            ExtraColumn::Similarity => Arc::new(Float64Array::from_iter(
                decisions.iter().map(|decision| decision.as_ref().and_then(|decision| decision.similarity)),
            )),
        })
    };
    work.request.extra.iter().map(|(extra, _)| column(*extra)).collect()
}
