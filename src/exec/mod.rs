//! The executors of our own, and what a run reports.

mod report;

pub use report::{OutputFile, Progress, Report, Step};
