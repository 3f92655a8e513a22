//! `SAMPLE n ROWS | p PERCENT [SEED s]`: a part of the rows, the same part on every run.
//!
//! Which rows are kept depends on the seed and on each row's place in the input, so the input must be in a defined
//! order (`KeepInputOrder`), and no filter or limit may pass below: it would change the places.
//! Not here: the choosing itself (`exec::SampleExec`).

use super::order::indices;
use super::{SortColumn, only_input};
use datafusion::common::DFSchemaRef;
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, LogicalPlan, UserDefinedLogicalNodeCore};
use std::cmp::Ordering;
use std::fmt;

/// A percentage from 0 to 100. Kept as bits, since plan nodes are compared and hashed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Percent(u64);

impl Percent {
    /// `None` outside of 0 to 100.
    pub fn new(percent: f64) -> Option<Self> {
        // Adding zero turns -0.0 into 0.0; the bits of numbers that are not negative are in the order of the numbers.
        (0.0..=100.0).contains(&percent).then(|| Self((percent + 0.0).to_bits()))
    }

    /// From 0.0 to 100.0.
    pub fn value(self) -> f64 {
        f64::from_bits(self.0)
    }
}

impl fmt::Debug for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.value())
    }
}

/// How much to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SampleAmount {
    /// Exactly so many rows, or all if there are fewer.
    Rows(u64),
    /// Each row with this chance.
    Percent(Percent),
}

impl fmt::Display for SampleAmount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SampleAmount::Rows(n_rows) => write!(f, "{n_rows} ROWS"),
            SampleAmount::Percent(percent) => write!(f, "{} PERCENT", percent.value()),
        }
    }
}

/// Keeps a part of its input's rows, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Sample {
    /// The rows to choose from.
    pub input: LogicalPlan,
    /// How many of them.
    pub amount: SampleAmount,
    /// Another seed, another choice.
    pub seed: u64,
    /// What the rows are sorted by (`KeepInputOrder`).
    pub order: Vec<SortColumn>,
}

impl Sample {
    /// A sample of `input`.
    pub fn new(input: LogicalPlan, amount: SampleAmount, seed: u64) -> Self {
        Self { input, amount, seed, order: vec![] }
    }

    /// The same of an input that is sorted so.
    pub fn over(&self, input: LogicalPlan, order: Vec<SortColumn>) -> Self {
        Self { input, order, ..*self }
    }
}

impl PartialOrd for Sample {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (self.amount, self.seed).cmp(&(other.amount, other.seed)) {
            Ordering::Equal => self.input.partial_cmp(&other.input),
            different => Some(different),
        }
    }
}

impl UserDefinedLogicalNodeCore for Sample {
    fn name(&self) -> &str {
        "Sample"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        self.input.schema()
    }

    fn expressions(&self) -> Vec<Expr> {
        vec![]
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "Sample: {} SEED {}", self.amount, self.seed)
    }

    fn with_exprs_and_inputs(&self, _exprs: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        Ok(self.over(only_input("Sample", inputs)?, self.order.clone()))
    }

    fn necessary_children_exprs(&self, output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        let mut needed = output_columns.to_vec();
        needed.extend(indices(&self.order, self.input.schema()));
        needed.sort_unstable();
        needed.dedup();
        Some(vec![needed])
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn percentages_outside_of_0_to_100_are_refused_and_the_others_are_ordered() {
        assert_eq!(Percent::new(-0.1), None);
        assert_eq!(Percent::new(100.5), None);
        assert_eq!(Percent::new(f64::NAN), None);
        assert_eq!(Percent::new(-0.0), Percent::new(0.0));
        assert!(Percent::new(0.01).unwrap() < Percent::new(99.0).unwrap());
    }
}
