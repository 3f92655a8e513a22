//! The walk: characters by kind and words, in one way over the bytes.
//!
//! Sixty-four bytes become masks (`block.rs`), and the masks are worked on as numbers:
//!
//! ```text
//! text      t w o   w o r d s .         a word is a run of bytes that are no white space
//! word      1 1 1 0 1 1 1 1 1 1 0 0     written with the first byte left; numbers have it right, so << moves right here
//! word<<1   0 1 1 1 0 1 1 1 1 1 1 0
//! edges     1 0 0 1 1 0 0 0 0 0 1 0     word ^ word<<1: where words begin and end, in turn
//! ```
//! Which words hold a letter falls out of one addition. `word + letter` carries through a run exactly if the run has a
//! letter, and the carry comes to rest in the white space behind it: `(word + letter) & !word` has one bit for each such
//! word. A carry out of the last bit is added to the next block, where it continues the run.
//!
//! A character outside ASCII is looked up once ([`Classes`]): it is counted, and its bits are set in the masks.
//!
//! Invariant: places and counts are those of `text.split(is_space)`; a test compares with that on random text.
//! Not here: lines, which a search for line feeds finds.

use super::block::{BLOCK, Masks};
use super::chars::CharCounts;
use super::words::{Word, WordCounts, WordLengths, Words};
use crate::ops::scan::{Classes, Properties};

/// What is to be found.
pub(super) struct Parts<'d> {
    pub(super) chars: &'d mut CharCounts,
    pub(super) counts: &'d mut WordCounts,
    pub(super) words: &'d mut Words,
    pub(super) lengths: &'d mut WordLengths,
}

/// How much is found of the words; each level includes those before it.
pub(super) const NO_WORDS: u8 = 0;
pub(super) const COUNTS: u8 = 1;
pub(super) const SPANS: u8 = 2;
pub(super) const LENGTHS: u8 = 3;

/// Finds the parts that are asked for.
pub(super) fn walk<const CHARS: bool, const WORDS: u8>(text: &str, parts: Parts) {
    let Parts { chars, counts, words, lengths } = parts;
    let bytes = text.as_bytes();
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    let mut state = Walk::<CHARS, WORDS> {
        bytes,
        classes: Classes::get(),
        tables: [[0; 256]; 4],
        wide: [0; 64],
        counts: WordCounts::default(),
        spans: std::mem::take(&mut words.spans),
        lengths,
        open_word: 0,
        open_chars: 0,
        in_word: 0,
        carry: 0,
        wide_space: 0,
        n_inner: 0,
    };
    state.spans.clear();
    if WORDS >= LENGTHS {
        state.lengths.clear();
    }
    for (number, block) in blocks.iter().enumerate() {
        state.block(block, number * BLOCK);
    }
    // White space after the end closes the last word; a whole block of it if the text fills its blocks.
    let mut last = [b' '; BLOCK];
    last[..rest.len()].copy_from_slice(rest);
    state.block(&last, blocks.len() * BLOCK);

    if CHARS {
        chars.n_chars = bytes.len() - state.n_inner;
        for (byte, count) in chars.ascii.iter_mut().enumerate() {
            *count = state.tables.iter().map(|table| table[byte]).sum();
        }
        chars.ascii[usize::from(b' ')] -= (BLOCK - rest.len()) as u32;
        chars.wide = state.wide;
    }
    if WORDS >= LENGTHS {
        state.lengths.sort();
    }
    if WORDS >= COUNTS {
        *counts = state.counts;
    }
    words.spans = state.spans;
    words.n_chars = counts.n_chars;
}

struct Walk<'t, const CHARS: bool, const WORDS: u8> {
    bytes: &'t [u8],
    classes: &'static Classes,
    /// How often each byte occurs. Four tables in turn: equal neighbours do not wait for each other.
    tables: [[u32; 256]; 4],
    /// How many characters outside ASCII are of each class.
    wide: [u32; 64],
    counts: WordCounts,
    spans: Vec<Word>,
    lengths: &'t mut WordLengths,
    /// Where the word that reaches into this block begins, and the characters it has before.
    open_word: u32,
    open_chars: u32,
    /// 1 if the block before ended in a word.
    in_word: u64,
    /// 1 if that word has a letter.
    carry: u64,
    /// White-space bytes that a character of the block before has in this one.
    wide_space: u64,
    n_inner: usize,
}

impl<const CHARS: bool, const WORDS: u8> Walk<'_, CHARS, WORDS> {
    #[inline(always)]
    fn block(&mut self, block: &[u8; BLOCK], start: usize) {
        let mut masks = Masks::of(block);
        if CHARS {
            for four in block.as_chunks::<4>().0 {
                for (table, byte) in self.tables.iter_mut().zip(four) {
                    table[usize::from(*byte)] += 1;
                }
            }
        }
        if masks.wide | self.wide_space != 0 {
            self.look_up(&mut masks, start);
        }
        if WORDS >= COUNTS {
            let word = !masks.space;
            let shifted = word << 1 | self.in_word;
            let begins = word & !shifted;
            self.counts.n_words += begins.count_ones() as usize;
            self.counts.n_chars += (word & !masks.inner).count_ones() as usize;
            let (sum, over) = word.overflowing_add(masks.letter & word);
            let (sum, over_again) = sum.overflowing_add(self.carry);
            self.carry = u64::from(over | over_again);
            self.counts.n_with_letter += (sum & !word).count_ones() as usize;
            if WORDS >= SPANS {
                // Most blocks are ASCII, where characters are bytes and nothing need be subtracted.
                if masks.inner == 0 {
                    self.words(word ^ shifted, start as u32, |_, _| 0);
                } else {
                    let inner = masks.inner;
                    self.words(word ^ shifted, start as u32, |from, to| {
                        (inner & below(to) & !below(from)).count_ones()
                    });
                }
            }
            self.in_word = word >> 63;
        }
    }

    /// Notes the words that end in this block. `n_inner` is the number of bytes between two bits that begin no character.
    #[inline(always)]
    fn words(&mut self, mut edges: u64, start: u32, n_inner: impl Fn(u32, u32) -> u32) {
        const END: u32 = BLOCK as u32;
        self.spans.reserve(BLOCK / 2 + 1);
        if self.in_word == 1 {
            if edges == 0 {
                self.open_chars += END - n_inner(0, END);
                return;
            }
            let end = edges.trailing_zeros();
            edges &= edges - 1;
            self.word(self.open_word, start + end, self.open_chars + end - n_inner(0, end));
        }
        while edges != 0 {
            let begin = edges.trailing_zeros();
            edges &= edges - 1;
            if edges == 0 {
                self.open_word = start + begin;
                self.open_chars = END - begin - n_inner(begin, END);
                return;
            }
            let end = edges.trailing_zeros();
            edges &= edges - 1;
            self.word(start + begin, start + end, end - begin - n_inner(begin, end));
        }
    }

    #[inline(always)]
    fn word(&mut self, start: u32, end: u32, n_chars: u32) {
        self.spans.push(Word { start, end });
        if WORDS >= LENGTHS {
            self.lengths.add(n_chars);
        }
    }

    /// Looks up the characters outside ASCII that begin in this block.
    #[inline(always)]
    fn look_up(&mut self, masks: &mut Masks, start: usize) {
        masks.space |= self.wide_space;
        self.wide_space = 0;
        self.n_inner += masks.inner.count_ones() as usize;
        let mut firsts = masks.wide & !masks.inner;
        while firsts != 0 {
            let bit = firsts.trailing_zeros();
            let class = self.classes.class(decode(self.bytes, start + bit as usize));
            if CHARS {
                self.wide[usize::from(class) % 64] += 1;
            }
            if WORDS >= COUNTS {
                let properties = self.classes.properties(class);
                masks.letter |= u64::from(properties.any(Properties::ALPHABETIC)) << bit;
                if properties.any(Properties::SPACE) {
                    let n_bytes = if self.bytes[start + bit as usize] < 0xe0 { 2 } else { 3 };
                    let space = ((1_u128 << n_bytes) - 1) << bit;
                    masks.space |= space as u64;
                    self.wide_space |= (space >> 64) as u64;
                }
            }
            firsts &= firsts - 1;
        }
    }
}

/// The bits below `bit`, which is at most 64.
#[inline(always)]
fn below(bit: u32) -> u64 {
    1_u64.checked_shl(bit).unwrap_or(0).wrapping_sub(1)
}

/// The character outside ASCII that begins at `at`.
#[inline(always)]
fn decode(bytes: &[u8], at: usize) -> u32 {
    let byte = |i: usize| u32::from(bytes.get(at + i).copied().unwrap_or(0));
    let inner = |i: usize| byte(i) & 0x3f;
    let first = byte(0);
    match first {
        0..0xe0 => (first & 0x1f) << 6 | inner(1),
        0xe0..0xf0 => (first & 0x0f) << 12 | inner(1) << 6 | inner(2),
        _ => (first & 0x07) << 18 | inner(1) << 12 | inner(2) << 6 | inner(3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::doc::{Doc, Needs};
    use crate::ops::scan;
    use proptest::prelude::*;

    /// The parts by their definition.
    fn check(text: &str) -> Result<(), TestCaseError> {
        let mut doc = Doc::new();
        doc.read(text, Needs::CHARS.and(Needs::WORD_LENGTHS));
        let spans: Vec<&str> = doc.words().iter(text).collect();
        let words: Vec<&str> = scan::words(text).collect();
        prop_assert_eq!(&spans, &words);
        let is_letter =
            |c: char| c.is_ascii_alphabetic() || !c.is_ascii() && Classes::get().of(c).any(Properties::ALPHABETIC);
        let expected = WordCounts {
            n_words: words.len(),
            n_chars: words.iter().map(|word| word.chars().count()).sum(),
            n_with_letter: words.iter().filter(|word| word.chars().any(is_letter)).count(),
        };
        prop_assert_eq!(doc.word_counts(), &expected);
        let mut lengths = WordLengths::default();
        words.iter().for_each(|word| lengths.add(word.chars().count() as u32));
        lengths.sort();
        prop_assert_eq!(doc.word_lengths(), &lengths);
        prop_assert_eq!(doc.chars().n_chars, text.chars().count());
        for byte in 0..128_u8 {
            let n = text.bytes().filter(|b| *b == byte).count();
            prop_assert_eq!(doc.chars().ascii[usize::from(byte)] as usize, n, "{:?}", char::from(byte));
        }
        for property in [Properties::LETTER, Properties::SPACE, Properties::ALPHABETIC, Properties::SPECIAL] {
            let n = text.chars().filter(|c| !c.is_ascii() && Classes::get().of(*c).any(property)).count();
            prop_assert_eq!(doc.chars().wide(property), n);
        }
        // A part alone is what it is together with others.
        doc.read(text, Needs::WORD_COUNTS);
        prop_assert_eq!(doc.word_counts(), &expected);
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn parts_are_what_their_definitions_say(text in any::<String>()) {
            check(&text)?;
        }

        #[test]
        fn words_end_right_at_the_edges_of_blocks(text in "([a-z1é日😀\\.]{0,40}[ \u{85}\u{3000}\u{2028}\n\u{1c}]{0,3}){0,12}") {
            check(&text)?;
        }
    }
}
