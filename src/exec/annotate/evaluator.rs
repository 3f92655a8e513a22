//! A program on one batch after the other, with its counters, the order of its rules and the drop ledger.
//!
//! On the CPU here; what a device computed is finished here too, so that both count and record the same.

use super::AnnotateExec;
use super::apart::{Apart, Late};
use super::changes::{self, Change, n_differing};
use super::counts::Metrics;
use super::dropped::DropRecorder;
use super::order::RuleOrder;
use super::program::{Program, Rule};
use super::rows::LiveRows;
use super::set_aside::{Failure, guarded, set_aside};
use crate::Error;
use crate::sources::{FileScanExec, RejectLog, text_bytes_per_row};
use arrow::array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::compute::{concat_batches, filter};
use arrow::datatypes::SchemaRef;
use datafusion::error::{DataFusionError, Result};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use std::sync::Arc;
use std::time::Instant;

/// So many documents in turn are not all to blame for what an expression cannot do with them.
const TELLING_ROWS: usize = 32;

/// Runs the program of one partition.
pub(in crate::exec) struct Evaluator {
    program: Arc<Program>,
    order: Arc<RuleOrder>,
    learn: bool,
    schema: SchemaRef,
    recorder: Option<DropRecorder>,
    metrics: Metrics,
    changes: Vec<Change>,
    /// Whether a row is a document of a source, and not a group of them or a value of the query's own.
    reads_documents: bool,
    /// What an expression failed with last, in the batch under way.
    last_failure: Option<String>,
    rejects: Option<Arc<RejectLog>>,
    apart: Arc<Apart>,
}

/// What a device computed for the rows of a batch.
pub(in crate::exec) struct Computed {
    /// For each row the rule that dropped it, or a negative number. `None`: the program has no rules.
    pub dropped_by: Option<Vec<i32>>,
    /// For each output that is no column of the input, its place among the outputs and its values for the rows left.
    pub outputs: Vec<(usize, ArrayRef)>,
}

impl Evaluator {
    pub(super) fn new(
        node: &AnnotateExec,
        recorder: Option<DropRecorder>,
        rejects: Option<Arc<RejectLog>>,
        apart: Apart,
        partition: usize,
    ) -> Self {
        let changes = changes::of_program(&node.program, &node.schema());
        Self {
            program: Arc::clone(&node.program),
            order: Arc::clone(&node.order),
            learn: node.options.learn && recorder.is_none() && node.program.rules.len() > 1,
            schema: node.schema(),
            recorder,
            metrics: Metrics::new(&node.program, &changes, &node.metrics, partition),
            changes,
            reads_documents: reads_documents(node.input()),
            last_failure: None,
            rejects,
            apart: Arc::new(apart),
        }
    }

    /// Whether every rule is to be evaluated on every row, for the ledger.
    pub fn wants_all(&self) -> bool {
        self.recorder.as_ref().is_some_and(DropRecorder::wants_all)
    }

    /// The program on one batch. A document on which an operator panics, an expression fails or work takes too long is set
    /// aside, the others go on. An expression that fails on each of many documents is wrong itself: its error ends the run.
    pub fn run(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        self.last_failure = None;
        let n_before = self.metrics.set_aside.value();
        let done = self.run_or_halve(batch)?;
        let n_failed = self.metrics.set_aside.value() - n_before;
        match self.last_failure.take() {
            Some(failure) if n_failed == batch.num_rows() && n_failed >= TELLING_ROWS => {
                Err(Error::Data(format!("{failure}\nit fails on each of {n_failed} documents in turn")).into())
            }
            _ => Ok(done),
        }
    }

    fn run_or_halve(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        let counted = self.metrics.counted();
        let failure = match guarded(|| self.run_unguarded(batch)) {
            Ok(Ok(done)) => return Ok(done),
            Ok(Err(error)) => Failure::of_row(error, self.reads_documents)?,
            Err(panic) => Failure::Panic(panic),
        };
        if let Failure::Expression(_) = &failure {
            self.last_failure = Some(failure.to_string());
        }
        self.metrics.take_back_to(&counted);
        if let Some(recorder) = &mut self.recorder {
            recorder.forget_batch();
        }
        let n_rows = batch.num_rows();
        if n_rows <= 1 {
            set_aside(self.rejects.as_deref(), batch, &failure)?;
            self.metrics.set_aside.add(n_rows);
            return Ok(RecordBatch::new_empty(Arc::clone(&self.schema)));
        }
        if !matches!(failure, Failure::Expression(_)) {
            tracing::warn!("{failure}: looking for the document");
        }
        let n_before = self.metrics.set_aside.value();
        let part_rows = match failure {
            Failure::Panic(_) | Failure::Expression(_) | Failure::Refused(_) => n_rows.div_ceil(2),
            // Halves would wait for the same document again and again.
            Failure::Late(_) => 1,
        };
        let parts = (0..n_rows).step_by(part_rows);
        let parts = parts.map(|start| self.run_or_halve(&batch.slice(start, part_rows.min(n_rows - start))));
        let parts = parts.collect::<Result<Vec<_>>>()?;
        if matches!(failure, Failure::Late(_)) && self.metrics.set_aside.value() == n_before {
            self.apart.have_patience();
        }
        Ok(concat_batches(&self.schema, &parts)?)
    }

    fn run_unguarded(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        let (program, apart) = (Arc::clone(&self.program), Arc::clone(&self.apart));
        let mut rows = LiveRows::new(&program, batch, &apart);
        let mut text_bytes = if program.rules.is_empty() { vec![] } else { text_bytes_per_row(batch) };
        self.metrics.rows_in.add(batch.num_rows());
        self.metrics.text_bytes_in.add(text_bytes.iter().sum::<u64>() as usize);
        if self.wants_all() {
            self.apply_all(batch, &mut rows, &text_bytes)?;
        } else {
            let order = self.order.current();
            for (at, &index) in order.iter().enumerate() {
                if rows.n_alive == 0 {
                    break;
                }
                self.apply(&order[at..], &mut rows, &mut text_bytes)
                    .map_err(|error| locate(&program.rules[index], error))?;
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
                self.ensure(step, &mut rows, &[])?;
            }
            columns.push(rows.values(output)?);
        }
        for (change, count) in self.changes.iter().zip(&self.metrics.changed) {
            count.add(n_differing(&rows.column(change.input)?, &columns[change.output]));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows.n_alive));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }

    /// Drops the rows that the first of these rules does not keep; the others come after it.
    fn apply(&mut self, rules: &[usize], rows: &mut LiveRows<'_>, text_bytes: &mut Vec<u64>) -> Result<()> {
        let Some(&index) = rules.first() else { return Ok(()) };
        let program = Arc::clone(&self.program);
        let rule = &program.rules[index];
        for &step in &rule.needs {
            self.ensure(step, rows, rules)?;
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
    fn apply_all(&mut self, batch: &RecordBatch, rows: &mut LiveRows<'_>, text_bytes: &[u64]) -> Result<()> {
        let (program, apart) = (Arc::clone(&self.program), Arc::clone(&self.apart));
        let mut keeps = vec![true; batch.num_rows()];
        for (index, rule) in program.rules.iter().enumerate() {
            let failing = if rule.can_fail {
                let mut guarded = LiveRows::new(&program, batch, &apart);
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
    fn note_failing(&mut self, index: usize, rows: &mut LiveRows<'_>) -> Result<Vec<u32>> {
        let program = Arc::clone(&self.program);
        let rule = &program.rules[index];
        if rows.n_alive == 0 {
            return Ok(vec![]);
        }
        for &step in &rule.needs {
            self.ensure(step, rows, &[])?;
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

    /// Runs a step if it has not run. `rules` are those that will run next, in their order, as far as that is known.
    fn ensure(&self, step: usize, rows: &mut LiveRows<'_>, rules: &[usize]) -> Result<()> {
        if rows.has_run(step) {
            return Ok(());
        }
        let started = Instant::now();
        rows.run(step, &self.program.gates(step, rules))?;
        let elapsed = started.elapsed();
        let metrics = &self.metrics.steps[step];
        metrics.rows.add(rows.n_alive);
        metrics.elapsed.add_duration(elapsed);
        self.order.saw_step(step, rows.n_alive, elapsed);
        Ok(())
    }

    /// The rows that are left of a batch, given what a device computed: counted and recorded as if the rules had run
    /// here.
    pub fn finish(&mut self, batch: &RecordBatch, computed: Computed) -> Result<RecordBatch> {
        let program = Arc::clone(&self.program);
        let keep = self.account(batch, computed.dropped_by.as_deref())?;
        let cut = |column: &ArrayRef| match &keep {
            Some(keep) => filter(column, keep),
            None => Ok(Arc::clone(column)),
        };
        let n_kept = keep.as_ref().map_or(batch.num_rows(), BooleanArray::true_count);
        let mut made = computed.outputs.into_iter().peekable();
        let mut columns = Vec::with_capacity(program.outputs.len());
        for (place, output) in program.outputs.iter().enumerate() {
            columns.push(match (made.next_if(|(of, _)| *of == place), output.as_column()) {
                (Some((_, values)), _) => values,
                (None, Some(column)) if column < program.n_inputs => cut(batch.column(column))?,
                (None, _) if output.columns.is_empty() => output.evaluate(vec![], n_kept)?.into_array(n_kept)?,
                (None, _) => return Err(crate::bug!("output {place} was not computed on the device").into()),
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(n_kept));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }

    /// Counts and records a batch of which a device says which rule drops each row; the rows that are left.
    pub fn account(&mut self, batch: &RecordBatch, dropped_by: Option<&[i32]>) -> Result<Option<BooleanArray>> {
        self.count(batch, dropped_by.unwrap_or_default());
        let kept = |dropped_by: &[i32]| BooleanArray::from_iter(dropped_by.iter().map(|rule| Some(*rule < 0)));
        let keep = dropped_by.map(kept);
        if self.recorder.is_some() {
            match &keep {
                Some(keep) => self.record(batch, keep)?,
                None => self.record(batch, &BooleanArray::from(vec![true; batch.num_rows()]))?,
            }
        }
        Ok(keep)
    }

    /// Counts what each rule did, as far as the rows show it.
    fn count(&self, batch: &RecordBatch, dropped_by: &[i32]) {
        let text_bytes = text_bytes_per_row(batch);
        self.metrics.rows_in.add(batch.num_rows());
        self.metrics.text_bytes_in.add(text_bytes.iter().sum::<u64>() as usize);
        let mut n_left = batch.num_rows();
        for (index, metrics) in self.metrics.rules.iter().enumerate() {
            metrics.rows_evaluated.add(n_left);
            let dropped = dropped_by.iter().zip(&text_bytes).filter(|(rule, _)| **rule == index as i32);
            for (_, n_bytes) in dropped {
                n_left -= 1;
                metrics.rows_dropped.add(1);
                metrics.text_bytes_dropped.add(*n_bytes as usize);
            }
        }
        for metrics in &self.metrics.steps {
            metrics.rows.add(batch.num_rows());
        }
    }

    /// Writes the dropped rows into the ledger. Their values are computed here: few rows are dropped by a rule that
    /// somebody looks into, and the device need not send what nobody else reads.
    fn record(&mut self, batch: &RecordBatch, keep: &BooleanArray) -> Result<()> {
        let (program, apart) = (Arc::clone(&self.program), Apart::new(&self.program, None));
        let mut rows = LiveRows::new(&program, batch, &apart);
        rows.keep(&arrow::compute::not(keep)?);
        for (index, rule) in program.rules.iter().enumerate() {
            if rows.n_alive == 0 {
                break;
            }
            for &step in &rule.needs {
                if !rows.has_run(step) {
                    rows.run(step, &[])?;
                }
            }
            if let (Some(recorder), Some(keep)) = (&mut self.recorder, rows.holds(&rule.condition)?) {
                recorder.note(index, &program, &mut rows, &keep)?;
                rows.keep(&keep);
            }
        }
        match &mut self.recorder {
            Some(recorder) => recorder.end_batch(&program, batch),
            None => Ok(()),
        }
    }
}

/// Whether the rows of a plan are documents of files.
fn reads_documents(plan: &Arc<dyn ExecutionPlan>) -> bool {
    if plan.is::<AggregateExec>() {
        return false;
    }
    plan.is::<FileScanExec>() || plan.children().into_iter().any(reads_documents)
}

/// An error that says in which condition it happened. Errors of ours already say what a user needs.
fn locate(rule: &Rule, error: DataFusionError) -> DataFusionError {
    if Late::of(&error).is_some() {
        return error;
    }
    // An error of one row keeps its kind: what is known of it decides whether the run goes on.
    if Failure::is_of_row(&error) {
        return error.context(format!("in the condition `{}`", rule.label));
    }
    match Error::from(error) {
        Error::Data(message) => Error::Data(format!("{message}\nin the condition `{}`", rule.label)).into(),
        ours => ours.into(),
    }
}
