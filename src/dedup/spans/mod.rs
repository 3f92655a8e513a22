//! Repeated spans, cut out of the texts: lines, paragraphs and sentences, and substrings of any place.
//!
//! ```text
//! partition 0: texts ─see─► hashes, units ─┐                                  ┌► repeats by unit ─cut─► ranges of each text
//! partition 1: texts ─see─► hashes, units ─┴► groups: equal ones repeat ──────┴► repeats by unit ─cut─► ranges of each text
//! ```
//! A position counts units (lines, bytes, tokens) through the whole corpus in row order, so that one number says where
//! a span is and which of two came first. Texts may come in partitions: units are then counted in each, and have their
//! positions when all texts were seen. Texts are never kept: they are shown again, and counted again.
//! Which one stays: the first, with `KEEP LAST` the last; with `KEEP NONE` all that are there twice go.
//! Memory: what [`Groups`](super::Groups) holds, [`LineFinder::memory_bytes`] and [`SubstringFinder::memory_bytes`];
//! past the budget it is on disk. Beside that, what one batch of texts of each partition gives.

mod blocks;
mod finder;
mod lines;
mod normal;
mod repeats;
mod substring;
mod text_partition;
mod tokens;
mod units;

#[cfg(test)]
#[path = "tests/beyond_memory.rs"]
mod beyond_memory_tests;

pub use finder::{Outcome, SpanFinder, TooLittle, cut_text};
pub use lines::LineFinder;
pub use substring::SubstringFinder;
pub use text_partition::TextPartition;
