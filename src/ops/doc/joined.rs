//! Repeated word n-grams found by a greedy walk, with words compared run together.
//!
//! From left to right: an n-gram whose letters, run together, were seen at an earlier stop of the walk counts with its
//! length, and the walk goes on after it; any other is remembered, and the walk goes on with the next word. `a bc` and
//! `ab c` are the same here, which is why this cannot be read off the levels of `grams.rs`.
//!
//! Most n-grams are ruled out before they are hashed: if the first or last 16 bytes of an n-gram are found at no
//! other beginning or end of a word, it is not repeated. In prose few beginnings are left, and only these are gone through
//! for each n.
//!
//! Invariant: exact, in time linear in the document times n.

use super::counters::Counters;
use super::intern::{clear, spread};
use super::run_together::{RunTogether, WINDOW};
use xxhash_rust::xxh3::xxh3_64;

/// The characters in repeated n-grams, for each n asked for.
#[derive(Debug, Default)]
pub struct JoinedGrams {
    /// Whether the window that ends where each word begins, or all end, may be repeated.
    tail_repeats: Vec<bool>,
    /// The words at which a repeated n-gram may begin, for any n asked for.
    candidates: Vec<u32>,
    /// Those of them that are left for one n.
    likely: Vec<u32>,
    counters: Counters,
    seen: Vec<Seen>,
    repeated_chars: Vec<(usize, usize)>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Seen {
    hash: u64,
    /// The word where it begins, and one; 0 for a free slot.
    taken: u32,
}

impl JoinedGrams {
    /// Walks over `words` once for each of `lengths`, which come in ascending order.
    pub(super) fn read(&mut self, words: &RunTogether, lengths: impl Iterator<Item = usize>) {
        self.repeated_chars.clear();
        let mut lengths = lengths.peekable();
        let Some(shortest) = lengths.peek().copied() else { return };
        self.find_candidates(words, shortest);
        for n in lengths {
            let n_chars = self.walk(words, n);
            self.repeated_chars.push((n, n_chars));
        }
    }

    /// Finds where repeated n-grams of at least `shortest` words may begin, and where they may end.
    fn find_candidates(&mut self, words: &RunTogether, shortest: usize) {
        let starts = &words.starts;
        self.counters.count(starts.iter().map(|start| words.hash::<WINDOW>(*start as usize - WINDOW)), |_| {});
        self.tail_repeats.clear();
        self.tail_repeats.extend(self.counters.repeats());
        self.counters.count(starts.iter().map(|start| words.hash::<WINDOW>(*start as usize)), |_| {});
        self.candidates.clear();
        // An n-gram shorter than a window is always looked at.
        let is_short = |at: usize| starts.get(at + shortest).is_some_and(|end| end - starts[at] < WINDOW as u32);
        let candidates = self.counters.repeats().enumerate().filter(|(at, repeats)| *repeats || is_short(*at));
        self.candidates.extend(candidates.map(|(at, _)| at as u32));
    }

    fn walk(&mut self, words: &RunTogether, n: usize) -> usize {
        self.pick_likely(&words.starts, n);
        let gram = |at: usize| words.gram(at, n);
        let shift = clear(&mut self.seen, self.likely.len());
        let mut n_chars = 0;
        let mut next = 0;
        for &at in &self.likely {
            let at = at as usize;
            if at >= next && was_seen(&mut self.seen, shift, at, gram) {
                n_chars += gram(at).iter().filter(|byte| (**byte as i8) >= -0x40).count();
                next = at + n;
            }
        }
        n_chars
    }

    /// Picks the candidates whose n-gram may end like another, too. Which do cannot be foreseen: each is written to the
    /// next place, and the place is kept or not.
    fn pick_likely(&mut self, starts: &[u32], n: usize) {
        let n_grams = starts.len().saturating_sub(n);
        let n_candidates = self.candidates.partition_point(|at| (*at as usize) < n_grams);
        self.likely.clear();
        self.likely.resize(n_candidates, 0);
        let mut n_likely = 0;
        for &at in &self.candidates[..n_candidates] {
            let (start, end) = (at as usize, at as usize + n);
            let is_short = starts[end] - starts[start] < WINDOW as u32;
            self.likely[n_likely] = at;
            n_likely += usize::from(self.tail_repeats[end] | is_short);
        }
        self.likely.truncate(n_likely);
    }

    /// The characters in repeated n-grams; `n` is one that was asked for.
    pub fn repeated_chars(&self, n: usize) -> usize {
        self.repeated_chars.iter().find(|(of, _)| *of == n).map_or(0, |(_, n_chars)| *n_chars)
    }
}

/// Whether the n-gram at `at` is remembered; it is from now on.
fn was_seen<'l>(seen: &mut [Seen], shift: u32, at: usize, gram: impl Fn(usize) -> &'l [u8]) -> bool {
    let hash = xxh3_64(gram(at));
    let mut place = spread(hash) >> shift;
    loop {
        let slot = &mut seen[place as usize];
        if slot.taken == 0 {
            *slot = Seen { hash, taken: at as u32 + 1 };
            return false;
        }
        if slot.hash == hash && gram(slot.taken as usize - 1) == gram(at) {
            return true;
        }
        place = (place + 1) & (u64::MAX >> shift);
    }
}
