//! Repeated word n-grams found by a greedy walk, with words compared run together.
//!
//! From left to right: an n-gram whose letters, run together, were seen at an earlier stop of the walk counts with its
//! length, and the walk goes on after it; any other is remembered, and the walk goes on with the next word. `a bc` and
//! `ab c` are the same here, which is why this cannot be read off the levels of `grams.rs`.
//!
//! Most n-grams are ruled out before they are hashed: if the first or last 16 bytes of an n-gram are found at no
//! other beginning or end of a word, it is not repeated.
//!
//! Invariant: exact, in time linear in the document times n.

use super::intern::{clear, spread};
use super::words::Word;
use xxhash_rust::xxh3::xxh3_64;

const WINDOW_BYTES: usize = 16;
/// Counters for each word: few enough to stay in the cache, many enough that few windows share one by chance.
const COUNTERS_PER_WORD: usize = 8;

/// The characters in repeated n-grams, for each n asked for.
#[derive(Debug, Default)]
pub struct JoinedGrams {
    /// The words run together.
    letters: Vec<u8>,
    /// Where each word begins in `letters`, and the end.
    starts: Vec<u32>,
    /// Whether the window that begins, or ends, at each of `starts` may be repeated.
    head_repeats: Vec<bool>,
    tail_repeats: Vec<bool>,
    counters: Vec<u8>,
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
    /// Walks over `words`, which are places in `text`, once for each of `lengths`.
    pub(super) fn read(&mut self, text: &str, words: &[Word], lengths: impl Iterator<Item = usize>) {
        self.letters.clear();
        self.starts.clear();
        self.starts.push(0);
        for word in words {
            self.letters.extend_from_slice(word.of(text).as_bytes());
            self.starts.push(self.letters.len() as u32);
        }
        let (letters, starts) = (&self.letters, &self.starts);
        let head = |at: u32| letters[at as usize..].first_chunk::<WINDOW_BYTES>().copied();
        let tail = |at: u32| letters[..at as usize].last_chunk::<WINDOW_BYTES>().copied();
        flag_repeats(starts, head, &mut self.counters, &mut self.head_repeats);
        flag_repeats(starts, tail, &mut self.counters, &mut self.tail_repeats);
        self.repeated_chars.clear();
        for n in lengths {
            let n_chars = self.walk(n);
            self.repeated_chars.push((n, n_chars));
        }
    }

    fn walk(&mut self, n: usize) -> usize {
        let n_grams = self.starts.len().saturating_sub(n);
        let letters = &self.letters;
        let gram = |at: usize| &letters[self.starts[at] as usize..self.starts[at + n] as usize];
        let may_repeat = |at: usize| {
            let n_bytes = (self.starts[at + n] - self.starts[at]) as usize;
            n_bytes < WINDOW_BYTES || (self.head_repeats[at] && self.tail_repeats[at + n])
        };
        let shift = clear(&mut self.seen, (0..n_grams).filter(|at| may_repeat(*at)).count());
        let mut n_chars = 0;
        let mut at = 0;
        while at < n_grams {
            if may_repeat(at) && was_seen(&mut self.seen, shift, at, gram) {
                n_chars += gram(at).iter().filter(|byte| (**byte as i8) >= -0x40).count();
                at += n;
            } else {
                at += 1;
            }
        }
        n_chars
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

/// Sets for each place whether its window has company. Windows that share a counter count as equal.
fn flag_repeats(
    places: &[u32],
    window: impl Fn(u32) -> Option<[u8; WINDOW_BYTES]>,
    counters: &mut Vec<u8>,
    flags: &mut Vec<bool>,
) {
    let shift = clear(counters, places.len() * COUNTERS_PER_WORD);
    let counter = |place: u32| {
        let window = u128::from_le_bytes(window(place)?);
        Some((spread(spread(window as u64) ^ (window >> 64) as u64) >> shift) as usize)
    };
    for place in places {
        if let Some(counter) = counter(*place) {
            counters[counter] = counters[counter].saturating_add(1);
        }
    }
    flags.clear();
    flags.extend(places.iter().map(|place| counter(*place).is_some_and(|counter| counters[counter] > 1)));
}
