//! The executors of our own, and what a run reports.

mod coalesce;
mod conjunct_filter;
mod conjuncts;
mod report;
mod sample;

pub use coalesce::BatchSize;
pub use conjunct_filter::ConjunctFilterExec;
pub use conjuncts::ConjunctCounts;
pub use report::{OutputFile, Progress, Report, Step};
pub use sample::SampleExec;
