//! Semantic deduplication: vectors that point the same way, by NeMo Curator's definitions.
//!
//! ```text
//! vectors ──length 1──► k-means ──► clusters ──ranked──► most similar row ranked before ──≥ threshold──► duplicate
//! ```
//! - rows are compared within their cluster only, so the cost is n·k + n²/k products instead of n²
//! - a row goes if its cosine similarity to any row ranked before it reaches the threshold, also if that one goes too;
//!   with `link = 'kept'`, only if that one stays
//! - with `PER`, rows are compared with rows of their own value only
//! - with an index, a row goes first of all if a vector that an earlier run kept in its cluster is similar enough; the
//!   clusters are the index's then
//! - a row without a direction (null, all zeros, a value that is not finite) belongs to no cluster and stays
//!
//! Memory: 16 bytes a row; the centres and what k-means sums up, 16·k·d bytes; and the vectors, 4·d bytes a row, which
//! go to a temporary file if they do not fit, as do clusters larger than memory (see [`Needs`]).
//! Results are the same with any number of threads, any budget that suffices, and with any number of devices or none.

mod against;
mod dedup;
mod device;
mod dots;
mod kmeans;
mod near_kept;
mod nearest;
mod partition;
mod random;
#[cfg(test)]
mod tests;
mod vectors;

#[cfg(test)]
pub use dedup::Needs;
pub use dedup::{Ranking, SemanticDedup, SemanticDuplicate, SemanticOutcome};
pub use device::Comparers;
pub use partition::VectorPartition;
