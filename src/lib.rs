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
//! ([`Session::register`]), [`diag`] the messages about a query, [`exec::Report`] the funnel. The plans are DataFusion's.
//! How the parts work together is in ARCHITECTURE.md.

pub mod cli;
pub mod config;
mod cost;
pub mod dedup;
pub mod diag;
mod error;
pub mod exec;
pub mod gpu;
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
