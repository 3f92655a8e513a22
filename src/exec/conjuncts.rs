//! The conditions of a filter, evaluated one after another on the rows still alive.
//!
//! ```text
//! batch ─ words(text) > 50 ─► alive: 1 1 0 1 0 ─ lang(text) = 'en' (on 3 rows) ─► alive: 1 0 0 1 0 ─► 2 rows
//! ```
//! Invariant: a condition never sees a row that an earlier one dropped; false and NULL both drop.
//! A column is copied only when a condition or the output reads it after rows were dropped.
//! Not here: streams and plan properties (`conjunct_filter.rs`), the order of the conditions (`physical`).

use super::text_bytes::text_bytes_per_row;
use crate::Error;
use arrow::array::{Array, ArrayRef, BooleanArray, BooleanBufferBuilder, RecordBatch, RecordBatchOptions};
use arrow::buffer::BooleanBuffer;
use arrow::compute::{FilterBuilder, FilterPredicate, prep_null_mask_filter};
use arrow::datatypes::SchemaRef;
use datafusion::common::ScalarValue;
use datafusion::common::cast::as_boolean_array;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{Column, LambdaExpr, Literal};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr_common::physical_expr::fmt_sql;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet, Time};
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// One condition, ready to run on just the columns that it reads.
#[derive(Debug, Clone)]
pub(super) struct Conjunct {
    /// As planned, over the input's columns.
    pub expr: Arc<dyn PhysicalExpr>,
    /// As a user would write it.
    pub label: String,
    columns: Vec<usize>,
    schema: SchemaRef,
    narrowed: Arc<dyn PhysicalExpr>,
}

impl Conjunct {
    /// Prepares `expr` over the columns of `input`.
    pub fn new(expr: Arc<dyn PhysicalExpr>, input: &Arc<dyn ExecutionPlan>) -> Result<Self> {
        let label = label(&expr, input.as_ref())?;
        let input = input.schema();
        let mut columns: Vec<usize> = collect_columns(&expr).iter().map(Column::index).collect();
        columns.sort_unstable();
        columns.dedup();
        // A lambda's variables are numbered after the input's columns, so those columns must stay where they are.
        if expr.exists(|node| Ok(node.is::<LambdaExpr>()))? {
            columns = (0..input.fields().len()).collect();
        }
        let narrowed = Arc::clone(&expr)
            .transform(|node| {
                let Some(column) = node.downcast_ref::<Column>() else { return Ok(Transformed::no(node)) };
                let Ok(place) = columns.binary_search(&column.index()) else {
                    return Err(crate::bug!("column {column} of `{label}` was not collected").into());
                };
                Ok(Transformed::yes(Arc::new(Column::new(column.name(), place)) as Arc<dyn PhysicalExpr>))
            })?
            .data;
        let schema = Arc::new(input.project(&columns)?);
        Ok(Self { expr, label, columns, schema, narrowed })
    }

    /// Which of the rows still alive the condition keeps. `None`: all.
    fn evaluate(&self, rows: &mut AliveRows<'_>) -> Result<Option<BooleanArray>> {
        let columns = self.columns.iter().map(|&column| rows.column(column)).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.n_alive));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?;
        let keep = match self.narrowed.evaluate(&batch)? {
            ColumnarValue::Scalar(ScalarValue::Boolean(Some(true))) => return Ok(None),
            ColumnarValue::Scalar(_) => BooleanArray::from(vec![false; rows.n_alive]),
            ColumnarValue::Array(array) => as_boolean_array(&array)?.clone(),
        };
        let keep = if keep.null_count() > 0 { prep_null_mask_filter(&keep) } else { keep };
        Ok((keep.true_count() < rows.n_alive).then_some(keep))
    }

    /// An error that says in which condition it happened. Errors of ours already say what a user needs.
    fn locate(&self, error: DataFusionError) -> DataFusionError {
        match Error::from(error) {
            Error::Data(message) => Error::Data(format!("{message}\nin the condition `{}`", self.label)).into(),
            ours => ours.into(),
        }
    }
}

/// A condition as a user would write it: texts in quotes, and in the place of a column that the optimizer made for
/// an expression used twice, that expression.
fn label(expr: &Arc<dyn PhysicalExpr>, input: &dyn ExecutionPlan) -> Result<String> {
    let shared: &[ProjectionExpr] = input.downcast_ref::<ProjectionExec>().map_or(&[], |made| made.expr());
    let written = Arc::clone(expr).transform_down(|node| {
        let text = node.downcast_ref::<Literal>().and_then(|literal| literal.value().try_as_str().flatten());
        if let Some(text) = text {
            // A column is shown by its name, whatever that is.
            let quoted = Column::new(&format!("'{}'", text.replace('\'', "''")), 0);
            return Ok(Transformed::yes(Arc::new(quoted) as Arc<dyn PhysicalExpr>));
        }
        let made = node
            .downcast_ref::<Column>()
            .filter(|column| column.name().starts_with("__common_expr"))
            .and_then(|column| shared.iter().find(|made| made.alias == column.name()));
        Ok(match made {
            Some(made) => Transformed::yes(Arc::clone(&made.expr)),
            None => Transformed::no(node),
        })
    })?;
    Ok(fmt_sql(written.data.as_ref()).to_string())
}

/// What one condition did so far, in all partitions.
#[derive(Debug, Clone, PartialEq)]
pub struct ConjunctCounts {
    /// The condition as a user would write it.
    pub label: String,
    /// Rows that it looked at.
    pub rows_in: u64,
    /// Rows for which it was false or NULL.
    pub rows_dropped: u64,
    /// Bytes of text in the rows that it looked at.
    pub text_bytes_in: u64,
    /// Bytes of text in the rows that it dropped.
    pub text_bytes_dropped: u64,
    /// Time spent in it.
    pub elapsed: Duration,
}

/// The counters of one condition in one partition.
pub(super) struct ConjunctMetrics {
    rows_in: Count,
    rows_dropped: Count,
    text_bytes_in: Count,
    text_bytes_dropped: Count,
    elapsed: Time,
}

impl ConjunctMetrics {
    pub fn new(metrics: &ExecutionPlanMetricsSet, index: usize, partition: usize) -> Self {
        Self {
            rows_in: MetricBuilder::new(metrics).counter(format!("conjunct_{index}_in"), partition),
            rows_dropped: MetricBuilder::new(metrics).counter(format!("conjunct_{index}_dropped"), partition),
            text_bytes_in: MetricBuilder::new(metrics).counter(format!("conjunct_{index}_bytes_in"), partition),
            text_bytes_dropped: MetricBuilder::new(metrics)
                .counter(format!("conjunct_{index}_bytes_dropped"), partition),
            elapsed: MetricBuilder::new(metrics).subset_time(format!("conjunct_{index}_time"), partition),
        }
    }
}

/// The counters of all partitions, added up.
pub(super) fn counts(conjuncts: &[Conjunct], metrics: &MetricsSet) -> Vec<ConjunctCounts> {
    let sum = |index: usize, what: &str| {
        metrics.sum_by_name(&format!("conjunct_{index}_{what}")).map_or(0, |value| value.as_usize() as u64)
    };
    let count = |(index, conjunct): (usize, &Conjunct)| ConjunctCounts {
        label: conjunct.label.clone(),
        rows_in: sum(index, "in"),
        rows_dropped: sum(index, "dropped"),
        text_bytes_in: sum(index, "bytes_in"),
        text_bytes_dropped: sum(index, "bytes_dropped"),
        elapsed: Duration::from_nanos(sum(index, "time")),
    };
    conjuncts.iter().enumerate().map(count).collect()
}

/// The rows of `batch` for which every condition holds, with the columns `output` (all if `None`).
pub(super) fn filter(
    batch: &RecordBatch,
    conjuncts: &[Conjunct],
    metrics: &[ConjunctMetrics],
    output: Option<&[usize]>,
    output_schema: &SchemaRef,
) -> Result<RecordBatch> {
    let mut rows = AliveRows::new(batch);
    for (conjunct, metrics) in conjuncts.iter().zip(metrics) {
        if rows.n_alive == 0 {
            break;
        }
        let _timer = metrics.elapsed.timer();
        let n_before = rows.n_alive;
        let bytes_before: u64 = rows.text_bytes.iter().sum();
        metrics.rows_in.add(n_before);
        metrics.text_bytes_in.add(bytes_before as usize);
        if let Some(keep) = conjunct.evaluate(&mut rows).map_err(|error| conjunct.locate(error))? {
            rows.keep(&keep);
            metrics.rows_dropped.add(n_before - rows.n_alive);
            metrics.text_bytes_dropped.add((bytes_before - rows.text_bytes.iter().sum::<u64>()) as usize);
        }
    }
    let columns = match output {
        Some(indices) => indices.iter().map(|&index| rows.column(index)).collect::<Result<Vec<_>>>()?,
        None => (0..batch.num_columns()).map(|index| rows.column(index)).collect::<Result<Vec<_>>>()?,
    };
    let options = RecordBatchOptions::new().with_row_count(Some(rows.n_alive));
    Ok(RecordBatch::try_new_with_options(Arc::clone(output_schema), columns, &options)?)
}

/// A batch and which of its rows are alive; columns are cut down to those rows when they are asked for.
struct AliveRows<'a> {
    batch: &'a RecordBatch,
    n_alive: usize,
    /// `None` while every row is alive.
    alive: Option<(BooleanBuffer, FilterPredicate)>,
    cut: HashMap<usize, ArrayRef>,
    /// Bytes of text in each row alive.
    text_bytes: Vec<u64>,
}

impl<'a> AliveRows<'a> {
    fn new(batch: &'a RecordBatch) -> Self {
        Self {
            batch,
            n_alive: batch.num_rows(),
            alive: None,
            cut: HashMap::new(),
            text_bytes: text_bytes_per_row(batch),
        }
    }

    /// The alive rows of one column.
    fn column(&mut self, index: usize) -> Result<ArrayRef> {
        let Some((_, predicate)) = &self.alive else { return Ok(Arc::clone(self.batch.column(index))) };
        if let Some(array) = self.cut.get(&index) {
            return Ok(Arc::clone(array));
        }
        let array = predicate.filter(self.batch.column(index))?;
        self.cut.insert(index, Arc::clone(&array));
        Ok(array)
    }

    /// Drops the alive rows for which `keep` is false. `keep` has no NULLs and one value for each alive row.
    fn keep(&mut self, keep: &BooleanArray) {
        let alive = match &self.alive {
            None => keep.values().clone(),
            Some((alive, _)) => {
                let mut still_alive = BooleanBufferBuilder::new(alive.len());
                still_alive.append_n(alive.len(), false);
                for (row, kept) in alive.set_indices().zip(keep.values()) {
                    still_alive.set_bit(row, kept);
                }
                still_alive.finish()
            }
        };
        let mut kept = keep.values().iter();
        self.text_bytes.retain(|_| kept.next().unwrap_or(false));
        self.n_alive = alive.count_set_bits();
        self.cut.clear();
        let predicate = FilterBuilder::new(&BooleanArray::new(alive.clone(), None)).optimize().build();
        self.alive = Some((alive, predicate));
    }
}
