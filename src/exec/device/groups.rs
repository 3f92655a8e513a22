//! Groups of a segment's rows as the states that an aggregation above goes on with.
//!
//! A batch gives its groups, whichever side made them; `AggregateExec` in its final mode adds up those of all batches and
//! partitions, as it does with its own partial ones.

use crate::bug;
use crate::gpu::{Folded, Group, Grouping, ordered};
use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, UInt64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, SchemaRef};
use datafusion::error::Result;
use std::sync::Arc;

/// Whole numbers up to here are floats, so they add up to the same in any order.
const MOST_EXACT: u128 = 1 << 53;

/// How groups become states.
#[derive(Debug, Clone)]
pub struct GroupStates {
    /// By what rows are grouped, and what of them; as in the program.
    pub grouping: Grouping,
    /// For each output of the program, the segment's column that it is.
    pub columns: Vec<usize>,
    /// The states, after the keys.
    pub states: Vec<State>,
    /// The columns of keys and states.
    pub schema: SchemaRef,
}

/// The state of one aggregate, of a fold by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// How many rows.
    Rows,
    /// How many values.
    Count(usize),
    /// Their sum.
    Sum(usize),
    /// The least.
    Least(usize),
    /// The greatest.
    Greatest(usize),
    /// How many, and their sum as a float.
    Mean(usize),
}

impl GroupStates {
    /// Whether the means of these groups have the bits that adding floats gives. If not, rows are needed.
    pub(super) fn are_exact(&self, groups: &[Group]) -> bool {
        let is_exact = |state: &State, group: &Group| match state {
            State::Mean(fold) => group.folded.get(*fold).is_some_and(|folded| {
                let largest = u128::from(folded.least.unsigned_abs().max(folded.greatest.unsigned_abs()));
                folded.n_values == 0 || largest * u128::from(folded.n_values) <= MOST_EXACT
            }),
            _ => true,
        };
        groups.iter().all(|group| self.states.iter().all(|state| is_exact(state, group)))
    }

    /// The groups of rows that are on the host.
    pub(super) fn of_rows(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let columns: Vec<ArrayRef> = self.columns.iter().map(|&column| Arc::clone(rows.column(column))).collect();
        let groups = self.grouping.of_rows(&columns, rows.num_rows());
        self.batch(&groups.map_err(|why| bug!("rows put together on the host: {why}"))?)
    }

    /// Groups as keys and states, a row each.
    pub(super) fn batch(&self, groups: &[Group]) -> Result<RecordBatch> {
        let mut columns: Vec<ArrayRef> = vec![];
        for key in 0..self.grouping.keys.len() {
            let values: Int64Array = groups.iter().map(|group| group.keys.get(key).copied().flatten()).collect();
            columns.push(Arc::new(values));
        }
        for state in &self.states {
            self.state(*state, groups, &mut columns);
        }
        let typed = columns.iter().zip(self.schema.fields()).map(|(column, field)| cast(column, field.data_type()));
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), typed.collect::<Result<_, _>>()?)?)
    }

    fn state(&self, state: State, groups: &[Group], columns: &mut Vec<ArrayRef>) {
        let folds = |fold: usize| groups.iter().map(move |group| group.folded.get(fold));
        let there = |folded: Option<&Folded>| folded.copied().filter(|folded| folded.n_values > 0);
        let count = |folded: Option<&Folded>| folded.map_or(0, |folded| folded.n_values);
        // The least of floats is told as a whole number that is ordered like it.
        let is_float = self.schema.fields().get(columns.len()).is_some_and(|field| field.data_type().is_floating());
        let ordering = |fold: usize, which: fn(&Folded) -> i64| -> ArrayRef {
            let found = folds(fold).map(|folded| there(folded).map(|folded| which(&folded)));
            match is_float {
                true => Arc::new(found.map(|v| v.map(|v| f64::from_bits(ordered(v) as u64))).collect::<Float64Array>()),
                false => Arc::new(found.collect::<Int64Array>()),
            }
        };
        let last: ArrayRef = match state {
            State::Rows => Arc::new(groups.iter().map(|group| Some(group.n_rows as i64)).collect::<Int64Array>()),
            State::Count(fold) => {
                Arc::new(folds(fold).map(|folded| Some(count(folded) as i64)).collect::<Int64Array>())
            }
            State::Sum(fold) => {
                let sums = folds(fold).map(|folded| there(folded).map(|folded| folded.sum));
                Arc::new(sums.collect::<Int64Array>())
            }
            State::Least(fold) => ordering(fold, |folded| folded.least),
            State::Greatest(fold) => ordering(fold, |folded| folded.greatest),
            State::Mean(fold) => {
                columns.push(Arc::new(folds(fold).map(|folded| Some(count(folded))).collect::<UInt64Array>()));
                let sums = folds(fold).map(|folded| there(folded).map(|folded| folded.float_sum));
                Arc::new(sums.collect::<Float64Array>())
            }
        };
        columns.push(last);
    }
}

impl State {
    /// The types of its columns, given the type of what is folded.
    pub fn types(self, value: &DataType) -> Vec<DataType> {
        match self {
            State::Rows | State::Count(_) | State::Sum(_) => vec![DataType::Int64],
            State::Least(_) | State::Greatest(_) => vec![value.clone()],
            State::Mean(_) => vec![DataType::UInt64, DataType::Float64],
        }
    }
}
