//! The executors of our own, and what a run reports.
//!
//! ```text
//! filter: conjunct_filter.rs, conjuncts.rs, coalesce.rs      sample: sample.rs      output: write.rs
//! plans and their counters as text: explain.rs               as the funnel: funnel.rs, report.rs
//! ```

mod coalesce;
mod conjunct_filter;
mod conjuncts;
pub mod explain;
mod funnel;
mod report;
mod sample;
#[cfg(test)]
mod tests;
mod text_bytes;
mod write;

pub use coalesce::BatchSize;
pub use conjunct_filter::ConjunctFilterExec;
pub use conjuncts::ConjunctCounts;
pub use funnel::{progress, report};
pub use report::{OutputFile, Progress, Report, Step};
pub use sample::SampleExec;
pub use write::{RunLog, WriteExec};
