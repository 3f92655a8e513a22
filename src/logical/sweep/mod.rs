//! `SWEEP`: what a rule would keep as its threshold moves, from one pass over the rows.
//!
//! ```text
//! SWEEP words(text) >= 0 TO 200 STEP 50
//!   ⇒  SELECT s['rule'] AS rule, s['threshold'] AS threshold, …
//!      FROM (SELECT unnest(s0) AS s
//!            FROM (SELECT sweep(words(text), 'words(text) >=', 0, 200, 50, octet_length(text)) AS s0 FROM ⟨so far⟩))
//! ```
//!
//! The counting is an aggregate function, so that SQL can say it too, and so that several sweeps share the pass.
//! Invariant: a row of the result counts exactly what `WHERE rule threshold` would keep.

mod function;
mod thresholds;
mod verb;

pub use function::sweep_udaf;
