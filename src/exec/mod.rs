//! The executors of our own, and what a run reports.
//!
//! ```text
//! filters and computed columns: annotate/, model/, coalesce.rs        partitions in order: gather.rs, sort/    what is said of a run: run_log.rs
//! finished work kept for a later attempt: checkpoint/
//! plans and their counters as text: explain.rs, estimate.rs  as the funnel: funnel.rs, presets.rs, report.rs
//! ```

mod admission;
mod annotate;
mod checkpoint;
mod coalesce;
mod device;
mod estimate;
pub mod explain;
mod funnel;
mod gather;
mod ledger;
mod memory;
mod model;
mod presets;
mod report;
mod run_log;
mod sort;

pub use admission::ShareSemaphore;
pub use annotate::{
    AnnotateExec, AnnotateOptions, COMPUTED, Compared, DocumentTimeout, Estimate, Program, ProjectedExpr, Rule,
    Step as ProgramStep, StepKind, best,
};
pub use checkpoint::{
    CheckpointExec, CheckpointedChain, Checkpoints, KeptStage, Shard, checkpointed_chains, checkpoints_of, keep_only,
};
pub use coalesce::{BatchSize, slice_bytes};
pub use device::{
    DeviceExec, Engine, GroupStates, MEMORY_UNIT_BYTES, Segment, Sizing, State, ToBackendExec, share_of_device,
};
pub use estimate::file_bytes;
pub use funnel::{progress, report};
pub use gather::GatherExec;
pub use ledger::{DropWriter, Ledger, RejectDetail};
pub use memory::MemoryPlan;
pub use model::{ModelExec, ModelOutput};
pub use presets::{PresetRules, under_presets};
pub use report::{Contamination, OutputFile, Progress, Report, Step, StepRole, by_hits};
pub use run_log::RunLog;
pub use sort::{ExternalSortExec, Sorting};
