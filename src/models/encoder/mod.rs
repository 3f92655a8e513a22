//! Encoders from Hugging Face folders: documents to vectors, labels and scores.
//!
//! ```text
//!  config.json ──► graph/ ──► an ONNX graph in memory ─┐
//!  *.safetensors ──► weights.rs ──► one buffer ────────┼──► runtime/ ──► numbers for each row ──► values.rs
//!  documents ──► tokens.rs ──► batches.rs ──► inputs.rs ┘
//! ```
//! `opened.rs` looks at a folder and checks all of it without its weights, `loaded.rs` runs it, and `model.rs` is what a query sees
//! of both. One operator is one file: `embed.rs`, `classify.rs`, `score.rs`, `prompts.rs`, `score_head.rs`.
//!
//! Invariants: what a document gets depends on the document, the model and the runtime, to the bit, not on the documents beside
//! it; the stored text is never cut; a model that is not understood in full is refused by the name of what is odd.

mod batches;
mod classify;
mod embed;
mod files;
mod graph;
mod head;
mod inputs;
mod known;
mod loaded;
mod model;
mod onnx;
mod opened;
mod prompts;
mod room;
mod runtime;
mod safetensors;
mod score;
mod score_head;
mod sentence;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
mod tokens;
mod values;
mod weights;

use crate::ops::OpSpec;

/// The operators on encoders.
pub fn operators() -> Vec<OpSpec> {
    vec![embed::spec(), classify::spec(), score::spec(), prompts::spec(), score_head::spec()]
}
