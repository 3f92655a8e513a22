//! `SAMPLE n ROWS | p PERCENT [SEED s]`: a part of the rows, the same part on every run.
//!
//! Which rows are kept depends on the seed and on each row's position in the input, or its place in an order of the query's.
//! So the input must be in a defined order (`KeepInputOrder`), and no filter or limit may pass below: it would change the places.
//! Not here: the choosing itself (`exec.rs`).

use crate::verb::{Planning, RowOrder, Verb};
use datafusion::error::Result;
use datafusion::physical_plan::ExecutionPlan;
use std::fmt;
use std::sync::Arc;

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

/// Keeps a part of the rows, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// How many of them.
    pub amount: SampleAmount,
    /// Another seed, another choice.
    pub seed: u64,
}

impl Verb for Sample {
    fn name(&self) -> &'static str {
        "Sample"
    }

    fn details(&self) -> String {
        self.to_string()
    }

    fn order(&self) -> RowOrder {
        RowOrder::Keeps
    }

    fn depends_on_cuts(&self) -> bool {
        true
    }

    fn plan(&self, planning: &Planning<'_>) -> Result<Arc<dyn ExecutionPlan>> {
        planning.exec(*self)
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} SEED {}", self.amount, self.seed)
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
