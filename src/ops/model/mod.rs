//! Operators that hold something (a model, a large list, a connection): what they promise, in three steps.
//!
//! ```text
//! declared: OpSpec, Cpu::Model ──open(args)──► Model ──prepare──► PreparedModel ──run(rows)──► values and rejected rows
//!           the call is checked      its type, files,     the weights,               batch after batch,
//!                                    batches, costs       once for a process         on all threads
//! ```
//! A query opens a model when it is bound: files are looked at, so that a wrong one is a message about the query, and the type of
//! the result may be what the files say. Weights are loaded when the first row comes.
//!
//! Invariant: a model sees no nulls, and plain layouts only; a row's value does not depend on the others of its batch.
//! Not here: where such calls stand in a plan and how rows are gathered for them (`physical::BatchModels`,
//! `exec::ModelExec`), and the models that curator ships (`crate::models`).

mod file;
mod rows;

pub use file::ModelFile;
pub(crate) use rows::has_null_number;
pub use rows::{ModelColumn, ModelRows, RejectedRow};

use super::spec::Cost;
use super::value::Args;
use crate::Result;
use crate::config::DeviceChoice;
use arrow::datatypes::DataType;
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// Looks at the constants of a call and the files that they name.
pub type OpenModel = Arc<dyn Fn(&Args) -> Result<Arc<dyn Model>> + Send + Sync>;

/// The code of an operator that holds something.
#[derive(Clone)]
pub struct ModelCode {
    /// So many of its parameters, the first ones, are columns; the others are constants.
    pub n_columns: usize,
    /// What a call's constants lead to. Its errors are shown at the call.
    pub open: OpenModel,
}

impl fmt::Debug for ModelCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelCode").field("n_columns", &self.n_columns).finish_non_exhaustive()
    }
}

/// What a call's constants lead to, looked at and not loaded.
pub trait Model: Any + fmt::Debug + Send + Sync {
    /// The type of the result.
    fn returns(&self) -> DataType;

    /// The files that values depend on: part of the name of the run. It is opened again when one of them has changed.
    fn files(&self) -> Vec<ModelFile> {
        vec![]
    }

    /// What it is, where it would run, what it takes: asked while a query is planned.
    fn facts(&self, setting: &ModelSetting) -> ModelFacts;

    /// Calls of the same operator or of others that have the same key, read the same columns and stand at one place of the plan
    /// are prepared and run together. `None`: alone.
    fn share_key(&self) -> Option<String> {
        None
    }

    /// Loads what is needed to compute `group`: itself, and all others that share its key. Called when the first row comes.
    fn prepare(&self, group: &[Arc<dyn Model>], setting: &ModelSetting) -> Result<Arc<dyn PreparedModel>>;
}

/// A model at work. Several threads call it at once.
pub trait PreparedModel: Send + Sync {
    /// For each model of the group a value for each row. An error ends the run; a row that cannot be taken is rejected.
    fn run(&self, rows: &ModelRows) -> Result<Vec<ModelColumn>>;

    /// The memory that [`run`](Self::run) needs for these rows beside what is held.
    fn work_bytes(&self, _rows: &ModelRows) -> usize {
        0
    }
}

/// What a query lets a model use.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ModelSetting {
    /// Calls of [`PreparedModel::run`] that may come at once.
    pub threads: usize,
    /// What the whole query may hold.
    pub memory_limit_bytes: Option<usize>,
    /// Where the query wants it.
    pub device: DeviceChoice,
    /// Rows of a batch, if the query says so.
    pub batch_rows: Option<usize>,
}

impl Default for ModelSetting {
    fn default() -> Self {
        Self { threads: 1, memory_limit_bytes: None, device: DeviceChoice::Auto, batch_rows: None }
    }
}

/// What a model is and takes.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelFacts {
    /// A few words: name, architecture, size.
    pub title: String,
    /// Where it runs.
    pub device: ModelDevice,
    /// Why there.
    pub device_reason: String,
    /// The rows that it wants at once.
    pub batch: ModelBatch,
    /// What it holds while it is prepared.
    pub held_bytes: usize,
    /// What a row costs.
    pub cost: Cost,
    /// Further lines for EXPLAIN.
    pub notes: Vec<String>,
}

/// Where a model runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelDevice {
    /// On the threads of the query.
    Cpu,
    /// On a GPU.
    Gpu,
}

impl ModelDevice {
    /// As EXPLAIN has it.
    pub fn as_str(self) -> &'static str {
        match self {
            ModelDevice::Cpu => "cpu",
            ModelDevice::Gpu => "gpu",
        }
    }
}

/// How many rows a model wants at once: so many, or fewer whose texts take so many bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelBatch {
    /// In rows.
    pub rows: usize,
    /// In bytes of the columns that it reads.
    pub bytes: usize,
    /// The arithmetic, for EXPLAIN. May be empty.
    pub why: String,
}

impl Default for ModelBatch {
    fn default() -> Self {
        Self { rows: 1024, bytes: 4 << 20, why: String::new() }
    }
}

/// A call of a model in a query, as [`Session::models`](crate::Session::models) finds it.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelUse {
    /// The operator with its constants: `fasttext('lid.176.ftz')`.
    pub call: String,
    /// What it is, where it would run, what it takes.
    pub facts: ModelFacts,
    /// The files that it was opened from.
    pub files: Vec<ModelFile>,
}

impl ModelFacts {
    /// A model that computes on the query's threads, and holds little.
    pub fn on_cpu(title: impl Into<String>, cost: Cost) -> Self {
        Self {
            title: title.into(),
            device: ModelDevice::Cpu,
            device_reason: "it has no code for a GPU".to_string(),
            batch: ModelBatch::default(),
            held_bytes: 0,
            cost,
            notes: vec![],
        }
    }
}
