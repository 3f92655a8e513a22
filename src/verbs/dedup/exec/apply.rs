//! The decisions applied: documents go by again, those that stay go out, those that go are written into the ledger.

use super::DedupColumns;
use crate::exec::{DropWriter, Ledger};
use crate::sources::is_carried;
use crate::verb::Start;
use crate::{Result, bug};
use arrow::array::{
    ArrayRef, AsArray, BooleanArray, Float64Array, RecordBatch, RecordBatchOptions, StringArray, UInt32Array,
};
use arrow::compute::{filter_record_batch, take, take_record_batch};
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef, UInt64Type};
use std::sync::Arc;

/// Why one row goes.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::verbs) struct Reason {
    /// Its place in the batch.
    pub place: u32,
    /// How similar it is to what stayed, or how much of it was cut.
    pub value: Option<f64>,
    /// The name of the document that stayed, or of the task whose text it holds.
    pub kept: Option<String>,
}

/// The way into the drop ledger: whole documents, with the verb, the similarity, the threshold and who stayed (`_kept`)
/// or whose text it was (`_task`).
#[derive(Debug)]
pub(in crate::verbs) struct Dropped {
    /// One for each partition of the rows.
    writers: Vec<DropWriter>,
    /// What puts rows of several partitions in order.
    position: Option<usize>,
    schema: SchemaRef,
    columns: Vec<usize>,
}

impl Dropped {
    /// The way into the ledger of a run that has one and wants the rows that go here.
    pub fn of_run(start: &Start<'_>, columns: &DedupColumns, other: &str) -> Result<Option<Self>> {
        let ledger = start.context.session_config().get_extension::<Ledger>().filter(|_| columns.wants_dropped);
        ledger.map(|ledger| Self::open(&ledger, start, columns, other)).transpose()
    }

    fn open(ledger: &Ledger, start: &Start<'_>, columns: &DedupColumns, other: &str) -> Result<Self> {
        let input = start.rows_schema();
        let is_shown = |index: &usize| !is_carried(input.field(*index).name());
        let shown: Vec<usize> = columns.visible.iter().copied().filter(is_shown).collect();
        let reasons = [
            Field::new("_rule", DataType::Utf8, true),
            Field::new("_value", DataType::Float64, true),
            Field::new("_threshold", DataType::Float64, true),
            Field::new(other, DataType::Utf8, true),
        ];
        let given = shown.iter().map(|&index| Arc::clone(&input.fields()[index]));
        let fields: Vec<FieldRef> = reasons.into_iter().map(Arc::new).chain(given).collect();
        let schema = Arc::new(Schema::new(fields));
        let writers = (0..start.rows.len()).map(|partition| ledger.open(start.node, Arc::clone(&schema), partition));
        Ok(Self { writers: writers.collect::<Result<_>>()?, position: start.position, schema, columns: shown })
    }

    /// No more rows of a partition will come: those of others need not wait for it.
    pub fn end(&self, partition: usize) -> Result<()> {
        self.writers.get(partition).map_or(Ok(()), |writer| writer.add(None, None, None))
    }

    /// Writes rows of `batch`, which is the next one of a partition.
    pub fn write(
        &self,
        (partition, batch): (usize, &RecordBatch),
        rule: &str,
        threshold: Option<f64>,
        reasons: &[Reason],
    ) -> Result<()> {
        let Some(writer) = self.writers.get(partition) else {
            return Err(bug!("no partition {partition} in the ledger"));
        };
        let positions = self.position.map(|position| batch.column(position).as_primitive::<UInt64Type>());
        let done_to = positions.and_then(|positions| positions.values().last()).map(|last| last + 1);
        if reasons.is_empty() {
            // Rows of other partitions may wait for this one.
            return done_to.map_or(Ok(()), |done_to| writer.add(None, None, Some(done_to)));
        }
        let places = UInt32Array::from_iter_values(reasons.iter().map(|reason| reason.place));
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from_iter_values(reasons.iter().map(|_| rule))),
            Arc::new(Float64Array::from_iter(reasons.iter().map(|reason| reason.value))),
            Arc::new(Float64Array::from_iter(reasons.iter().map(|_| threshold))),
            Arc::new(StringArray::from_iter(reasons.iter().map(|reason| reason.kept.as_deref()))),
        ];
        let failed = |error: arrow::error::ArrowError| bug!("rows of the ledger: {error}");
        let documents = batch.project(&self.columns).and_then(|batch| take_record_batch(&batch, &places));
        columns.extend(documents.map_err(failed)?.columns().iter().cloned());
        let dropped = RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(failed)?;
        let positions = positions.map(|positions| take(positions, &places, None)).transpose().map_err(failed)?;
        // One ordered stream has no positions: nothing earlier can come.
        writer.add(Some(dropped), positions, done_to)
    }
}

/// The rows of `batch` for which `keep` is true, with the columns that come out and the added ones.
pub(in crate::verbs) fn kept_rows(
    batch: &RecordBatch,
    keep: &[bool],
    added: Vec<ArrayRef>,
    columns: &DedupColumns,
    schema: &SchemaRef,
) -> Result<RecordBatch> {
    let failed = |error: arrow::error::ArrowError| bug!("rows of a deduplication: {error}");
    let visible = columns.visible.iter().map(|index| Arc::clone(batch.column(*index)));
    let arrays: Vec<ArrayRef> = visible.chain(added).collect();
    // Said, because no column need come out: a query may only count.
    let n_rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let whole = RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &n_rows).map_err(failed)?;
    if keep.iter().all(|kept| *kept) {
        return Ok(whole);
    }
    filter_record_batch(&whole, &BooleanArray::from(keep.to_vec())).map_err(failed)
}
