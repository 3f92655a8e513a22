//! The stream of an [`AnnotateExec`]: batch by batch through the program.

use super::AnnotateExec;
use super::counts::Metrics;
use super::dropped::DropRecorder;
use super::order::RuleOrder;
use super::program::{Program, Rule};
use super::rows::Rows;
use crate::Error;
use crate::exec::coalesce::{BatchSize, Coalescer};
use crate::exec::text_bytes::text_bytes_per_row;
use arrow::array::{BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use datafusion::error::{DataFusionError, Result};
use datafusion::physical_plan::metrics::BaselineMetrics;
use datafusion::physical_plan::{ExecutionPlan, RecordBatchStream, SendableRecordBatchStream};
use futures::{Stream, StreamExt};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

pub(super) struct AnnotateStream {
    program: Arc<Program>,
    order: Arc<RuleOrder>,
    learn: bool,
    schema: SchemaRef,
    rows_to_fetch: Option<usize>,
    coalescer: Coalescer,
    /// `None` once it ended or nothing more is needed; its resources are then free.
    input: Option<SendableRecordBatchStream>,
    recorder: Option<DropRecorder>,
    metrics: Metrics,
    baseline: BaselineMetrics,
}

impl AnnotateStream {
    pub fn new(
        node: &AnnotateExec,
        target: BatchSize,
        input: SendableRecordBatchStream,
        recorder: Option<DropRecorder>,
        partition: usize,
    ) -> Self {
        Self {
            program: Arc::clone(&node.program),
            order: Arc::clone(&node.order),
            learn: node.options.learn && recorder.is_none() && node.program.rules.len() > 1,
            schema: node.schema(),
            rows_to_fetch: node.options.fetch,
            coalescer: Coalescer::new(node.schema(), target),
            input: Some(input),
            recorder,
            metrics: Metrics::new(&node.program, &node.metrics, partition),
            baseline: BaselineMetrics::new(&node.metrics, partition),
        }
    }

    fn annotate(&mut self, batch: &RecordBatch) -> Result<Option<RecordBatch>> {
        let mut done = self.run(batch)?;
        if let Some(rows_to_fetch) = &mut self.rows_to_fetch {
            done = done.slice(0, done.num_rows().min(*rows_to_fetch));
            *rows_to_fetch -= done.num_rows();
            if *rows_to_fetch == 0 {
                self.input = None;
            }
        }
        self.coalescer.push(done)
    }

    /// The program on one batch.
    fn run(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        let program = Arc::clone(&self.program);
        let mut rows = Rows::new(&program, batch);
        let mut text_bytes = if program.rules.is_empty() { vec![] } else { text_bytes_per_row(batch) };
        self.metrics.rows_in.add(batch.num_rows());
        self.metrics.text_bytes_in.add(text_bytes.iter().sum::<u64>() as usize);
        if self.recorder.as_ref().is_some_and(DropRecorder::wants_all) {
            self.apply_all(batch, &mut rows, &text_bytes)?;
        } else {
            for &index in self.order.current().iter() {
                if rows.n_alive == 0 {
                    break;
                }
                self.apply(index, &mut rows, &mut text_bytes).map_err(|error| locate(&program.rules[index], error))?;
            }
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.end_batch(&program, batch)?;
        }
        if self.learn {
            self.order.learn(&program, batch.num_rows());
        }
        let mut columns = Vec::with_capacity(program.outputs.len());
        for output in &program.outputs {
            if rows.n_alive == 0 {
                return Ok(RecordBatch::new_empty(Arc::clone(&self.schema)));
            }
            for step in output.columns.iter().flat_map(|&column| program.steps_for(column)) {
                self.ensure(step, &mut rows)?;
            }
            columns.push(rows.values(output)?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows.n_alive));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }

    fn apply(&mut self, index: usize, rows: &mut Rows<'_>, text_bytes: &mut Vec<u64>) -> Result<()> {
        let program = Arc::clone(&self.program);
        let rule = &program.rules[index];
        for &step in &rule.needs {
            self.ensure(step, rows)?;
        }
        let n_before = rows.n_alive;
        let started = Instant::now();
        let keep = rows.holds(&rule.condition)?;
        if let (Some(recorder), Some(keep)) = (&mut self.recorder, &keep) {
            recorder.note(index, &program, rows, keep)?;
        }
        let metrics = &self.metrics.rules[index];
        metrics.rows_evaluated.add(n_before);
        if let Some(keep) = keep {
            rows.keep(&keep);
            let bytes_before: u64 = text_bytes.iter().sum();
            let mut kept = keep.values().iter();
            text_bytes.retain(|_| kept.next().unwrap_or(false));
            metrics.rows_dropped.add(n_before - rows.n_alive);
            metrics.text_bytes_dropped.add((bytes_before - text_bytes.iter().sum::<u64>()) as usize);
        }
        let elapsed = started.elapsed();
        metrics.elapsed.add_duration(elapsed);
        self.order.saw_rule(index, n_before, rows.n_alive, elapsed);
        Ok(())
    }

    /// Every rule on every row, so that the ledger can name all that a row fails. A rule that can fail still sees only
    /// rows that those before it keep.
    fn apply_all(&mut self, batch: &RecordBatch, rows: &mut Rows<'_>, text_bytes: &[u64]) -> Result<()> {
        let program = Arc::clone(&self.program);
        let mut keeps = vec![true; batch.num_rows()];
        for (index, rule) in program.rules.iter().enumerate() {
            let failing = if rule.can_fail {
                let mut guarded = Rows::new(&program, batch);
                guarded.keep(&BooleanArray::from(keeps.clone()));
                self.note_failing(index, &mut guarded)
            } else {
                self.note_failing(index, rows)
            };
            let failing = failing.map_err(|error| locate(rule, error))?;
            let metrics = &self.metrics.rules[index];
            for place in failing.into_iter().filter(|place| std::mem::replace(&mut keeps[*place as usize], false)) {
                metrics.rows_dropped.add(1);
                metrics.text_bytes_dropped.add(text_bytes[place as usize] as usize);
            }
        }
        rows.keep(&BooleanArray::from(keeps));
        Ok(())
    }

    /// Writes down the rows that fail a rule; gives their places in the batch.
    fn note_failing(&mut self, index: usize, rows: &mut Rows<'_>) -> Result<Vec<u32>> {
        let program = Arc::clone(&self.program);
        let rule = &program.rules[index];
        if rows.n_alive == 0 {
            return Ok(vec![]);
        }
        for &step in &rule.needs {
            self.ensure(step, rows)?;
        }
        self.metrics.rules[index].rows_evaluated.add(rows.n_alive);
        let _timer = self.metrics.rules[index].elapsed.timer();
        let Some(keep) = rows.holds(&rule.condition)? else { return Ok(vec![]) };
        if let Some(recorder) = &mut self.recorder {
            recorder.note(index, &program, rows, &keep)?;
        }
        let failing = keep.values().iter().enumerate().filter(|(_, kept)| !kept);
        Ok(failing.map(|(row, _)| rows.places().map_or(row as u32, |places| places[row])).collect())
    }

    fn ensure(&self, step: usize, rows: &mut Rows<'_>) -> Result<()> {
        if rows.has_run(step) {
            return Ok(());
        }
        let started = Instant::now();
        rows.run(step)?;
        let elapsed = started.elapsed();
        let metrics = &self.metrics.steps[step];
        metrics.rows.add(rows.n_alive);
        metrics.elapsed.add_duration(elapsed);
        self.order.saw_step(step, rows.n_alive, elapsed);
        Ok(())
    }

    fn poll_batch(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<RecordBatch>>> {
        while let Some(input) = &mut self.input {
            match ready!(input.poll_next_unpin(cx)) {
                Some(Ok(batch)) => {
                    let elapsed = self.baseline.elapsed_compute().clone();
                    let _timer = elapsed.timer();
                    if let Some(done) = self.annotate(&batch).transpose() {
                        return Poll::Ready(Some(done));
                    }
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => self.input = None,
            }
        }
        Poll::Ready(self.coalescer.flush().transpose())
    }
}

/// An error that says in which condition it happened. Errors of ours already say what a user needs.
fn locate(rule: &Rule, error: DataFusionError) -> DataFusionError {
    match Error::from(error) {
        Error::Data(message) => Error::Data(format!("{message}\nin the condition `{}`", rule.label)).into(),
        ours => ours.into(),
    }
}

impl Stream for AnnotateStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.poll_batch(cx);
        self.baseline.record_poll(polled)
    }
}

impl RecordBatchStream for AnnotateStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
