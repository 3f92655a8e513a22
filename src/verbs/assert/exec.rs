//! The checking: rows pass, accumulators of each partition see them, and the last partition to end combines and asks.
//!
//! Invariants: a condition is asked once, over the rows of all partitions. What accumulators hold is claimed from the memory of the
//! run.

use super::verb::Assert;
use crate::Error;
use crate::verb::{RowOrder, SetOperator, Start, Verb};
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, UInt32Array};
use arrow::compute::{filter, take};
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::row::{OwnedRow, RowConverter, SortField};
use arrow::util::display::array_value_to_string;
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::logical_expr::Accumulator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_plan::execution_plan::{CardinalityEffect, EmissionType};
use datafusion::physical_plan::metrics::BaselineMetrics;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, SendableRecordBatchStream};
use futures::StreamExt;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Groups that a message names.
const N_SHOWN: usize = 5;

/// `ASSERT`, planned.
#[derive(Debug, Clone)]
pub(super) struct AssertRows {
    pub verb: Assert,
    pub aggregates: Arc<Vec<PlannedAggregate>>,
    pub conditions: Arc<[PlannedCondition]>,
    /// The columns that make groups.
    pub by: Vec<usize>,
    pub results: SchemaRef,
}

/// A condition over the results of the aggregates.
#[derive(Debug)]
pub(super) struct PlannedCondition {
    pub shown: String,
    pub expr: Arc<dyn PhysicalExpr>,
    /// The aggregates that it is about.
    pub about: Vec<usize>,
}

/// An aggregate over columns of the rows.
#[derive(Debug)]
pub(super) struct PlannedAggregate {
    pub shown: String,
    pub function: Arc<AggregateFunctionExpr>,
    /// The column that says which rows count.
    pub filter: Option<usize>,
}

impl SetOperator for AssertRows {
    fn name(&self) -> &'static str {
        "AssertExec"
    }

    fn details(&self) -> String {
        self.verb.details()
    }

    fn label(&self) -> Option<String> {
        Some(self.verb.request.label.clone())
    }

    fn order(&self) -> RowOrder {
        self.verb.order()
    }

    fn emission(&self, rows: &Arc<dyn ExecutionPlan>) -> EmissionType {
        rows.pipeline_behavior()
    }

    fn cardinality(&self) -> CardinalityEffect {
        CardinalityEffect::Equal
    }

    fn start(&self, start: Start<'_>) -> Result<Vec<SendableRecordBatchStream>> {
        let n_partitions = start.rows.len();
        let all = Arc::new(Mutex::new((n_partitions, None)));
        let rows_schema = start.rows_schema();
        let mut streams: Vec<SendableRecordBatchStream> = Vec::new();
        for (partition, rows) in start.rows.into_iter().enumerate() {
            let reservation = MemoryConsumer::new("AssertExec").register(start.context.memory_pool());
            let checking = Checking {
                rows,
                tally: Some(Tally::new(self, &rows_schema, reservation)?),
                operator: self.clone(),
                all: Arc::clone(&all),
                visible: start.layout.visible.clone(),
                metrics: BaselineMetrics::new(start.metrics, partition),
            };
            let batches = futures::stream::try_unfold(checking, |mut checking| async move {
                let batch = checking.next().await?;
                Ok::<_, DataFusionError>(batch.map(|batch| (batch, checking)))
            });
            streams.push(Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&start.schema), batches)));
        }
        Ok(streams)
    }
}

/// One partition at work.
struct Checking {
    rows: SendableRecordBatchStream,
    /// Until its rows have passed.
    tally: Option<Tally>,
    operator: AssertRows,
    /// Partitions that have not ended, and what the others have seen.
    all: Arc<Mutex<(usize, Option<Tally>)>>,
    visible: Vec<usize>,
    metrics: BaselineMetrics,
}

impl Checking {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        match self.rows.next().await.transpose()? {
            Some(batch) => {
                let _timer = self.metrics.elapsed_compute().timer();
                if let Some(tally) = &mut self.tally {
                    tally.add(&self.operator, &batch)?;
                }
                self.metrics.record_output(batch.num_rows());
                Ok(Some(batch.project(&self.visible)?))
            }
            None => {
                if let Some(tally) = self.tally.take() {
                    self.end(tally)?;
                }
                Ok(None)
            }
        }
    }

    /// Adds what this partition has seen; the last one asks.
    fn end(&self, tally: Tally) -> Result<()> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let (n_left, combined) = &mut *all;
        *n_left -= 1;
        match &mut *combined {
            Some(combined) => combined.combine(&self.operator, tally)?,
            none => *none = Some(tally),
        }
        match combined.take_if(|_| *n_left == 0) {
            Some(combined) => combined.ask(&self.operator),
            None => Ok(()),
        }
    }
}

/// What the accumulators of each group have seen.
struct Tally {
    /// Encodes the values that make a group; `None`: all rows are one.
    keys: Option<RowConverter>,
    groups: HashMap<OwnedRow, usize>,
    accumulators: Vec<Vec<Box<dyn Accumulator>>>,
    reservation: MemoryReservation,
}

impl Tally {
    fn new(operator: &AssertRows, schema: &SchemaRef, reservation: MemoryReservation) -> Result<Self> {
        let fields = operator.by.iter().map(|index| SortField::new(schema.field(*index).data_type().clone()));
        let keys = (!operator.by.is_empty()).then(|| RowConverter::new(fields.collect())).transpose()?;
        let mut tally = Self { keys, groups: HashMap::new(), accumulators: vec![], reservation };
        if tally.keys.is_none() {
            tally.new_group(operator)?;
        }
        Ok(tally)
    }

    fn new_group(&mut self, operator: &AssertRows) -> Result<usize> {
        let accumulators = operator.aggregates.iter().map(|aggregate| aggregate.function.create_accumulator());
        self.accumulators.push(accumulators.collect::<Result<_>>()?);
        Ok(self.accumulators.len() - 1)
    }

    fn group(&mut self, key: OwnedRow, operator: &AssertRows) -> Result<usize> {
        if let Some(group) = self.groups.get(&key) {
            return Ok(*group);
        }
        let group = self.new_group(operator)?;
        self.claim(operator, 2 * key.as_ref().len() + 128)?;
        self.groups.insert(key, group);
        Ok(group)
    }

    fn claim(&self, operator: &AssertRows, n_bytes: usize) -> Result<()> {
        self.reservation.try_grow(n_bytes).map_err(|_| {
            let label = &operator.verb.request.label;
            let told = format!(
                "{label}: what it counts does not fit into the memory of the run; use fewer groups, or no DISTINCT"
            );
            Error::Data(told).into()
        })
    }

    fn add(&mut self, operator: &AssertRows, batch: &RecordBatch) -> Result<()> {
        let mut args = Vec::new();
        for aggregate in operator.aggregates.iter() {
            let values = aggregate
                .function
                .expressions()
                .into_iter()
                .map(|expr| expr.evaluate(batch).and_then(|value| value.into_array(batch.num_rows())));
            args.push(values.collect::<Result<Vec<ArrayRef>>>()?);
        }
        let Some(keys) = &self.keys else { return self.update(operator, 0, batch, &args, None) };
        let columns: Vec<ArrayRef> = operator.by.iter().map(|index| Arc::clone(batch.column(*index))).collect();
        let keys = keys.convert_columns(&columns)?;
        let mut rows_of: HashMap<_, Vec<u32>> = HashMap::new();
        for row in 0..batch.num_rows() {
            rows_of.entry(keys.row(row)).or_default().push(row as u32);
        }
        for (key, rows) in rows_of {
            let group = self.group(key.owned(), operator)?;
            self.update(operator, group, batch, &args, Some(&UInt32Array::from(rows)))?;
        }
        Ok(())
    }

    /// Shows some rows of a batch to the accumulators of a group.
    fn update(
        &mut self,
        operator: &AssertRows,
        group: usize,
        batch: &RecordBatch,
        args: &[Vec<ArrayRef>],
        rows: Option<&UInt32Array>,
    ) -> Result<()> {
        let mut grown = 0;
        let accumulators = self.accumulators.get_mut(group).into_iter().flatten();
        for ((aggregate, args), accumulator) in operator.aggregates.iter().zip(args).zip(accumulators) {
            let of_rows = |array: &ArrayRef| -> Result<ArrayRef> {
                Ok(rows.map_or_else(|| Ok(Arc::clone(array)), |rows| take(array, rows, None))?)
            };
            let mut values = args.iter().map(of_rows).collect::<Result<Vec<_>>>()?;
            if let Some(column) = aggregate.filter {
                let counts = of_rows(batch.column(column))?;
                let counts = counts.as_boolean_opt().ok_or_else(|| crate::bug!("a FILTER is no condition"))?;
                values = values.iter().map(|array| filter(array, counts)).collect::<Result<_, ArrowError>>()?;
            }
            let before = accumulator.size();
            accumulator.update_batch(&values)?;
            grown += accumulator.size().saturating_sub(before);
        }
        if grown > 0 { self.claim(operator, grown) } else { Ok(()) }
    }

    /// Adds what another partition has seen.
    fn combine(&mut self, operator: &AssertRows, other: Tally) -> Result<()> {
        let Tally { groups, mut accumulators, reservation, .. } = other;
        self.reservation.grow(reservation.free());
        let mut merge = |tally: &mut Self, to: usize, from: usize| -> Result<()> {
            let theirs = accumulators.get_mut(from).into_iter().flatten();
            for (own, theirs) in tally.accumulators.get_mut(to).into_iter().flatten().zip(theirs) {
                let state = theirs.state()?.iter().map(ScalarValue::to_array).collect::<Result<Vec<_>>>()?;
                own.merge_batch(&state)?;
            }
            Ok(())
        };
        if self.keys.is_none() {
            return merge(self, 0, 0);
        }
        for (key, from) in groups {
            let to = self.group(key, operator)?;
            merge(self, to, from)?;
        }
        Ok(())
    }

    /// Fails if a condition does not hold for a group.
    fn ask(mut self, operator: &AssertRows) -> Result<()> {
        let mut groups: Vec<(Option<OwnedRow>, usize)> = match &self.keys {
            None => vec![(None, 0)],
            Some(_) => self.groups.drain().map(|(key, group)| (Some(key), group)).collect(),
        };
        groups.sort();
        if groups.is_empty() {
            return Ok(());
        }
        let mut columns = Vec::new();
        for at in 0..operator.aggregates.len() {
            let mut values = Vec::new();
            for (_, group) in &groups {
                let accumulator = self.accumulators.get_mut(*group).and_then(|of_group| of_group.get_mut(at));
                let accumulator = accumulator.ok_or_else(|| crate::bug!("a group has no accumulator"))?;
                values.push(accumulator.evaluate()?);
            }
            columns.push(ScalarValue::iter_to_array(values)?);
        }
        let results = RecordBatch::try_new(Arc::clone(&operator.results), columns)?;
        for condition in operator.conditions.iter() {
            let holds = condition.expr.evaluate(&results)?.into_array(groups.len())?;
            let holds = holds.as_boolean_opt().ok_or_else(|| crate::bug!("a condition is none"))?;
            // Null: it is not known to hold.
            let failed: Vec<usize> =
                (0..groups.len()).filter(|row| holds.is_null(*row) || !holds.value(*row)).collect();
            if !failed.is_empty() {
                return Err(self
                    .failure(operator, condition, (groups.as_slice(), failed.as_slice()), &results)?
                    .into());
            }
        }
        Ok(())
    }

    fn failure(
        &self,
        operator: &AssertRows,
        condition: &PlannedCondition,
        (groups, failed): (&[(Option<OwnedRow>, usize)], &[usize]),
        results: &RecordBatch,
    ) -> Result<Error> {
        let mut lines = Vec::new();
        for row in failed.iter().take(N_SHOWN) {
            let mut facts = Vec::new();
            for at in &condition.about {
                if let Some(aggregate) = operator.aggregates.get(*at) {
                    facts.push(format!("{} is {}", aggregate.shown, value_text(results.column(*at), *row)?));
                }
            }
            let facts = facts.join(", ");
            let group = match (&self.keys, groups.get(*row)) {
                (Some(keys), Some((Some(key), _))) => {
                    let values = keys.convert_rows([key.row()])?;
                    let names = operator.verb.request.by.iter().map(|(_, name)| name);
                    let pairs = names
                        .zip(&values)
                        .map(|(name, value)| Ok::<_, DataFusionError>(format!("{name} = {}", value_text(value, 0)?)));
                    format!("{}: ", pairs.collect::<Result<Vec<_>>>()?.join(", "))
                }
                _ => String::new(),
            };
            lines.push(format!("{group}{facts}"));
        }
        let of_groups = match operator.by.is_empty() {
            true => String::new(),
            false => format!(" for {} of {} groups", failed.len(), groups.len()),
        };
        let more = if failed.len() > N_SHOWN { "; …" } else { "" };
        let told = format!("ASSERT {} does not hold{of_groups}: {}{more}", condition.shown, lines.join("; "));
        Ok(Error::Data(told))
    }
}

fn value_text(column: &ArrayRef, row: usize) -> Result<String> {
    Ok(if column.is_null(row) { "null".to_string() } else { array_value_to_string(column, row)? })
}
