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
use super::intern::piece_hash;
use super::words::Word;

/// Bounds on what repeats among the n-grams of a document's words.
#[derive(Debug, Default)]
pub struct GramBounds {
    hashes: Vec<u64>,
    counters: Counters,
    n_words: usize,
    /// For each pair of neighbours how often it occurs at most; then for longer n-grams.
    counts: Vec<u8>,
    /// For each pair of neighbours 1 if it may have come before; then for longer n-grams.
    comes_again: Vec<u8>,
    /// For each n asked for, the most bytes that all occurrences of an n-gram can have.
    top: Vec<(usize, usize)>,
    /// Where all pairs of neighbours may have come before.
    again: Vec<Run>,
}

/// Neighbouring words.
#[derive(Debug, Clone, Copy)]
struct Run {
    n_words: usize,
    /// From the beginning of the first to the end of the last.
    n_bytes: usize,
}

impl GramBounds {
    /// Bounds for n-grams of words, which are places in `text`: on the most frequent one, and on those that come again.
    pub(super) fn read(&mut self, text: &str, words: &[Word], top: Lengths, again: Lengths) {
        self.hashes.clear();
        self.hashes.extend(words.iter().map(|word| piece_hash(text.as_bytes(), (word.start, word.end))));
        self.comes_again.clear();
        let comes_again = &mut self.comes_again;
        self.counters.count(self.hashes.array_windows().map(pair_hash), |again| comes_again.push(u8::from(again)));
        self.find_top(words, top);
        self.find_again(words, again.shortest().max(2));
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
                let most = if self.counts.contains(&u8::MAX) { usize::MAX } else { longest(&self.counts, words, n) };
                self.top.push((n, most));
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
            self.again.push(Run { n_words: run.len(), n_bytes });
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

/// From what holds of n-grams to what holds of both n-grams in each (n + 1)-gram.
fn shorten(least: &mut Vec<u8>) {
    for at in 1..least.len() {
        least[at - 1] = least[at - 1].min(least[at]);
    }
    least.pop();
}

/// The greatest product of how often an n-gram occurs and its length.
fn longest(counts: &[u8], words: &[Word], n: usize) -> usize {
    let ends = words.get(n - 1..).unwrap_or_default();
    let lengths = words.iter().zip(ends).map(|(first, last)| last.end - first.start);
    counts.iter().zip(lengths).map(|(count, length)| u64::from(*count) * u64::from(length)).max().unwrap_or(0) as usize
}
