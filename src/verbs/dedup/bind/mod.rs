//! What was asked, in CQL or SQL, to one plan node.
//!
//! ```text
//! DEDUP FUZZY ON text KEEP FIRST BY score DESC
//!   ⇒  Dedup: DEDUP FUZZY ON text KEEP FIRST BY score DESC
//!        Projection: docs.*, minhash_bands(text, …) AS _dedup_key_0, score AS _dedup_keep_0_0
//! ```
//!
//! Both languages collect an [`Asked`](asked::Asked) (`cql.rs`, `sql.rs`); all that is checked and all defaults are in
//! one place after that (`request.rs`, `methods.rs`, `options.rs`), so that they cannot differ.
//! Invariant: what leaves here needs no more checking; every refusal is a diagnostic at the place that it is about.

pub(in crate::verbs) mod asked;
pub(in crate::verbs) mod cql;
pub(in crate::verbs) mod first_rows;
mod hash;
pub(in crate::verbs) mod label;
pub(in crate::verbs) mod methods;
pub(in crate::verbs) mod options;
pub(in crate::verbs) mod request;
pub(in crate::verbs) mod sql;
