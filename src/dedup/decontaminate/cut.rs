//! `mode => 'cut'`: n-grams of tasks go with their surroundings, and the document falls into pieces (NeMo Curator
//! 0.9's `TaskDecontamination`).
//!
//! Two passes: the first counts how often each n-gram is found, the second cuts out those that were found at most
//! `max_matches` times. As in NeMo, a search goes on behind a match, so that of n-grams that overlap the first counts,
//! and at one place the longest is tried first and then the shortest up.
//! Differences: NeMo looks for the surroundings at the place that the match has in the text without punctuation, which
//! in long documents is another place and leaves the match in; and it does not search the last words of documents with
//! no more words than the longest n-gram.

use super::task_ngrams::{TaskNgrams, TaskNgramsBuilder};
use super::words::{Word, hash_of, prefixes, words};
use crate::Result;
use crate::dedup::{Budget, Decontaminate};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Collects the texts of tasks.
pub struct CutMatcherBuilder {
    spec: Decontaminate,
    ngrams: TaskNgramsBuilder,
    /// `lengths[n]`: whether there are n-grams of n words.
    lengths: Vec<bool>,
}

impl CutMatcherBuilder {
    /// No tasks yet.
    pub fn new(spec: &Decontaminate) -> Self {
        let lengths = vec![false; spec.ngram + 1];
        Self { spec: spec.clone(), ngrams: TaskNgramsBuilder::default(), lengths }
    }

    /// A text of a task: all its n-grams of full length count; a shorter text with enough words is one itself.
    pub fn add_text(&mut self, task: &str, text: &str) {
        let mut found = Vec::new();
        words(text, 0..text.len(), &mut found);
        let n = found.len().min(self.spec.ngram);
        let hashes: Vec<u64> = match n {
            _ if n == 0 || n < self.spec.min_ngram.min(self.spec.ngram) => Vec::new(),
            _ => found.windows(n).map(|words| of_length(hash_of(words), n)).collect(),
        };
        self.lengths[n] |= !hashes.is_empty();
        self.ngrams.add(task, &hashes);
    }

    /// Ready for documents.
    pub fn finish(self, budget: &Arc<dyn Budget>) -> Result<CutMatcher> {
        let ngrams = self.ngrams.finish(budget)?;
        let counts = (0..ngrams.len()).map(|_| AtomicU32::new(0)).collect();
        let longest = self.lengths.iter().rposition(|has| *has).unwrap_or(0);
        Ok(CutMatcher { spec: self.spec, ngrams, counts, lengths: self.lengths, longest })
    }
}

/// Hashes of n-grams of different lengths share a table.
fn of_length(hash: u64, n: usize) -> u64 {
    hash ^ (n as u64).wrapping_mul(0xa409_3822_299f_31d1)
}

/// Counts and cuts documents; shared by threads.
pub struct CutMatcher {
    spec: Decontaminate,
    ngrams: TaskNgrams,
    counts: Vec<AtomicU32>,
    lengths: Vec<bool>,
    longest: usize,
}

/// A document that is cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cutting<'a> {
    /// What is left, as ranges of bytes in order.
    pub pieces: Vec<Range<usize>>,
    /// Nothing is left, or too many pieces: the document goes.
    pub is_dropped: bool,
    /// What was found, in order.
    pub matches: Vec<CuttingMatch<'a>>,
}

/// An n-gram that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CuttingMatch<'a> {
    /// The task it belongs to.
    pub task: &'a str,
    /// Where it stands, in bytes.
    pub place: Range<usize>,
}

impl CutMatcher {
    /// The first pass: counts what is found.
    pub fn count(&self, text: &str) {
        let mut found = Vec::new();
        words(text, 0..text.len(), &mut found);
        let mut at = 0;
        while at < found.len() {
            match self.find(&found[at..], |_| true) {
                Some((ngram, n)) => {
                    self.counts[ngram as usize].fetch_add(1, Ordering::Relaxed);
                    at += n;
                }
                None => at += 1,
            }
        }
    }

    /// The second pass, after all documents are counted: none if nothing is to be cut out.
    pub fn apply(&self, text: &str) -> Option<Cutting<'_>> {
        let is_rare = |ngram: u32| {
            let n_found = self.counts[ngram as usize].load(Ordering::Relaxed) as usize;
            (1..=self.spec.max_matches).contains(&n_found)
        };
        let mut found = Vec::new();
        words(text, 0..text.len(), &mut found);
        let (mut pieces, mut matches, mut ngrams) = (Vec::new(), Vec::new(), Vec::new());
        // Where the rest of the text begins; none if nothing is left.
        let mut rest = Some(0);
        let mut at = 0;
        while let (Some(start), true) = (rest, at < found.len()) {
            let Some((ngram, n)) = self.find(&found[at..], is_rare) else {
                at += 1;
                continue;
            };
            let place = found[at].start..found[at + n - 1].end;
            let (before, after) = self.around(text, start, &place);
            pieces.extend(before.filter(|piece| self.is_long(&text[piece.clone()])));
            rest = after.filter(|after| self.is_long(&text[*after..]));
            matches.push(CuttingMatch { task: self.ngrams.task_of(ngram), place });
            ngrams.push(ngram);
            if let Some(cut) = rest {
                at += found[at..].partition_point(|word| word.end <= cut);
                shorten(&mut found, at, cut, text);
            }
        }
        if matches.is_empty() {
            return None;
        }
        pieces.extend(rest.map(|start| start..text.len()));
        self.ngrams.count_document(&ngrams);
        let is_dropped = pieces.is_empty() || pieces.len() > self.spec.max_splits;
        Some(Cutting { pieces, is_dropped, matches })
    }

    /// The n-gram that the words begin with, and how many words it has.
    #[inline]
    fn find(&self, words: &[Word], counts: impl Fn(u32) -> bool) -> Option<(u32, usize)> {
        let mut shorter = None;
        for (hash, n) in prefixes(words, self.longest).zip(1..) {
            if !self.lengths[n] || (shorter.is_some() && n < self.spec.ngram) {
                continue;
            }
            if let Some(ngram) = self.ngrams.find(of_length(hash, n)).filter(|ngram| counts(*ngram)) {
                if n == self.spec.ngram {
                    return Some((ngram, n));
                }
                shorter = Some((ngram, n));
            }
        }
        shorter
    }

    /// What is left before and after a match, in the text from `start` on: `remove_chars` characters go on each side,
    /// and then the rest of the sentence.
    fn around(&self, text: &str, start: usize, place: &Range<usize>) -> (Option<Range<usize>>, Option<usize>) {
        let ends_sentence = |c: char| matches!(c, '.' | '!' | '?');
        let mut before = text[start..place.start].char_indices().rev().skip(self.spec.remove_chars.saturating_sub(1));
        let before = before.find(|(_, c)| ends_sentence(*c)).map(|(at, _)| at).filter(|at| *at > 0);
        let mut after = text[place.end..].char_indices().skip(self.spec.remove_chars);
        let after = after.find(|(_, c)| ends_sentence(*c)).map(|(at, _)| place.end + at + 1);
        (before.map(|at| start..start + at + 1), after.filter(|at| *at < text.len()))
    }

    /// Whether a piece has more characters than a piece must have.
    fn is_long(&self, piece: &str) -> bool {
        piece.chars().nth(self.spec.min_document_chars).is_some()
    }

    /// The n-grams and what was found of them.
    pub fn ngrams(&self) -> &TaskNgrams {
        &self.ngrams
    }
}

/// If a cut goes through a word, it begins there from now on.
fn shorten(words_found: &mut [Word], at: usize, cut: usize, text: &str) {
    if let Some(word) = words_found.get_mut(at)
        && word.start < cut
    {
        let mut left = Vec::with_capacity(1);
        words(text, cut..word.end, &mut left);
        if let Some(left) = left.first() {
            *word = *left;
        }
    }
}
