//! The operators: one file each, and the registry that holds them.
//!
//! An operator is a row function such as `words(text)`: from its [`OpSpec`] come the SQL function, the checks of a
//! call's arguments, `curator ops`, the reference page, and what the optimizer may do with it.
//!
//! ```text
//!  quality/words.rs ──SPEC──► registry ──► SQL function (logical/functions.rs) ──► evaluate (doc/: taken apart once)
//!                                     └──► reference: list, describe, markdown
//! ```
//!
//! Adding one: write its file in a family's folder, name it in the family's `mod.rs`, write the reference page again
//! (`curator ops --markdown`). Its examples run as tests.
//!
//! Invariant: operators compute on Arrow arrays and know neither plans nor DataFusion.
//! Not here: verbs that look at more than one row (dedup, sample), and presets, which are CQL.

mod call;
pub(crate) mod charset;
mod code;
pub(crate) mod dedup;
mod device_tables;
mod doc;
mod evaluate;
mod model;
mod param;
pub(crate) mod prelude;
mod quality;
pub(crate) mod reference;
mod registry;
mod repetition;
mod safety;
pub(crate) mod scan;
mod signals;
pub(crate) mod simd;
mod spec;
mod statistics;
mod text;
mod text_set;
mod url;
mod value;
mod web;

pub(crate) use call::{ArgSource, ArgumentAt};
pub(crate) use doc::{DeviceNeeds, Line, Repeats, Word};
pub(crate) use evaluate::{evaluate, evaluate_fields};
pub(crate) use model::has_null_number;
pub(crate) use param::ParamType;
pub(crate) use registry::is_shipped;
pub(crate) use spec::{Kernel, Scratch};
pub(crate) use statistics::{Gate, Range, StatisticColumn, evaluate_statistics};
pub(crate) use value::Value;

pub use model::{
    Model, ModelBatch, ModelCode, ModelColumn, ModelDevice, ModelFacts, ModelFile, ModelRows, ModelSetting, ModelUse,
    OpenModel, PreparedModel, RejectedRow,
};
pub use param::Param;
pub use registry::Registry;
pub use spec::{Cost, Cpu, Effects, Example, Family, Gpu, OpSpec, Returns};
pub use value::{Args, Literal};
// Public for `internals` alone.
#[doc(hidden)]
pub use {
    device_tables::device_tables,
    doc::{Needs, PassStage},
};
