//! `mode => 'drop'`: a document that has one n-gram of a task goes (datatrove's decontamination).
//!
//! As datatrove does, questions with an answer count by the n-grams of the answer and by those that reach from the
//! question into it; those of the question alone only if asked for. Differences: words are those of the normalization
//! (datatrove has spaCy cut the normalized text), an n-gram of several tasks counts for all, and a document is searched
//! to its end, so that the report knows all tasks it gives away.

use super::task_ngrams::{TaskNgrams, TaskNgramsBuilder};
use crate::Result;
use crate::dedup::{Budget, Decontaminate};
use std::sync::Arc;

/// Collects the texts of tasks. `cut` gives the hashes of the n-grams of a text, in order; it must be the same for
/// tasks and documents.
pub struct DropMatcherBuilder<F> {
    ngrams: TaskNgramsBuilder,
    queries: bool,
    overlap: bool,
    cut: F,
    hashes: Vec<u64>,
}

impl<F: FnMut(&str, &mut Vec<u64>)> DropMatcherBuilder<F> {
    /// No tasks yet.
    pub fn new(spec: &Decontaminate, cut: F) -> Self {
        let (queries, overlap) = (spec.queries, spec.overlap);
        Self { ngrams: TaskNgramsBuilder::default(), queries, overlap, cut, hashes: Vec::new() }
    }

    /// A text of a task: all its n-grams count.
    pub fn add_text(&mut self, task: &str, text: &str) {
        self.hashes_of(text);
        self.ngrams.add(task, &self.hashes);
    }

    /// A question of a task and its answer.
    pub fn add_question(&mut self, task: &str, question: &str, answer: &str) {
        self.hashes_of(question);
        let n_question = self.hashes.len();
        self.hashes_of(answer);
        let n_answer = self.hashes.len();
        // All n-grams of both: first those of the question, then those that reach over, then those of the answer.
        self.hashes_of(&format!("{question}\n{answer}"));
        let n_over = self.hashes.len().saturating_sub(n_question + n_answer);
        if !self.overlap {
            self.hashes.drain(n_question..n_question + n_over);
        }
        if !self.queries {
            self.hashes.drain(..n_question);
        }
        self.ngrams.add(task, &self.hashes);
    }

    fn hashes_of(&mut self, text: &str) {
        self.hashes.clear();
        (self.cut)(text, &mut self.hashes);
    }

    /// Ready for documents.
    pub fn finish(self, budget: &Arc<dyn Budget>) -> Result<DropMatcher> {
        Ok(DropMatcher { ngrams: self.ngrams.finish(budget)? })
    }
}

/// Tests documents; shared by threads.
pub struct DropMatcher {
    ngrams: TaskNgrams,
}

/// Why a document goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DropHit<'a> {
    /// The place of the first n-gram found, among those of the document.
    pub ngram: usize,
    /// The task it belongs to.
    pub task: &'a str,
}

impl DropMatcher {
    /// Tests a document by the hashes of its n-grams, in order, and counts it.
    pub fn find(&self, hashes: &[u64]) -> Option<DropHit<'_>> {
        let (at, first) = hashes.iter().enumerate().find_map(|(at, &hash)| Some((at, self.ngrams.find(hash)?)))?;
        let rest = hashes[at + 1..].iter().filter_map(|&hash| self.ngrams.find(hash));
        let found: Vec<u32> = std::iter::once(first).chain(rest).collect();
        self.ngrams.count_document(&found);
        Some(DropHit { ngram: at, task: self.ngrams.task_of(first) })
    }

    /// The n-grams and what was found of them.
    pub fn ngrams(&self) -> &TaskNgrams {
        &self.ngrams
    }
}
