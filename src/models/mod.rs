//! Models: what they are asked, one copy of each in the process, and those that curator ships.
//!
//! ```text
//! ops::OpSpec, Cpu::Model ──open──► Model ──prepared (shared.rs)──► PreparedModel ──compute (compute.rs)──► columns
//! ```
//! A model is an operator whose spec says how it is opened ([`crate::ops::Model`]). Its folder here has its files' format, its
//! arithmetic and its specs; [`operators`] lists them all.
//!
//! Invariant: knows Arrow and files, no plans and no DataFusion.
//! Not here: where calls stand in a plan (`physical::BatchModels`) and who gathers rows for them (`exec::ModelExec`).

mod compute;
mod encoder;
mod fasttext;
mod idle;
mod labels;
mod language;
mod shared;
mod tokens;

pub use compute::{compute, model_rows, nothing};
pub use shared::{ModelKey, Prepared, prepared};

use crate::Result;
use crate::ops::{OpSpec, Registry};

/// The operators that hold a model.
fn operators() -> Vec<OpSpec> {
    [language::operators(), fasttext::operators(), tokens::operators(), encoder::operators()].concat()
}

/// Every operator that curator ships: those of [`crate::ops`], and those that hold a model.
pub fn builtin() -> Result<Registry> {
    let mut registry = Registry::builtin();
    operators().into_iter().try_for_each(|operator| registry.register(operator))?;
    Ok(registry)
}
