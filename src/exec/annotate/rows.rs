//! The rows of one batch on their way through a program.
//!
//! Invariant: a rule never sees a row that an earlier one dropped, and a step computes only rows still alive. Text is
//! not copied when rows are dropped: every column keeps the rows it had when it was made, beside the places of those
//! still alive; a column is cut down to them only when an expression or the output reads it.

use super::program::{Narrow, Program, Work};
use crate::ops::{Args, Gate, OpSpec, evaluate_fields, evaluate_statistics};
use arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch, UInt32Array};
use arrow::compute::take;
use datafusion::error::Result;
use std::collections::HashMap;
use std::sync::Arc;

/// A batch, its computed columns, and which rows are alive.
pub(super) struct Rows<'a> {
    program: &'a Program,
    batch: &'a RecordBatch,
    /// Rows still alive.
    pub n_alive: usize,
    /// For each generation of columns, the places of the rows still alive; `None` while that is all of them.
    /// Generation 0 is the input; a further one begins when a step runs after rows were dropped.
    alive: Vec<Option<Vec<u32>>>,
    /// The computed columns with their generation.
    computed: Vec<Option<(usize, ArrayRef)>>,
    /// The generation of columns computed now, if one was begun since rows were last dropped.
    newest: Option<usize>,
    /// Columns cut down to the rows alive.
    cut: HashMap<usize, ArrayRef>,
}

impl<'a> Rows<'a> {
    pub fn new(program: &'a Program, batch: &'a RecordBatch) -> Self {
        Self {
            program,
            batch,
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
            Work::Pass { statistics, .. } => statistics.first().map(|(column, _)| *column),
            Work::Call { column, .. } | Work::Expr { column, .. } => Some(*column),
        };
        column.is_none_or(|column| self.computed[column - self.program.n_inputs].is_some())
    }

    /// Runs a step on the rows alive. Rows that `gates` stop must be dropped before anything else reads what it computes.
    pub fn run(&mut self, step: usize, gates: &[Gate]) -> Result<()> {
        let program = self.program;
        match &program.steps[step].work {
            Work::Pass { document, statistics, .. } => {
                let calls: Vec<(&OpSpec, &Args)> =
                    statistics.iter().map(|(_, call)| (call.spec.as_ref(), call.args.as_ref())).collect();
                let (generation, documents) = self.stored(*document)?;
                let values = evaluate_statistics(&calls, &documents, self.alive[generation].as_deref(), gates)?;
                for ((column, _), values) in statistics.iter().zip(values) {
                    self.store(*column, values);
                }
            }
            Work::Call { document, column, call, fields, .. } => {
                let documents = self.column(*document)?;
                self.store(*column, evaluate_fields(&call.spec, &documents, &call.args, fields.as_deref())?);
            }
            Work::Expr { column, expr, .. } => {
                let values = expr.evaluate(self.columns_of(expr)?, self.n_alive)?.into_array(self.n_alive)?;
                self.store(*column, values);
            }
        }
        Ok(())
    }

    /// Which of the rows alive satisfy a condition; `None`: all.
    pub fn holds(&mut self, condition: &Narrow) -> Result<Option<BooleanArray>> {
        condition.holds(self.columns_of(condition)?, self.n_alive)
    }

    /// The values of an expression for the rows alive.
    pub fn values(&mut self, expr: &Narrow) -> Result<ArrayRef> {
        if let Some(column) = expr.as_column() {
            return self.column(column);
        }
        expr.evaluate(self.columns_of(expr)?, self.n_alive)?.into_array(self.n_alive)
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

    fn columns_of(&mut self, expr: &Narrow) -> Result<Vec<ArrayRef>> {
        expr.columns.iter().map(|&column| self.column(column)).collect()
    }

    /// A column as it was made, with its generation.
    fn stored(&self, index: usize) -> Result<(usize, ArrayRef)> {
        match index.checked_sub(self.program.n_inputs) {
            None => Ok((0, Arc::clone(self.batch.column(index)))),
            Some(slot) => self.computed[slot]
                .clone()
                .ok_or_else(|| crate::bug!("column {index} is read before its step ran").into()),
        }
    }

    /// The rows alive of one column.
    fn column(&mut self, index: usize) -> Result<ArrayRef> {
        let (generation, array) = self.stored(index)?;
        let Some(places) = &self.alive[generation] else { return Ok(array) };
        if let Some(cut) = self.cut.get(&index) {
            return Ok(Arc::clone(cut));
        }
        let cut = take(&array, &UInt32Array::from(places.clone()), None)?;
        self.cut.insert(index, Arc::clone(&cut));
        Ok(cut)
    }

    fn store(&mut self, column: usize, values: ArrayRef) {
        debug_assert_eq!(values.len(), self.n_alive);
        let generation = *self.newest.get_or_insert_with(|| {
            self.alive.push(None);
            self.alive.len() - 1
        });
        self.computed[column - self.program.n_inputs] = Some((generation, values));
    }
}
