//! The copying of rows: batch by batch, in their order, some copies at a time.

use super::Repeat;
use crate::Error;
use crate::exec::slice_bytes;
use crate::verb::{RowOrder, SetOperator, Start, Verb};
use arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch, UInt32Array, UInt64Array};
use arrow::compute::take_record_batch;
use arrow::datatypes::{Int64Type, SchemaRef};
use datafusion::error::{DataFusionError, Result};
use datafusion::physical_plan::execution_plan::{CardinalityEffect, EmissionType};
use datafusion::physical_plan::metrics::BaselineMetrics;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, SendableRecordBatchStream};
use futures::{StreamExt, TryStreamExt};
use std::sync::Arc;

/// Bytes of the copies that go out together, about.
const OUTPUT_BYTES: usize = 4 << 20;

/// `REPEAT`, planned.
#[derive(Debug)]
pub(super) struct RepeatRows {
    pub verb: Repeat,
    /// The column with the number of times.
    pub times: usize,
}

impl SetOperator for RepeatRows {
    fn name(&self) -> &'static str {
        "RepeatExec"
    }

    fn details(&self) -> String {
        self.verb.details()
    }

    fn label(&self) -> Option<String> {
        Some(format!("REPEAT {}", self.verb.details()))
    }

    fn order(&self) -> RowOrder {
        self.verb.order()
    }

    fn emission(&self, rows: &Arc<dyn ExecutionPlan>) -> EmissionType {
        rows.pipeline_behavior()
    }

    fn cardinality(&self) -> CardinalityEffect {
        CardinalityEffect::Unknown
    }

    fn start(&self, start: Start<'_>) -> Result<Vec<SendableRecordBatchStream>> {
        let batch_rows = start.context.session_config().batch_size().max(1);
        let (schema, is_numbered) = (start.schema, start.layout.number.is_some());
        let metrics: Vec<_> = (0..start.rows.len()).map(|at| BaselineMetrics::new(start.metrics, at)).collect();
        let streams = start.rows.into_iter().zip(metrics).map(|(rows, metrics)| {
            let copying = Copying {
                visible: start.layout.visible.clone(),
                times: self.times,
                has_column: self.verb.name.is_some(),
                is_numbered,
                schema: Arc::clone(&schema),
                batch_rows,
            };
            let copies = rows.map_ok(move |batch| futures::stream::iter(copying.copies(batch))).try_flatten();
            let counted = copies.map(move |copies: Result<RecordBatch>| {
                let copies = copies?;
                metrics.record_output(copies.num_rows());
                Ok(copies)
            });
            Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&schema), counted)) as SendableRecordBatchStream
        });
        Ok(streams.collect())
    }
}

/// What copies look like.
#[derive(Clone)]
struct Copying {
    visible: Vec<usize>,
    times: usize,
    has_column: bool,
    is_numbered: bool,
    schema: SchemaRef,
    batch_rows: usize,
}

impl Copying {
    /// The copies of a batch's rows, as they are asked for.
    fn copies(&self, batch: RecordBatch) -> impl Iterator<Item = Result<RecordBatch>> + use<> {
        let row_bytes = slice_bytes(&batch).div_ceil(batch.num_rows().max(1)).max(1);
        let most = (OUTPUT_BYTES / row_bytes).clamp(1, self.batch_rows);
        let (copying, mut row, mut copy, mut is_over) = (self.clone(), 0, 0, false);
        std::iter::from_fn(move || {
            if is_over {
                return None;
            }
            let next = copying.next(&batch, (&mut row, &mut copy), most).transpose();
            is_over = !matches!(next, Some(Ok(_)));
            next
        })
    }

    /// The next copies, from that copy of that row on.
    fn next(
        &self,
        batch: &RecordBatch,
        (row, copy): (&mut usize, &mut i64),
        most: usize,
    ) -> Result<Option<RecordBatch>> {
        let times = batch.column(self.times).as_primitive_opt::<Int64Type>();
        let times = times.ok_or_else(|| DataFusionError::from(crate::bug!("a number of times is no number")))?;
        let (mut rows, mut copies) = (Vec::new(), Vec::new());
        while *row < batch.num_rows() && rows.len() < most {
            let wanted = if times.is_valid(*row) { times.value(*row) } else { 0 };
            if wanted < 0 {
                let told = format!("REPEAT: a row has {wanted}; a number of times is 0 or more");
                return Err(Error::Data(told).into());
            }
            while *copy < wanted && rows.len() < most {
                rows.push(*row as u32);
                copies.push(*copy);
                *copy += 1;
            }
            if *copy >= wanted {
                (*row, *copy) = (*row + 1, 0);
            }
        }
        if rows.is_empty() {
            return Ok(None);
        }
        let taken = take_record_batch(&batch.project(&self.visible)?, &UInt32Array::from(rows))?;
        let mut columns = taken.columns().to_vec();
        if self.has_column {
            columns.push(Arc::new(Int64Array::from_iter_values(copies.iter().map(|copy| copy + 1))) as ArrayRef);
        }
        if self.is_numbered {
            columns.push(Arc::new(UInt64Array::from_iter_values(copies.iter().map(|copy| *copy as u64))));
        }
        let options = arrow::array::RecordBatchOptions::new().with_row_count(Some(copies.len()));
        Ok(Some(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?))
    }
}
