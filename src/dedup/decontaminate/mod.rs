//! Finding texts of evaluations in documents: n words in a row that both have.
//!
//! ```text
//! texts of tasks ──n-grams──► TaskNgrams ──► drop: a document with any of them goes            (datatrove)
//!                                       └──► cut: they go with their surroundings; two passes  (NeMo Curator 0.9)
//! ```
//! Matchers are shared by threads: what they count are sums, which come out the same in any order.
//! Memory: [`TaskNgrams::memory_bytes`], by the n-grams of the tasks; nothing grows with the documents.
//! Not here: reading the files of the tasks, and how texts are cut into words for `drop` (`ops::dedup`).

mod cut;
mod drop;
mod task_ngrams;
#[cfg(test)]
mod tests;
mod words;

pub use cut::{CutMatcher, CutMatcherBuilder, Cutting};
pub use drop::{DropMatcher, DropMatcherBuilder};
pub use task_ngrams::{TaskNgrams, TaskReport};
