//! A query engine for LLM training data.
//!
//! Write what the clean corpus is, in CQL (pipes) or SQL; run it over files; get Arrow batches or files back.
//!
//! ```text
//! text ──parse──► Script ──compile──► Plan ──execute──► Run (batches, report)
//!                                       └───explain──► text
//! ```
//!
//! ```
//! use curator::diag::SourceText;
//! use curator::{Compiled, Config, Language, Session};
//!
//! #[tokio::main]
//! async fn main() -> curator::Result<()> {
//!     let mut session = Session::new(Config::default())?;
//!     let query = "
//!         DEFINE long_enough(t) AS words(t) > 5;
//!         FROM 'tests/corpus/data/docs.jsonl' |> WHERE long_enough(text) AND lang = 'en' |> SELECT id, text;
//!     ";
//!     let script = session.parse(&SourceText::new("example", query), Language::Cql)?;
//!     let (mut n_batches, mut n_docs) = (0, 0);
//!     for index in 0..script.statements.len() {
//!         // A `DEFINE` takes effect when it is compiled; only queries have a plan to run.
//!         let Compiled::Query(plan) = session.compile(&script, index).await? else { continue };
//!         let mut run = session.execute(&plan).await?;
//!         while let Some(batch) = run.next().await {
//!             n_batches += 1;
//!             n_docs += batch?.num_rows();
//!         }
//!         assert_eq!(run.report().rows_out, 9);
//!     }
//!     assert_eq!(n_docs, 9);
//!     assert!(n_batches >= 1);
//!     Ok(())
//! }
//! ```
//!
//! Where to look: [`Session`] is the whole interface, [`Config`] its limits, [`ops`] the operators and how to add one
//! ([`Session::register`]), [`diag`] the messages about a query, [`Report`] the funnel. The plans are DataFusion's.
//! How the parts work together is in ARCHITECTURE.md.

mod cli;
mod config;
mod cost;
mod dedup;
pub mod diag;
mod error;
mod exec;
mod gpu;
mod logical;
mod models;
pub mod ops;
mod optimizer;
mod physical;
mod session;
mod sinks;
mod sources;
mod store;
mod syntax;
mod verb;
mod verbs;

pub use config::{Config, DeviceChoice};
pub use error::{Error, Result};
pub use exec::Report;
pub use session::{Compiled, ExplainFormat, Language, Plan, Run, Session, Stage};
pub use syntax::ast::Script;

/// The examples of `docs/library.md` run as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/library.md")]
struct LibraryPage;

/// What the `curator` program, the tests and the benchmarks of this package use beyond the interface. They are compiled
/// as users of the library, so they can only reach what is public; nothing here is promised to anyone else.
#[doc(hidden)]
pub mod internals {
    pub use crate::cli::run as run_command_line;
    pub use crate::config::{Attempt, OPTIONAL_RULES, ReplayChoice};
    pub use crate::dedup::{Budget, Components, FixedBudget};
    pub use crate::diag::render;
    pub use crate::exec::OutputFile;
    pub use crate::gpu::{Compiler, Form, Precompiled, Program, Type, Value};
    pub use crate::ops::{Needs, PassStage, device_tables};
    pub use crate::sinks::{RejectsFolder, RunFacts};
    pub use crate::sources::{FileScanExec, RejectLog, SplitShare};
    pub use crate::store::{Location, Outbox, look_at_stdout};
    pub use crate::syntax::ast::{MacroParam, StatementKind};
    pub use crate::syntax::{TokenKind, format, is_complete, parse, tokens, tree};
}
