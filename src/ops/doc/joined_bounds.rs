//! How much can repeat among the n-grams of words run together at most, without walking over them for each n.
//!
//! For each word, how far the letters from there on are found from an earlier word on: an n-gram that is longer was not
//! met before. Words that begin alike are chained by a hash of their first letters.
//!
//! ```text
//! letters    t h e c a t s a t t h e c a t r a n
//! starts     0     1     2     3     4     5
//! reach                        6 (thecat)  ·           the 2-gram `the cat` may be met again at 3, no 3-gram is
//! ```
//! Invariant: a bound is never below what `joined.rs` finds. Lengths are bytes, which are no fewer than characters. Time
//! is linear in the document: what takes longer to find out counts as repeated.

use super::gram_needs::Lengths;
use super::intern::{clear, eight};
use super::run_together::RunTogether;

/// The letters by which words are chained. About shorter n-grams nothing is found out: they count as repeated.
const HEAD: usize = 14;
/// Slots for each word: few chains hold words that begin differently.
const SLOTS_EACH: usize = 4;
/// No more than so many, as in `counters.rs`.
const MOST_SLOTS: usize = 1 << 22;
/// Comparisons of eight letters for each word, all together. When they are used up, what is left counts as repeated.
const COMPARISONS_EACH: u32 = 8;

/// Bounds on what repeats among the n-grams of words run together.
#[derive(Debug, Default)]
pub struct JoinedBounds {
    /// For each hash of first letters the last word that has it, and one; 0 for none.
    slots: Vec<u32>,
    /// For each word the one before it in its chain, and one; 0 for none.
    earlier: Vec<u32>,
    /// The words that have one before them in their chain, or begin a short n-gram.
    candidates: Vec<u32>,
    reaches: Vec<Reach>,
    repeated_bytes: Vec<(usize, usize)>,
}

/// How many letters from a word on may be found from an earlier word on.
#[derive(Debug, Clone, Copy, Default)]
struct Reach {
    at: u32,
    n_bytes: u32,
}

impl JoinedBounds {
    /// Bounds for the n-grams of these lengths.
    pub(super) fn read(&mut self, words: &RunTogether, lengths: Lengths) {
        let shortest = lengths.shortest();
        self.chain(words, shortest);
        self.reaches.clear();
        let mut n_left = COMPARISONS_EACH.saturating_mul(words.starts.len() as u32);
        for &at in &self.candidates {
            let n_bytes = self.reach(words, at as usize, &mut n_left);
            if n_bytes >= words.gram(at as usize, shortest).len() as u32 {
                self.reaches.push(Reach { at, n_bytes });
            }
        }
        self.repeated_bytes.clear();
        for n in lengths.iter() {
            let n_bytes = self.sum_up(&words.starts, n);
            self.repeated_bytes.push((n, n_bytes));
        }
    }

    /// Chains the words at which n-grams of `shortest` words begin.
    fn chain(&mut self, words: &RunTogether, shortest: usize) {
        let ends = words.starts.get(shortest..).unwrap_or_default();
        let shift = clear(&mut self.slots, (ends.len() * SLOTS_EACH).min(MOST_SLOTS));
        // Which words are candidates cannot be foreseen: each is written to the next place, and the place is kept or not.
        self.candidates.clear();
        self.candidates.resize(ends.len(), 0);
        self.earlier.clear();
        self.earlier.resize(ends.len(), 0);
        let mut n_candidates = 0;
        for ((at, earlier), (start, end)) in (0_u32..).zip(&mut self.earlier).zip(words.starts.iter().zip(ends)) {
            let slot = &mut self.slots[(words.hash::<HEAD>(*start as usize) >> shift) as usize];
            let before = std::mem::replace(slot, at + 1);
            *earlier = before;
            self.candidates[n_candidates] = at;
            n_candidates += usize::from((before > 0) | (end - start < HEAD as u32));
        }
        self.candidates.truncate(n_candidates);
    }

    /// How many letters from a word on are found from an earlier word on, at most.
    fn reach(&self, words: &RunTogether, at: usize, n_comparisons: &mut u32) -> u32 {
        let mut reach = HEAD as u32 - 1;
        let mut earlier = self.earlier[at];
        while let Some(other) = earlier.checked_sub(1) {
            let Some(n_equal) = n_equal(&words.letters, words.starts[at], words.starts[other as usize], n_comparisons)
            else {
                return u32::MAX;
            };
            reach = reach.max(n_equal);
            earlier = self.earlier[other as usize];
        }
        reach
    }

    /// The bytes of the n-grams that may be met again, each counted once.
    fn sum_up(&self, starts: &[u32], n: usize) -> usize {
        let n_grams = starts.len().saturating_sub(n);
        let n_reaches = self.reaches.partition_point(|reach| (reach.at as usize) < n_grams);
        let (mut n_bytes, mut counted_to) = (0, 0);
        for reach in &self.reaches[..n_reaches] {
            let (start, end) = (starts[reach.at as usize], starts[reach.at as usize + n]);
            let is_repeated = end - start <= reach.n_bytes;
            n_bytes += if is_repeated { end - start.max(counted_to) } else { 0 };
            counted_to = if is_repeated { end } else { counted_to };
        }
        n_bytes as usize
    }

    /// The most bytes in n-grams that are met again; `n` is one that was asked for.
    pub fn repeated_bytes(&self, n: usize) -> usize {
        self.repeated_bytes.iter().find(|(of, _)| *of == n).map_or(0, |(_, n_bytes)| *n_bytes)
    }
}

/// How many letters are equal from two places on. `None` if that takes more comparisons than there are left.
#[inline(always)]
fn n_equal(letters: &[u8], at: u32, other: u32, n_comparisons: &mut u32) -> Option<u32> {
    for place in (0..).step_by(8) {
        *n_comparisons = n_comparisons.checked_sub(1)?;
        let differ = eight(letters, (at + place) as usize)? ^ eight(letters, (other + place) as usize)?;
        if differ != 0 {
            return Some(place + differ.trailing_zeros() / 8);
        }
    }
    None
}
