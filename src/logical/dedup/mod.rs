//! `DEDUP` and `DECONTAMINATE`: what was asked, in CQL or SQL, to one plan node.
//!
//! ```text
//! DEDUP FUZZY ON text KEEP FIRST BY score DESC
//!   ⇒  Dedup: DEDUP FUZZY ON text KEEP FIRST BY score DESC
//!        Projection: docs.*, minhash_bands(text, …) AS _dedup_key_0, score AS _dedup_keep_0_0
//! ```
//!
//! Both languages collect an [`Asked`](asked::Asked) (`verb.rs`, `sql.rs`); all that is checked and all defaults are in
//! one place after that (`bind.rs`, `methods.rs`, `options.rs`), so that they cannot differ.
//! Invariant: what leaves here needs no more checking; every refusal is a diagnostic at the place that it is about.

mod asked;
mod bind;
mod decontaminate;
mod hash;
mod label;
mod methods;
mod options;
mod sql;
mod verb;

pub use sql::{TABLE_FUNCTIONS, TableFunction, open_keep_texts};
