//! How much can repeat among the word n-grams at most, without finding what does.
//!
//! ```text
//! words                   a   b   c   a   b   d
//! pairs occur at most       2   1   1   2   1       counted by hash: no less than they do occur
//! they may come again       ·   ·   ·   ×   ·
//! 3-grams occur at most     1   1   1   1           the least of their pairs
//! ```
//! A rule that drops documents above a limit seldom needs more: most documents stay far below it, and only the others
//! are looked into (`grams.rs`).
//!
//! Invariant: a bound is never below what `grams.rs` finds. Lengths are bytes, which are no fewer than characters, with
//! the white space between the words of an n-gram. Of n = 1 nothing is known.

use super::counters::Counters;
use super::gram_needs::Lengths;
use super::grams::pair_hash;
use super::intern::eight;
use super::words::Word;
use crate::ops::simd::level;
use fearless_simd::dispatch;

/// Bounds on what repeats among the n-grams of a document's words.
#[derive(Debug, Default)]
pub struct GramBounds {
    n_words: usize,
    counters: Counters,
    /// For each pair of neighbours how often it occurs at most; then for longer n-grams.
    counts: Vec<u8>,
    /// For each pair of neighbours 1 if it may have come before; then for longer n-grams.
    comes_again: Vec<u8>,
    /// For each n asked for, the most bytes that all occurrences of an n-gram can have.
    top: Vec<(usize, usize)>,
    /// Where all pairs of neighbours may have come before.
    again: Vec<WordRun>,
}

/// Neighbouring words.
#[derive(Debug, Clone, Copy)]
struct WordRun {
    n_words: usize,
    /// From the beginning of the first to the end of the last.
    n_bytes: usize,
}

impl GramBounds {
    /// Bounds for n-grams of words, which are places in `text`: on the most frequent one, and on those that come again.
    pub(super) fn read(&mut self, text: &str, words: &[Word], top: Lengths, again: Lengths) {
        let text = text.as_bytes();
        let mut left = words.first().map_or(0, |word| word_hash(text, *word));
        let pairs = words.get(1..).unwrap_or_default().iter().map(|word| {
            let right = word_hash(text, *word);
            pair_hash(&[std::mem::replace(&mut left, right), right])
        });
        if again.is_empty() {
            self.counters.count(pairs, |_| {});
        } else {
            self.comes_again.clear();
            self.comes_again.resize(pairs.len(), 0);
            let mut comes_again = self.comes_again.iter_mut();
            let note = |again| comes_again.next().into_iter().for_each(|noted| *noted = u8::from(again));
            self.counters.count(pairs, note);
            self.find_again(words, again.shortest().max(2));
        }
        self.find_top(words, top);
    }

    /// Bounds for n-grams that are looked for as strings, with a space between their words, and are found also where the
    /// first word is the end of one and the last the beginning of one. So pairs are counted by the bytes next to the space.
    pub(super) fn read_ends(&mut self, text: &str, words: &[Word], top: Lengths) {
        let text = text.as_bytes();
        let ends = |[left, right]: &[Word; 2]| {
            let bytes = u64::from(text[left.end as usize - 1]) << 8 | u64::from(text[right.start as usize]);
            bytes.wrapping_mul(0x9e37_79b9_7f4a_7c15)
        };
        self.counters.count(words.array_windows().map(ends), |_| {});
        self.find_top(words, top);
    }

    fn find_top(&mut self, words: &[Word], asked: Lengths) {
        self.top.clear();
        self.counts.clear();
        self.counts.extend(self.counters.counts());
        for n in 2..=asked.longest().min(words.len()) {
            if n > 2 {
                shorten(&mut self.counts);
            }
            if asked.has(n) {
                self.top.push((n, dispatch!(level(), _simd => most_bytes(&self.counts, words, n))));
            }
        }
    }

    /// Finds the runs of at least `shortest` words.
    fn find_again(&mut self, words: &[Word], shortest: usize) {
        self.again.clear();
        self.n_words = words.len();
        if shortest > words.len() {
            return;
        }
        for _ in 2..shortest {
            shorten(&mut self.comes_again);
        }
        let mut from = 0;
        while let Some(found) = memchr::memchr(1, &self.comes_again[from..]) {
            let start = from + found;
            let n_grams = self.comes_again[start..].iter().take_while(|again| **again == 1).count();
            let run = &words[start..start + n_grams + shortest - 1];
            let n_bytes = run.last().map_or(0, |last| last.end - run[0].start) as usize;
            self.again.push(WordRun { n_words: run.len(), n_bytes });
            from = start + n_grams;
        }
    }

    /// The most bytes that all occurrences of an n-gram can have. `None` if there is no bound; `n` was asked for.
    pub fn top_bytes(&self, n: usize) -> Option<usize> {
        self.top.iter().find(|(of, most)| *of == n && *most < usize::MAX).map(|(_, most)| *most)
    }

    /// The most bytes in n-grams that came before, words in several counted once. `None` if there is no n-gram, or for
    /// n = 1; `n` was asked for.
    pub fn again_bytes(&self, n: usize) -> Option<usize> {
        let runs = self.again.iter().filter(|run| run.n_words >= n);
        (n > 1 && n <= self.n_words).then(|| runs.map(|run| run.n_bytes).sum())
    }
}

/// A hash of a word. Long words that begin alike and are of equal length count as equal.
#[inline(always)]
fn word_hash(text: &[u8], word: Word) -> u64 {
    let (start, n_bytes) = (word.start as usize, word.n_bytes());
    let head = match eight(text, start) {
        Some(head) => head & (u64::MAX >> (64 - 8 * n_bytes.min(8) as u32)),
        // As above, in the last bytes of the text.
        None => text[start..start + n_bytes].iter().rev().fold(0, |head, byte| head << 8 | u64::from(*byte)),
    };
    (head ^ (n_bytes as u64) << 56).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// From what holds of n-grams to what holds of both n-grams in each (n + 1)-gram.
fn shorten(least: &mut Vec<u8>) {
    for at in 1..least.len() {
        least[at - 1] = least[at - 1].min(least[at]);
    }
    least.pop();
}

/// The greatest product of how often an n-gram occurs at most and its length; [`usize::MAX`] if it is not known how often.
#[inline(always)]
fn most_bytes(counts: &[u8], words: &[Word], n: usize) -> usize {
    let ends = words.get(n - 1..).unwrap_or_default();
    let mut most = 0;
    let mut most_often = 0;
    for (count, (first, last)) in counts.iter().zip(words.iter().zip(ends)) {
        most = most.max(u64::from(*count) * u64::from(last.end - first.start));
        most_often = most_often.max(*count);
    }
    if most_often == u8::MAX { usize::MAX } else { most as usize }
}
