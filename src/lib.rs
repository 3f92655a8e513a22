//! A query engine for LLM training data.

pub mod cli;
pub mod config;
mod cost;
pub mod diag;
mod error;
mod exec;
mod logical;
pub mod ops;
mod optimizer;
mod physical;
mod sinks;
mod sources;
pub mod syntax;

pub use config::Config;
pub use error::{Error, Result};
