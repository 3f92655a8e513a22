//! One partition of a node for models at work.

use super::counts::Metrics;
use super::gathering::Gathering;
use super::group::{InUse, ModelGroup};
use super::{ModelExec, Source};
use crate::config::format_bytes;
use crate::exec::annotate::{Failure, guarded, set_aside};
use crate::exec::coalesce::BatchSize;
use crate::models;
use crate::sources::RejectLog;
use crate::{Result, bug};
use arrow::array::{ArrayRef, AsArray, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::compute::{concat_batches, filter_record_batch};
use arrow::datatypes::SchemaRef;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::physical_plan::ExecutionPlan;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Gathers rows and runs models on them.
pub(super) struct Worker {
    schema: SchemaRef,
    sources: Vec<Source>,
    groups: Vec<Arc<ModelGroup>>,
    in_use: Vec<Option<InUse>>,
    gathering: Gathering,
    target: BatchSize,
    /// What the models work with.
    claim: MemoryReservation,
    context: Arc<TaskContext>,
    rejects: Option<Arc<RejectLog>>,
    metrics: Metrics,
}

/// What came of a batch.
enum Outcome {
    /// Its columns, and the rows that are set aside.
    Done(Vec<ArrayRef>, BTreeMap<usize, String>),
    /// There is no memory for so many rows at once.
    TooLarge(String),
}

impl Worker {
    pub fn new(node: &ModelExec, partition: usize, context: Arc<TaskContext>, rejects: Option<Arc<RejectLog>>) -> Self {
        let least = |of: fn(&ModelGroup) -> usize| node.groups.iter().map(|group| of(group)).min().unwrap_or(1).max(1);
        let target = BatchSize {
            rows: least(|group| group.facts().batch.rows),
            bytes: least(|group| group.facts().batch.bytes),
        };
        let mut columns: Vec<usize> = node.groups.iter().flat_map(|group| group.columns()).copied().collect();
        columns.sort_unstable();
        columns.dedup();
        Self {
            schema: node.schema(),
            sources: node.sources.clone(),
            groups: node.groups.clone(),
            in_use: vec![None; node.groups.len()],
            gathering: Gathering::new(node.input.schema(), target, columns),
            target,
            claim: MemoryConsumer::new("ModelExec").register(context.memory_pool()),
            context,
            rejects,
            metrics: Metrics::new(&node.metrics, partition),
        }
    }

    /// Adds rows to those that wait.
    pub fn gather(&mut self, batch: RecordBatch) {
        self.gathering.push(batch);
    }

    /// The next rows to compute, if there are enough.
    pub fn next_batch(&mut self, is_end: bool) -> Result<Option<RecordBatch>> {
        let batch = self.gathering.take(is_end)?;
        if let Some(batch) = &batch {
            self.metrics.rows.add(batch.num_rows());
            self.metrics.batches.add(1);
            let by_rows = batch.num_rows() as f64 / self.target.rows as f64;
            let by_bytes = self.gathering.bytes_of(batch) as f64 / self.target.bytes as f64;
            self.metrics.fill_permille.add((by_rows.max(by_bytes).min(1.0) * 1000.0) as usize);
        }
        Ok(batch)
    }

    /// The columns of a batch, without the rows that models do not take. Where memory for it is refused it is halved, and where a model
    /// panics, to find the document.
    pub fn run(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        let outcome = guarded(|| self.compute(batch));
        self.claim.free();
        let only_row = batch.num_rows() <= 1;
        match outcome {
            Ok(Ok(Outcome::Done(columns, rejected))) => return self.finish(batch, columns, &rejected),
            Ok(Ok(Outcome::TooLarge(reason))) if only_row => {
                self.metrics.set_aside.add(batch.num_rows());
                set_aside(self.rejects.as_deref(), batch, &Failure::Refused(reason))?;
                return Ok(RecordBatch::new_empty(Arc::clone(&self.schema)));
            }
            Ok(Ok(Outcome::TooLarge(_))) => self.metrics.halved.add(1),
            Ok(Err(error)) => return Err(error),
            Err(panic) if only_row => {
                self.metrics.set_aside.add(batch.num_rows());
                set_aside(self.rejects.as_deref(), batch, &Failure::Panic(panic))?;
                return Ok(RecordBatch::new_empty(Arc::clone(&self.schema)));
            }
            Err(panic) => tracing::warn!("{panic}: looking for the document"),
        }
        let half = batch.num_rows() / 2;
        let first = self.run(&batch.slice(0, half))?;
        let second = self.run(&batch.slice(half, batch.num_rows() - half))?;
        concat_batches(&self.schema, [&first, &second]).map_err(|error| bug!("two halves of a batch: {error}"))
    }

    fn compute(&mut self, batch: &RecordBatch) -> Result<Outcome> {
        let mut made: Vec<Vec<ArrayRef>> = Vec::with_capacity(self.groups.len());
        let mut rejected: BTreeMap<usize, String> = BTreeMap::new();
        for (at, group) in self.groups.iter().enumerate() {
            let columns: Vec<ArrayRef> = group.columns().iter().map(|column| batch.column(*column).clone()).collect();
            let when = group.when().map(|column| wanted(batch, column)).transpose()?;
            let rows = models::model_rows(&columns, when)?;
            if rows.rows().is_empty() {
                let computed = models::nothing(group.models(), &rows);
                made.push(computed.columns);
                rejected.extend(computed.rejected);
                continue;
            }
            let in_use = match &self.in_use[at] {
                Some(in_use) => in_use.clone(),
                None => self.in_use[at].insert(group.in_use(&self.context)?).clone(),
            };
            let work_bytes = in_use.model.model().work_bytes(rows.rows());
            if self.claim.try_resize(work_bytes).is_err() {
                return Ok(Outcome::TooLarge(format!(
                    "`{}` needs {} to compute it, and the memory limit leaves less; raise it with --memory",
                    group.label(),
                    format_bytes(work_bytes)
                )));
            }
            let computed = models::compute(in_use.model.model(), group.models(), &rows)?;
            made.push(computed.columns);
            for (row, reason) in computed.rejected {
                rejected.entry(row).or_insert_with(|| format!("`{}`: {reason}", group.label()));
            }
        }
        let columns = self.sources.iter().map(|source| match *source {
            Source::Input(column) => Ok(Arc::clone(batch.column(column))),
            Source::Model { group, place } => {
                let column = made.get(group).and_then(|columns| columns.get(place));
                column.cloned().ok_or_else(|| bug!("model {place} of group {group} gave no column"))
            }
        });
        Ok(Outcome::Done(columns.collect::<Result<_>>()?, rejected))
    }

    fn finish(
        &mut self,
        batch: &RecordBatch,
        columns: Vec<ArrayRef>,
        rejected: &BTreeMap<usize, String>,
    ) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let done = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map_err(|error| bug!("the columns of models: {error}"))?;
        if rejected.is_empty() {
            return Ok(done);
        }
        for (row, reason) in rejected {
            set_aside(self.rejects.as_deref(), &batch.slice(*row, 1), &Failure::Refused(reason.clone()))?;
        }
        self.metrics.set_aside.add(rejected.len());
        let kept: BooleanArray = (0..batch.num_rows()).map(|row| Some(!rejected.contains_key(&row))).collect();
        filter_record_batch(&done, &kept).map_err(|error| bug!("rows that models take: {error}"))
    }
}

/// The column that says which rows are wanted.
fn wanted(batch: &RecordBatch, column: usize) -> Result<&BooleanArray> {
    batch.column(column).as_boolean_opt().ok_or_else(|| bug!("column {column} does not say which rows are wanted"))
}
