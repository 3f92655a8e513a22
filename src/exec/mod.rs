//! The executors of our own, and what a run reports.
//!
//! ```text
//! filters and computed columns: annotate/, coalesce.rs        sample: sample.rs      output: gather.rs, write.rs
//! plans and their counters as text: explain.rs, estimate.rs  as the funnel: funnel.rs, report.rs
//! ```

mod admission;
mod annotate;
mod coalesce;
mod dedup;
mod device;
mod estimate;
pub mod explain;
mod funnel;
mod gather;
mod ledger;
mod report;
mod sample;
mod text_bytes;
mod write;

pub use admission::Door;
pub use annotate::{
    AnnotateExec, AnnotateOptions, COMPUTED, Compared, Estimate, Narrow, Program, Rule, RuleCounts,
    Step as ProgramStep, StepCounts, Work, best,
};
pub use coalesce::BatchSize;
pub use dedup::{DecontaminateExec, DedupExec, DedupLayout, PieceColumn};
pub use device::{
    DeviceExec, Engine, GroupStates, MEMORY_UNIT_BYTES, Segment, Sizing, State, ToBackendExec, WHOLE_DEVICE,
};
pub use estimate::{RowEstimates, file_bytes};
pub use funnel::{progress, report};
pub use gather::GatherExec;
pub use ledger::{Ledger, RejectDetail};
pub use report::{Contamination, OutputFile, Progress, Report, Step, by_hits};
pub use sample::SampleExec;
pub use write::{RunLog, WriteExec};
