//! The rows of one batch on their way through a program.
//!
//! Invariant: a rule never sees a row that an earlier one dropped, and a step computes only rows still alive. A value that
//! a pass skipped, because a rule to come drops its row, is never read: reading one is an internal error. Text is not
//! copied when rows are dropped: every column keeps the rows it had when it was made, beside the places of those
//! still alive; a column is cut down to them only when an expression or the output reads it.

use super::apart::Apart;
use super::program::{Program, ProjectedExpr, StepKind};
use crate::ops::{Args, Gate, OpSpec, StatisticColumn, evaluate_fields, evaluate_statistics};
use arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch, UInt32Array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::take;
use datafusion::error::Result;
use std::collections::HashMap;
use std::sync::Arc;

/// A batch, its computed columns, and which rows are alive.
pub(super) struct LiveRows<'a> {
    program: &'a Arc<Program>,
    batch: &'a RecordBatch,
    /// Where steps run that may take long, and whether all of this batch may.
    apart: &'a Apart,
    is_long: bool,
    /// Rows still alive.
    pub n_alive: usize,
    /// For each generation of columns, the places of the rows still alive; `None` while that is all of them.
    /// Generation 0 is the input; a further one begins when a step runs after rows were dropped.
    alive: Vec<Option<Vec<u32>>>,
    /// The computed columns.
    computed: Vec<Option<Made>>,
    /// The generation of columns computed now, if one was begun since rows were last dropped.
    newest: Option<usize>,
    /// Columns cut down to the rows alive.
    cut: HashMap<usize, ArrayRef>,
}

/// A column as it was computed.
#[derive(Clone)]
struct Made {
    generation: usize,
    values: ArrayRef,
    /// The rows whose value was not computed, if there are any; null in `values`.
    skipped: Option<BooleanBuffer>,
}

impl<'a> LiveRows<'a> {
    pub fn new(program: &'a Arc<Program>, batch: &'a RecordBatch, apart: &'a Apart) -> Self {
        Self {
            program,
            batch,
            apart,
            is_long: apart.is_long(batch),
            n_alive: batch.num_rows(),
            alive: vec![None],
            computed: vec![None; program.step_of.len()],
            newest: Some(0),
            cut: HashMap::new(),
        }
    }

    /// Whether a step has run.
    pub fn has_run(&self, step: usize) -> bool {
        let column = match &self.program.steps[step].work {
            StepKind::Pass { statistics, .. } => statistics.first().map(|(column, _)| *column),
            StepKind::Call { column, .. } | StepKind::Expr { column, .. } => Some(*column),
        };
        column.is_none_or(|column| self.computed[column - self.program.n_inputs].is_some())
    }

    /// Runs a step on the rows alive. Rows that `gates` stop must be dropped before anything else reads what it computes.
    pub fn run(&mut self, step: usize, gates: &[Gate]) -> Result<()> {
        let program = Arc::clone(self.program);
        let is_apart = self.is_long || self.apart.is_foreign(step);
        match &self.program.steps[step].work {
            StepKind::Pass { document, statistics, .. } => {
                let (generation, documents) = self.stored(*document)?;
                let alive = self.alive[generation].as_deref();
                let values = if is_apart {
                    let (alive, gates) = (alive.map(<[u32]>::to_vec), gates.to_vec());
                    self.apart.call(self.n_alive, move || {
                        Ok(evaluate_statistics(&calls_of(&program, step), &documents, alive.as_deref(), &gates)?)
                    })?
                } else {
                    evaluate_statistics(&calls_of(&program, step), &documents, alive, gates)?
                };
                for ((column, _), StatisticColumn { values, skipped }) in statistics.iter().zip(values) {
                    self.store(*column, values, skipped);
                }
            }
            StepKind::Call { document, column, call, fields, .. } => {
                let documents = self.column(*document)?;
                let values = if is_apart {
                    let (call, fields) = (call.clone(), fields.clone());
                    self.apart.call(self.n_alive, move || {
                        Ok(evaluate_fields(&call.spec, &documents, &call.args, fields.as_deref())?)
                    })?
                } else {
                    evaluate_fields(&call.spec, &documents, &call.args, fields.as_deref())?
                };
                self.store(*column, values, None);
            }
            StepKind::Expr { column, expr, .. } => {
                let values = self.computed_values(expr)?;
                self.store(*column, values, None);
            }
        }
        Ok(())
    }

    /// Which of the rows alive satisfy a condition; `None`: all.
    pub fn holds(&mut self, condition: &ProjectedExpr) -> Result<Option<BooleanArray>> {
        let (columns, n_rows) = (self.columns_of(condition)?, self.n_alive);
        if !self.is_long {
            return condition.holds(columns, n_rows);
        }
        let condition = condition.clone();
        self.apart.call(n_rows, move || condition.holds(columns, n_rows))
    }

    /// The values of an expression for the rows alive.
    pub fn values(&mut self, expr: &ProjectedExpr) -> Result<ArrayRef> {
        if let Some(column) = expr.as_column() {
            return self.column(column);
        }
        self.computed_values(expr)
    }

    fn computed_values(&mut self, expr: &ProjectedExpr) -> Result<ArrayRef> {
        let (columns, n_rows) = (self.columns_of(expr)?, self.n_alive);
        if !self.is_long {
            return expr.evaluate(columns, n_rows)?.into_array(n_rows);
        }
        let expr = expr.clone();
        self.apart.call(n_rows, move || expr.evaluate(columns, n_rows)?.into_array(n_rows))
    }

    /// Drops the rows alive for which `keep` is false. `keep` has no NULLs and one value for each row alive.
    pub fn keep(&mut self, keep: &BooleanArray) {
        self.n_alive = keep.true_count();
        for alive in &mut self.alive {
            *alive = Some(match alive.take() {
                None => keep.values().set_indices().map(|place| place as u32).collect(),
                Some(places) => {
                    places.into_iter().zip(keep.values()).filter(|(_, kept)| *kept).map(|(place, _)| place).collect()
                }
            });
        }
        self.newest = None;
        self.cut.clear();
    }

    /// The places in the input batch of the rows alive.
    pub fn places(&self) -> Option<&[u32]> {
        self.alive[0].as_deref()
    }

    fn columns_of(&mut self, expr: &ProjectedExpr) -> Result<Vec<ArrayRef>> {
        expr.columns.iter().map(|&column| self.column(column)).collect()
    }

    /// A column as it was made, with its generation. All rows alive have a value in it.
    fn stored(&self, index: usize) -> Result<(usize, ArrayRef)> {
        let Some(slot) = index.checked_sub(self.program.n_inputs) else {
            return Ok((0, Arc::clone(self.batch.column(index))));
        };
        let Some(made) = &self.computed[slot] else {
            return Err(crate::bug!("column {index} is read before its step ran").into());
        };
        if made.skipped.as_ref().is_some_and(|skipped| self.has_alive_among(skipped, made.generation)) {
            let label = &self.program.computed_labels[slot];
            return Err(crate::bug!("`{label}` is read for a row that a rule should have dropped before").into());
        }
        Ok((made.generation, Arc::clone(&made.values)))
    }

    /// Whether a row alive is among those marked in a column of this generation.
    fn has_alive_among(&self, marked: &BooleanBuffer, generation: usize) -> bool {
        match &self.alive[generation] {
            None => marked.has_true(),
            Some(places) => places.iter().any(|&place| marked.value(place as usize)),
        }
    }

    /// The rows alive of one column.
    pub fn column(&mut self, index: usize) -> Result<ArrayRef> {
        // Which was looked at when it was cut.
        if let Some(cut) = self.cut.get(&index) {
            return Ok(Arc::clone(cut));
        }
        let (generation, array) = self.stored(index)?;
        let Some(places) = &self.alive[generation] else { return Ok(array) };
        let cut = take(&array, &UInt32Array::from(places.clone()), None)?;
        self.cut.insert(index, Arc::clone(&cut));
        Ok(cut)
    }

    fn store(&mut self, column: usize, values: ArrayRef, skipped: Option<BooleanBuffer>) {
        debug_assert_eq!(values.len(), self.n_alive);
        let generation = *self.newest.get_or_insert_with(|| {
            self.alive.push(None);
            self.alive.len() - 1
        });
        self.computed[column - self.program.n_inputs] = Some(Made { generation, values, skipped });
    }
}

/// The calls that a pass computes together.
fn calls_of(program: &Program, step: usize) -> Vec<(&OpSpec, &Args)> {
    match &program.steps[step].work {
        StepKind::Pass { statistics, .. } => {
            statistics.iter().map(|(_, call)| (call.spec.as_ref(), call.args.as_ref())).collect()
        }
        StepKind::Call { .. } | StepKind::Expr { .. } => vec![],
    }
}
