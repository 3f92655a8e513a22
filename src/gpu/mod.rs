//! The GPU: finding one, its memory, kernels made from chains of operators, launching them.
//!
//! Knows Arrow columns and operators, and no plans: what runs here was decided by `physical`.

mod options;
mod sources;

pub use options::OptionBlock;
pub use sources::flatten;
