//! Word n-grams that occur more than once, for each n asked for.
//!
//! ```text
//! words   a b c a b d        numbered       0 1 2 0 1 3
//! 1-grams that repeat        at 0 1 3 4     0 1 · 0 1 ·
//! 2-grams: neighbours of these, as pairs    (0,1) at 0, (0,1) at 3; the rest cannot repeat
//! 3-grams: none left: done
//! ```
//! An n-gram is the pair of its two (n−1)-grams and can repeat only if both do. So each level looks only at what
//! the level before left over, which in prose is next to nothing from 4 on, and texts are compared for single words
//! only. What statistics ask is summed up level by level; the n-grams themselves are not kept.
//!
//! If nobody asks about single words, those are left out whose pairs with their neighbours cannot repeat (`counters.rs`).
//!
//! Invariant: exact, in time and memory linear in the words times the longest n.
//! Not here: n-grams that are compared without their word boundaries (`joined.rs`).

use super::counters::Counters;
use super::gram_needs::Lengths;
use super::intern::{Pairs, Pieces, piece_hash};
use super::words::Word;

/// The longest n-gram that can be asked for.
pub const LONGEST_GRAM: usize = 64;

/// What repeats among the n-grams of a document's words.
#[derive(Debug, Default)]
pub struct Grams {
    /// Characters in the words before each word, and in all at the end.
    chars_before: Vec<u32>,
    /// How often each distinct word occurs, in the order of first occurrence. For the 1-grams only.
    pub(super) word_counts: Vec<u32>,
    /// What was asked for, and found: a level for each n, up to the longest that repeats. Levels that were only passed
    /// through hold nothing.
    levels: Vec<Level>,
    pieces: Pieces,
    pairs: Pairs,
    /// A hash of each word, and what rules out pairs of them.
    hashes: Vec<u64>,
    counters: Counters,
    found: Vec<Found>,
    /// Those of `found` that follow directly on the one before.
    neighbours: Vec<u32>,
    tallies: Tallies,
}

/// What repeats among the n-grams of one n. Positions are words, lengths characters without white space.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    /// How often the most frequent n-gram occurs; 0 if there are fewer than n words.
    pub top_count: usize,
    /// The word where it begins first. Of equally frequent ones it is the one that comes first in the text.
    pub top_start: usize,
    /// Occurrences of n-grams that occur more than once.
    pub n_repeated: usize,
    /// The sum of their lengths; words in several count several times.
    pub repeated_chars: usize,
    /// Length of the words in at least one of them.
    pub covered_chars: usize,
    /// Length of the words in an occurrence of the most frequent n-gram, if it occurs more than once; of equally
    /// frequent ones it is the longest, then the first.
    pub top_covered_chars: usize,
    /// Length of the words in an occurrence that is not the first of its n-gram, each with a space between the words
    /// of one occurrence (not before the words that continue one).
    pub later_chars: usize,
}

/// An n-gram at a place.
#[derive(Debug, Clone, Copy)]
struct Found {
    at: u32,
    number: u32,
}

/// How often an n-gram occurs, and where first.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    count: u32,
    first: u32,
}

/// A tally for each distinct n-gram. Whether an n-gram is new cannot be foreseen, so the place for the next one is always
/// there, and counting decides nothing.
#[derive(Debug, Default)]
struct Tallies {
    /// Those that are counted, and room.
    all: Vec<Tally>,
    n: usize,
}

impl Tallies {
    /// Forgets all, and makes room for `n_most`.
    fn clear(&mut self, n_most: usize) {
        self.all.resize(n_most.max(self.all.len()), Tally::default());
        self.n = 0;
    }

    /// The number that a new n-gram gets.
    fn next(&self) -> u32 {
        self.n as u32
    }

    /// Counts the n-gram `number`, which is known or the next one.
    #[inline(always)]
    fn count(&mut self, number: u32, at: u32) {
        let is_new = number as usize == self.n;
        let tally = &mut self.all[number as usize];
        let (count, first) = if is_new { (0, at) } else { (tally.count, tally.first) };
        *tally = Tally { count: count + 1, first };
        self.n += usize::from(is_new);
    }

    fn all(&self) -> &[Tally] {
        &self.all[..self.n]
    }
}

impl Grams {
    /// Counts the n-grams of `words`, which are places in `text`.
    pub(super) fn read(&mut self, text: &str, words: &[Word], asked: Lengths) {
        self.measure(text, words);
        self.levels.clear();
        if asked.has(1) {
            self.find_all(words.len());
        } else {
            self.find_in_pairs(text.as_bytes(), words);
        }
        self.number_words(text.as_bytes(), words);
        self.word_counts.clear();
        self.word_counts.extend(self.tallies.all().iter().map(|tally| tally.count));
        for n in 1..=asked.longest().min(words.len()) {
            if n > 1 {
                self.number_pairs();
            }
            self.keep_repeated();
            let level = if asked.has(n) { self.sum_up(n) } else { Level::default() };
            self.levels.push(level);
            if self.found.is_empty() {
                break;
            }
        }
    }

    fn measure(&mut self, text: &str, words: &[Word]) {
        let is_ascii = text.is_ascii();
        let mut n_chars = 0;
        self.chars_before.clear();
        self.chars_before.reserve(words.len() + 1);
        self.chars_before.push(0);
        for word in words {
            n_chars += word.end - word.start;
            if !is_ascii {
                n_chars -= n_continuing(&text.as_bytes()[word.start as usize..], (word.end - word.start) as usize);
            }
            self.chars_before.push(n_chars);
        }
    }

    /// Takes all words.
    fn find_all(&mut self, n_words: usize) {
        self.found.clear();
        self.found.extend((0..n_words as u32).map(|at| Found { at, number: 0 }));
    }

    /// Takes the words of pairs that may repeat.
    fn find_in_pairs(&mut self, text: &[u8], words: &[Word]) {
        self.hashes.clear();
        self.hashes.extend(words.iter().map(|word| piece_hash(text, (word.start, word.end))));
        self.counters.count(self.hashes.array_windows().map(pair_hash), |_| {});
        // Which are taken cannot be foreseen: each is written to the next place, and the place is kept or not.
        self.found.clear();
        self.found.resize(words.len(), Found { at: 0, number: 0 });
        let mut n_found = 0;
        let mut begins_before = false;
        for (at, begins) in self.counters.repeats().chain([false]).enumerate().take(words.len()) {
            self.found[n_found] = Found { at: at as u32, number: 0 };
            n_found += usize::from(begins | begins_before);
            begins_before = begins;
        }
        self.found.truncate(n_found);
    }

    /// Numbers the words that were taken.
    fn number_words(&mut self, text: &[u8], words: &[Word]) {
        self.tallies.clear(self.found.len());
        self.pieces.clear(self.found.len());
        for found in &mut self.found {
            let (tallies, word) = (&self.tallies, words[found.at as usize]);
            found.number = self.pieces.number(text, (word.start, word.end), tallies.next(), |number| {
                let first = words[tallies.all[number as usize].first as usize];
                (first.start, first.end)
            });
            self.tallies.count(found.number, found.at);
        }
    }

    /// From the repeating n-grams to the (n+1)-grams made of them, in place.
    fn number_pairs(&mut self) {
        // Which have a neighbour cannot be foreseen, either: they are picked first.
        self.neighbours.clear();
        self.neighbours.resize(self.found.len(), 0);
        let mut n_neighbours = 0;
        for (right, pair) in (1_u32..).zip(self.found.array_windows::<2>()) {
            self.neighbours[n_neighbours] = right;
            n_neighbours += usize::from(pair[0].at + 1 == pair[1].at);
        }
        self.tallies.clear(n_neighbours);
        self.pairs.clear(n_neighbours);
        for place in 0..n_neighbours {
            let right = self.neighbours[place] as usize;
            let (left, right) = (self.found[right - 1], self.found[right]);
            let number = self.pairs.number((left.number, right.number), self.tallies.next());
            self.tallies.count(number, left.at);
            self.found[place] = Found { at: left.at, number };
        }
        self.found.truncate(n_neighbours);
    }

    /// Sums up the n-grams found, of which those that repeat are left.
    fn sum_up(&self, n: usize) -> Level {
        let mut level = Level { top_count: 1, ..Level::default() };
        // The most frequent, then longest; and its number.
        let mut longest_top = (1, 0, u32::MAX);
        for (number, tally) in (0_u32..).zip(self.tallies.all()) {
            let times = tally.count as usize;
            if times > level.top_count {
                (level.top_count, level.top_start) = (times, tally.first as usize);
            }
            if times > 1 && times >= longest_top.0 {
                let n_chars = self.chars(tally.first as usize, n);
                if (times, n_chars) > (longest_top.0, longest_top.1) {
                    longest_top = (times, n_chars, number);
                }
            }
        }
        let (mut covered_to, mut top_covered_to, mut later_to) = (0, 0, 0);
        for found in &self.found {
            let (start, end) = (found.at as usize, found.at as usize + n);
            level.n_repeated += 1;
            level.repeated_chars += self.chars(start, n);
            level.covered_chars += self.chars_since(covered_to, start, end);
            covered_to = end;
            if found.number == longest_top.2 {
                level.top_covered_chars += self.chars_since(top_covered_to, start, end);
                top_covered_to = end;
            }
            // Which are the first cannot be foreseen: summed up in any case, and counted or not.
            let is_later = found.at != self.tallies.all[found.number as usize].first;
            let n_new_words = end - start.max(later_to);
            let n_new_chars = self.chars_since(later_to, start, end) + n_new_words.min(n - 1);
            level.later_chars += if is_later { n_new_chars } else { 0 };
            later_to = if is_later { end } else { later_to };
        }
        level
    }

    /// Drops the n-grams that occur once. Each is written to the next place, and the place is kept or not: which n-grams
    /// repeat cannot be foreseen.
    fn keep_repeated(&mut self) {
        let mut n_kept = 0;
        for i in 0..self.found.len() {
            let found = self.found[i];
            self.found[n_kept] = found;
            n_kept += usize::from(self.tallies.all[found.number as usize].count > 1);
        }
        self.found.truncate(n_kept);
    }

    /// Characters from word `start`, or from where the last count ended if that is later, to word `end`.
    fn chars_since(&self, counted_to: usize, start: usize, end: usize) -> usize {
        (self.chars_before[end] - self.chars_before[start.max(counted_to)]) as usize
    }

    /// What repeats among the n-grams; `n` was asked for.
    pub(super) fn level(&self, n: usize) -> Level {
        let none = Level { top_count: usize::from(n <= self.n_words()), ..Level::default() };
        n.checked_sub(1).and_then(|place| self.levels.get(place)).copied().unwrap_or(none)
    }

    /// How many words there are.
    pub fn n_words(&self) -> usize {
        self.chars_before.len().saturating_sub(1)
    }

    /// Characters in all words.
    pub fn word_chars(&self) -> usize {
        self.chars_before.last().map_or(0, |n_chars| *n_chars as usize)
    }

    /// How many n-grams there are, all occurrences counted.
    pub fn n_grams(&self, n: usize) -> usize {
        (self.n_words() + 1).saturating_sub(n)
    }

    /// The length of the n-gram at word `start`; 0 if there is none.
    pub fn chars(&self, start: usize, n: usize) -> usize {
        let (from, to) = (self.chars_before.get(start), self.chars_before.get(start + n));
        from.zip(to).map_or(0, |(from, to)| (to - from) as usize)
    }

    /// The sum of the lengths of all n-grams.
    pub fn gram_chars(&self, n: usize) -> usize {
        (0..self.n_grams(n)).map(|start| self.chars(start, n)).sum()
    }
}

/// A hash of two things, given theirs, that chooses a counter.
#[inline(always)]
pub(super) fn pair_hash([left, right]: &[u64; 2]) -> u64 {
    (left.rotate_left(23) ^ right).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// How many of the first `n_bytes` of `text` continue a character. Words are short: eight bytes at a time, and the last
/// eight read past the word.
#[inline]
fn n_continuing(text: &[u8], n_bytes: usize) -> u32 {
    let mut n = 0;
    let mut at = 0;
    while at < n_bytes {
        let Some(eight) = text[at..].first_chunk::<8>() else {
            return n + text[at..n_bytes].iter().filter(|byte| **byte & 0xc0 == 0x80).count() as u32;
        };
        let eight = u64::from_le_bytes(*eight);
        let wanted = u64::MAX >> (64 - 8 * (n_bytes - at).min(8));
        n += (eight >> 7 & !(eight >> 6) & 0x0101_0101_0101_0101 & wanted).count_ones();
        at += 8;
    }
    n
}
