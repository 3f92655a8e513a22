//! MinHash signatures: how alike two sets of shingles are, read off a few numbers for each.
//!
//! A signature has bands × rows values. The chance that two documents have the same value in a given place is the
//! Jaccard similarity of their shingles; documents that agree in all rows of some band are candidates.
//!
//! Families of hash functions: `native.rs` (ours), `nemo.rs` (libcudf's, bit for bit), `datatrove.rs` (datatrove's, bit
//! for bit). Invariant: a signature depends on the text, the options and nothing else.
//! Not here: how bands and rows follow from a threshold (`curve.rs`); what becomes of candidates (`crate::dedup`).

mod datatrove;
mod least;
mod minhash;
mod murmur3;
mod native;
mod nemo;
mod permutations;

#[cfg(test)]
mod tests;

pub use minhash::MinHash;
