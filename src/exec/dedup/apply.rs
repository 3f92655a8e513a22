//! The decisions applied: documents go by again, those that stay go out, those that go are written into the ledger.

use super::DedupLayout;
use crate::exec::ledger::{Ledger, Page};
use crate::sources::is_carried;
use crate::{Result, bug};
use arrow::array::{ArrayRef, BooleanArray, Float64Array, RecordBatch, RecordBatchOptions, StringArray, UInt32Array};
use arrow::compute::{filter_record_batch, take_record_batch};
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use std::sync::Arc;

/// Why one row goes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reason {
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
pub(super) struct Dropped {
    page: Page,
    schema: SchemaRef,
    columns: Vec<usize>,
}

impl Dropped {
    pub fn open(ledger: &Ledger, key: usize, input: &Schema, layout: &DedupLayout, other: &str) -> Result<Self> {
        let is_shown = |index: &usize| !is_carried(input.field(*index).name());
        let columns: Vec<usize> = layout.visible.iter().copied().filter(is_shown).collect();
        let reasons = [
            Field::new("_rule", DataType::Utf8, true),
            Field::new("_value", DataType::Float64, true),
            Field::new("_threshold", DataType::Float64, true),
            Field::new(other, DataType::Utf8, true),
        ];
        let given = columns.iter().map(|&index| Arc::clone(&input.fields()[index]));
        let fields: Vec<FieldRef> = reasons.into_iter().map(Arc::new).chain(given).collect();
        let schema = Arc::new(Schema::new(fields));
        Ok(Self { page: ledger.open(key, Arc::clone(&schema), 0)?, schema, columns })
    }

    /// Writes rows of `batch`, in order.
    pub fn write(&self, batch: &RecordBatch, rule: &str, threshold: Option<f64>, reasons: &[Reason]) -> Result<()> {
        if reasons.is_empty() {
            return Ok(());
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
        // One ordered stream: nothing earlier can come.
        self.page.add(Some(dropped), None, None)
    }
}

/// The rows of `batch` for which `keep` is true, with the columns that come out and the added ones.
pub(super) fn kept_rows(
    batch: &RecordBatch,
    keep: &[bool],
    added: Vec<ArrayRef>,
    layout: &DedupLayout,
    schema: &SchemaRef,
) -> Result<RecordBatch> {
    let failed = |error: arrow::error::ArrowError| bug!("rows of a deduplication: {error}");
    let mut columns: Vec<ArrayRef> = layout.visible.iter().map(|index| Arc::clone(batch.column(*index))).collect();
    columns.extend(added);
    // Said, because no column need come out: a query may only count.
    let n_rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let whole = RecordBatch::try_new_with_options(Arc::clone(schema), columns, &n_rows).map_err(failed)?;
    if keep.iter().all(|kept| *kept) {
        return Ok(whole);
    }
    filter_record_batch(&whole, &BooleanArray::from(keep.to_vec())).map_err(failed)
}
