//! A query engine for LLM training data.

pub mod cli;
pub mod config;
mod cost;
pub mod diag;
mod error;
pub mod exec;
mod logical;
pub mod ops;
mod optimizer;
mod physical;
pub mod session;
pub mod sinks;
pub mod sources;
pub mod syntax;

pub use config::Config;
pub use error::{Error, Result};
pub use session::{Compiled, ExplainFormat, Language, Plan, Run, Session, Stage};
