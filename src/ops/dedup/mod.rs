//! Finding equal and nearly equal documents. One file an operator; each is listed here. The `DEDUP` verb is not a row
//! function: it lives in the planner.
//!
//! ```text
//! text ──shingler──► hashes of its shingles ──signature──► MinHash values ──► a fingerprint for each band
//! ```

mod content_hash;
mod curve;
pub(crate) mod hash_fraction;
mod minhash;
mod minhash_bands;
mod options;
mod shingle;
mod shingle_count;
mod shingler;
mod signature;

pub use curve::{bands_and_rows, s_curve};
pub use shingle::{HashFamily, Normalize, Shingle, ShingleUnit};
pub(crate) use shingler::case_table;
pub use shingler::{Shingler, jaccard_sorted, simplify};

use super::spec::OpSpec;

pub(super) static OPERATORS: &[&OpSpec] =
    &[&content_hash::SPEC, &hash_fraction::SPEC, &minhash::SPEC, &minhash_bands::SPEC, &shingle_count::SPEC];
