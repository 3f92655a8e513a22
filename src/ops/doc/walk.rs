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
//! Not here: what is noted of a line (`lines.rs`).

use super::block::{BLOCK, Masks, common_letters};
use super::chars::{AsciiCounts, CharCounts};
use super::lines::{Here, LineWalk, Lines};
use super::marker_chars::MarkerChars;
use super::needs::Needs;
use super::words::{Word, WordCounts, WordKinds, WordLengths, Words};
use crate::ops::scan::{Classes, MAX_CLASSES, Properties};
use crate::ops::simd;
use fearless_simd::{Simd, dispatch};

/// What is to be found.
pub(super) struct Parts<'d> {
    pub(super) chars: &'d mut CharCounts,
    pub(super) marker_chars: &'d mut MarkerChars,
    pub(super) counts: &'d mut WordCounts,
    pub(super) kinds: &'d mut WordKinds,
    pub(super) words: &'d mut Words,
    pub(super) lengths: &'d mut WordLengths,
    pub(super) lines: &'d mut Lines,
}

/// Which parts are asked for. Asked of each block, and always the same: that costs next to nothing.
#[derive(Clone, Copy)]
struct Asked {
    chars: bool,
    marker_chars: bool,
    counts: bool,
    kinds: bool,
    spans: bool,
    lengths: bool,
    lines: bool,
}

/// Finds the parts that are asked for.
pub(super) fn read(text: &str, needs: Needs, parts: Parts) {
    let asked = Asked {
        chars: needs.has(Needs::CHARS),
        marker_chars: needs.has(Needs::SIGNS),
        counts: needs.has(Needs::WORD_COUNTS),
        kinds: needs.has(Needs::WORD_KINDS),
        spans: needs.has(Needs::WORDS) || needs.has(Needs::LINES),
        lengths: needs.has(Needs::WORD_LENGTHS),
        lines: needs.has(Needs::LINES),
    };
    match (asked.counts || asked.lines, asked.chars || asked.marker_chars) {
        (true, _) => dispatch!(simd::level(), simd => walk::<_, true>(simd, text, asked, parts)),
        (false, true) => dispatch!(simd::level(), simd => walk::<_, false>(simd, text, asked, parts)),
        (false, false) => {}
    }
}

/// `WORDS` says that white space is looked for; characters are counted without.
#[inline(always)]
fn walk<S: Simd, const WORDS: bool>(simd: S, text: &str, asked: Asked, parts: Parts) {
    let Parts { chars, marker_chars, counts, kinds, words, lengths, lines } = parts;
    let bytes = text.as_bytes();
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    let mut state = Walk::<WORDS> {
        bytes,
        asked,
        classes: Classes::get(),
        ascii: AsciiCounts::default(),
        marker_chars: MarkerChars::default(),
        wide: [0; MAX_CLASSES],
        occurring: 0,
        counts: WordCounts::default(),
        kinds: WordKinds::default(),
        spans: std::mem::take(&mut words.spans),
        lengths,
        lines: LineWalk::new(lines),
        open_word: 0,
        open_inner: 0,
        in_word: 0,
        alphabetic: Runs::default(),
        letter: Runs::default(),
        plain: Runs::default(),
        wide_run: Runs::default(),
        wide_space: 0,
        n_inner: 0,
    };
    if asked.lines {
        state.lines.begin();
    }
    if asked.lengths {
        state.lengths.clear();
    }
    // White space after the end closes the last word; a whole block of it if the text fills its blocks.
    let mut last = [b' '; BLOCK];
    last[..rest.len()].copy_from_slice(rest);
    for (number, block) in blocks.iter().chain([&last]).enumerate() {
        state.block(simd, block, number * BLOCK);
    }

    if asked.lines {
        state.lines.finish(bytes.len() as u32, state.n_inner, state.counts.n_words as u32, &state.spans);
    }
    if asked.chars {
        chars.n_chars = bytes.len() - state.n_inner as usize;
        chars.ascii = state.ascii.without_spaces((BLOCK - rest.len()) as u32);
        chars.n_wide = state.wide.iter().map(|n| *n as usize).sum();
        chars.wide = state.wide;
        chars.occurring = state.occurring;
    }
    if asked.marker_chars {
        *marker_chars = state.marker_chars;
    }
    state.spans.truncate(state.counts.n_words);
    if asked.lengths {
        state.lengths.read(&state.spans);
    }
    if asked.counts {
        *counts = state.counts;
        *kinds = state.kinds;
    }
    words.spans = state.spans;
    words.n_chars = counts.n_chars;
}

struct Walk<'t, const WORDS: bool> {
    bytes: &'t [u8],
    asked: Asked,
    classes: &'static Classes,
    ascii: AsciiCounts,
    marker_chars: MarkerChars,
    /// How many characters outside ASCII are of each class.
    wide: [u32; MAX_CLASSES],
    /// A bit for each of them that may occur.
    occurring: u64,
    counts: WordCounts,
    kinds: WordKinds,
    /// As many as were counted, and room.
    spans: Vec<Word>,
    lengths: &'t mut WordLengths,
    lines: LineWalk<'t>,
    /// Where the last word begins, and how many bytes before it begin no character.
    open_word: u32,
    open_inner: u32,
    /// 1 if the block before ended in a word.
    in_word: u64,
    /// Words with a character of the property `Alphabetic`, with one that is a letter for Python, with one that is no
    /// symbol.
    alphabetic: Runs,
    letter: Runs,
    plain: Runs,
    /// Words with a character outside ASCII.
    wide_run: Runs,
    /// White-space bytes that a character of the block before has in this one.
    wide_space: u64,
    /// Bytes so far that begin no character.
    n_inner: u32,
}

impl<const WORDS: bool> Walk<'_, WORDS> {
    #[inline(always)]
    fn block<S: Simd>(&mut self, simd: S, block: &[u8; BLOCK], start: usize) {
        let masks = Masks::of(simd, block);
        if self.asked.chars {
            self.ascii.add(&masks);
        }
        if self.asked.marker_chars {
            self.marker_chars.block(simd, block, masks.wide != 0);
        }
        let mut found = Found {
            space: masks.space | self.wide_space,
            alphabetic: masks.letter,
            letter: masks.letter,
            plain: masks.alphanumeric,
            inner: masks.inner,
        };
        self.wide_space = 0;
        if masks.wide != 0 {
            self.look_up(&mut found, masks.wide & !masks.inner, common_letters(simd, block), start);
        }
        if WORDS {
            self.words(&found, masks.feed, start);
        }
        self.n_inner += if found.inner == 0 { 0 } else { found.inner.count_ones() };
    }

    /// Finds words and lines.
    #[inline(always)]
    fn words(&mut self, found: &Found, feeds: u64, start: usize) {
        let word = !found.space;
        let shifted = word << 1 | self.in_word;
        let (begins, ends) = (word & !shifted, shifted & !word);
        let n_words = begins.count_ones() as usize;
        if self.asked.spans {
            self.note_words(begins, ends, n_words, start as u32);
            if self.asked.lengths {
                self.note_wide_words(found, begins, start as u32);
            }
        }
        if self.asked.lines {
            self.lines.block(Here {
                start: start as u32,
                feeds,
                begins,
                inner: found.inner,
                n_inner: self.n_inner,
                n_words: self.counts.n_words as u32,
                words: &self.spans,
            });
        }
        if self.asked.counts {
            self.count_words(found, ends, start as u32);
        }
        self.counts.n_words += n_words;
        if begins != 0 {
            let begin = u64::BITS - 1 - begins.leading_zeros();
            self.open_word = start as u32 + begin;
            self.open_inner = self.n_inner + n_inner(found.inner, 0, begin);
        }
        self.in_word = word >> 63;
    }

    /// Counts in the block's words; `ends` are the bytes behind them.
    #[inline(always)]
    fn count_words(&mut self, found: &Found, ends: u64, start: u32) {
        let word = !found.space;
        self.counts.n_chars += (word & !found.inner).count_ones() as usize;
        let with_alphabetic = self.alphabetic.with(word, found.alphabetic);
        let n_with_alphabetic = with_alphabetic.count_ones() as usize;
        self.counts.n_with_letter += n_with_alphabetic;
        if self.asked.kinds {
            let with_letter = self.letter.with(word, found.letter);
            // In most texts the two are the same.
            let is_same = with_letter == with_alphabetic;
            self.kinds.n_with_python_letter +=
                if is_same { n_with_alphabetic } else { with_letter.count_ones() as usize };
            let mut symbols = ends & !self.plain.with(word, found.plain);
            while symbols != 0 {
                self.kinds.n_symbols += 1;
                self.kinds.n_symbol_chars += self.n_chars(found, symbols.trailing_zeros(), start) as usize;
                symbols &= symbols - 1;
            }
        }
    }

    /// The characters of the word that ends before bit `end`.
    #[inline(always)]
    fn n_chars(&self, found: &Found, end: u32, start: u32) -> u32 {
        let begin = u64::BITS - (found.space & below(end)).leading_zeros();
        if begin == 0 && self.in_word == 1 {
            let inner = self.n_inner - self.open_inner + n_inner(found.inner, 0, end);
            return start + end - self.open_word - inner;
        }
        end - begin - n_inner(found.inner, begin, end)
    }

    /// Notes the words that begin in this block. The end of one that reaches further is put right in a later block.
    #[inline(always)]
    fn note_words(&mut self, mut begins: u64, mut ends: u64, n_words: usize, start: u32) {
        let n_before = self.counts.n_words;
        if self.spans.len() < n_before + BLOCK {
            self.spans.resize(2 * n_before + 4 * BLOCK, Word { start: 0, end: 0 });
        }
        if self.in_word == 1 && ends != 0 {
            self.spans[n_before - 1].end = start + ends.trailing_zeros();
            ends &= ends - 1;
        }
        // Four at a time, the last of which may be none: the next block writes over them.
        let (fours, _) = self.spans[n_before..n_before + BLOCK].as_chunks_mut::<4>();
        for four in &mut fours[..n_words.div_ceil(4)] {
            for word in &mut *four {
                word.start = start + begins.trailing_zeros();
                begins &= begins.wrapping_sub(1);
            }
            for word in four {
                word.end = start + ends.trailing_zeros();
                ends &= ends.wrapping_sub(1);
            }
        }
    }

    /// Notes the lengths of words with characters outside ASCII; for the others, characters are bytes.
    #[inline(always)]
    fn note_wide_words(&mut self, found: &Found, begins: u64, start: u32) {
        let mut ends = self.wide_run.with(!found.space, found.inner);
        while ends != 0 {
            let end = ends.trailing_zeros();
            let place = self.counts.n_words as u32 + (begins & below(end)).count_ones() - 1;
            self.lengths.wide.push((place, self.n_chars(found, end, start)));
            ends &= ends - 1;
        }
    }

    /// Looks up the characters outside ASCII that begin in this block, at the bits `firsts`; of `letters` it is known that
    /// they are plain letters.
    #[inline(always)]
    fn look_up(&mut self, found: &mut Found, firsts: u64, letters: u64, start: usize) {
        // Most are plain letters: all are taken for such, and the others are put right.
        found.alphabetic |= firsts;
        found.letter |= firsts;
        found.plain |= firsts;
        self.wide[usize::from(Classes::LETTERS)] += firsts.count_ones();
        self.occurring |= 1 << Classes::LETTERS;
        let mut rest = firsts & !letters;
        while rest != 0 {
            let bit = rest.trailing_zeros();
            rest &= rest - 1;
            let class = self.classes.class(decode(self.bytes, start + bit as usize));
            if class != Classes::LETTERS {
                self.correct(found, class, bit, start);
            }
        }
    }

    /// What the character at `bit` is, which was taken for a plain letter.
    #[inline(always)]
    fn correct(&mut self, found: &mut Found, class: u8, bit: u32, start: usize) {
        self.wide[usize::from(Classes::LETTERS)] -= 1;
        self.wide[usize::from(class) % MAX_CLASSES] += 1;
        self.occurring |= 1 << (usize::from(class) % MAX_CLASSES);
        if !WORDS {
            return;
        }
        let properties = self.classes.properties(class);
        found.alphabetic &= !(u64::from(!properties.any(Properties::ALPHABETIC)) << bit);
        found.letter &= !(u64::from(!properties.any(Properties::LETTER)) << bit);
        found.plain &= !(u64::from(properties.any(Properties::SYMBOL)) << bit);
        if properties.any(Properties::SPACE) {
            let n_bytes = if self.bytes[start + bit as usize] < 0xe0 { 2 } else { 3 };
            let space = ((1_u128 << n_bytes) - 1) << bit;
            found.space |= space as u64;
            self.wide_space |= (space >> 64) as u64;
        }
    }
}

/// What the bytes of a block are, with the characters outside ASCII; those are marked at their first byte, but white
/// space at each.
struct Found {
    space: u64,
    alphabetic: u64,
    letter: u64,
    /// No symbol.
    plain: u64,
    /// Bytes that begin no character.
    inner: u64,
}

/// Which words have a certain character: 1 if the word that reaches into the next block has one.
#[derive(Default)]
struct Runs(u64);

impl Runs {
    /// A bit behind each run of `word` that has a bit of `hits`.
    #[inline(always)]
    fn with(&mut self, word: u64, hits: u64) -> u64 {
        let (sum, over) = word.overflowing_add(hits & word);
        let (sum, over_again) = sum.overflowing_add(self.0);
        self.0 = u64::from(over | over_again);
        sum & !word
    }
}

/// The bits below `bit`, which is at most 64.
#[inline(always)]
fn below(bit: u32) -> u64 {
    1_u64.checked_shl(bit).unwrap_or(0).wrapping_sub(1)
}

/// How many bits of `inner` are between two places.
#[inline(always)]
fn n_inner(inner: u64, from: u32, to: u32) -> u32 {
    // Most blocks are ASCII.
    if inner == 0 { 0 } else { (inner & below(to) & !below(from)).count_ones() }
}

/// The character outside ASCII that begins at `at`.
#[inline(always)]
fn decode(bytes: &[u8], at: usize) -> u32 {
    let four = match bytes.get(at..).and_then(|rest| rest.first_chunk::<4>()) {
        Some(four) => u32::from_be_bytes(*four),
        // The last character of a text.
        None => (0..4).fold(0, |four, i| four << 8 | u32::from(bytes.get(at + i).copied().unwrap_or(0))),
    };
    let inner = |i: u32| four >> (24 - 8 * i) & 0x3f;
    match four >> 24 {
        first @ 0..0xe0 => (first & 0x1f) << 6 | inner(1),
        first @ 0xe0..0xf0 => (first & 0x0f) << 12 | inner(1) << 6 | inner(2),
        first => (first & 0x07) << 18 | inner(1) << 12 | inner(2) << 6 | inner(3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::doc::{Doc, Line, Needs};
    use crate::ops::scan;
    use proptest::prelude::*;

    /// The parts by their definition.
    fn check(text: &str) -> Result<(), TestCaseError> {
        let mut doc = Doc::new();
        doc.read(text, Needs::CHARS.and(Needs::WORD_LENGTHS).and(Needs::WORD_KINDS).and(Needs::LINES));
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
        let symbols = || words.iter().filter(|word| word.chars().all(scan::is_symbol));
        let is_python_letter =
            |c: char| c.is_ascii_alphabetic() || !c.is_ascii() && Classes::get().of(c).any(Properties::LETTER);
        let kinds = WordKinds {
            n_with_python_letter: words.iter().filter(|word| word.chars().any(is_python_letter)).count(),
            n_symbols: symbols().count(),
            n_symbol_chars: symbols().map(|word| word.chars().count()).sum(),
        };
        prop_assert_eq!(doc.word_kinds(), &kinds);
        let mut start = 0;
        let lines: Vec<Line> = text
            .split('\n')
            .map(|line| {
                start += line.len() + 1;
                Line::find(text, start - 1 - line.len(), start - 1)
            })
            .collect();
        prop_assert_eq!(doc.lines().all.len(), lines.len());
        for (found, line) in doc.lines().all.iter().zip(&lines) {
            // Where a blank line has its white space does not matter.
            prop_assert_eq!(found.is_blank(), line.is_blank());
            let (first, last) = if line.is_blank() { (found.first, found.last) } else { (line.first, line.last) };
            prop_assert_eq!(*found, Line { first, last, ..*line });
        }
        let mut lengths = WordLengths::default();
        lengths.clear();
        words.iter().for_each(|word| lengths.add(word.chars().count() as u32));
        lengths.sort();
        let found = doc.word_lengths();
        prop_assert_eq!((found.longest(), found.median()), (lengths.longest(), lengths.median()));
        prop_assert_eq!(doc.chars().n_chars, text.chars().count());
        let n_bytes = |is: fn(&u8) -> bool| text.bytes().filter(is).count();
        prop_assert_eq!(doc.chars().ascii_letters(), n_bytes(u8::is_ascii_alphabetic));
        prop_assert_eq!(doc.chars().ascii_capitals(), n_bytes(u8::is_ascii_uppercase));
        prop_assert_eq!(doc.chars().ascii_digits(), n_bytes(u8::is_ascii_digit));
        prop_assert_eq!(doc.chars().ascii_punctuation(), n_bytes(u8::is_ascii_punctuation));
        prop_assert_eq!(doc.chars().ascii_white_space(), n_bytes(|b| b.is_ascii() && scan::is_space(char::from(*b))));
        prop_assert_eq!(doc.chars().ascii_blanks(), n_bytes(|b| matches!(b, b'\t'..=b'\r' | b' ')));
        for property in [Properties::LETTER, Properties::SPACE, Properties::ALPHABETIC, Properties::SPECIAL] {
            let n = text.chars().filter(|c| !c.is_ascii() && Classes::get().of(*c).any(property)).count();
            prop_assert_eq!(doc.chars().wide(property), n);
        }
        // A part alone is what it is together with others.
        doc.read(text, Needs::WORD_COUNTS);
        prop_assert_eq!(doc.word_counts(), &expected);
        doc.read(text, Needs::WORD_KINDS);
        prop_assert_eq!(doc.word_kinds(), &kinds);
        doc.read(text, Needs::LINES);
        prop_assert_eq!(doc.lines().all.len(), lines.len());
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn parts_are_what_their_definitions_say(text in any::<String>()) {
            check(&text)?;
        }

        #[test]
        fn words_end_right_at_the_edges_of_blocks(text in "([a-z1é日😀。\\.]{0,40}[ \u{85}\u{3000}\u{2028}\n\u{1c}]{0,3}){0,12}") {
            check(&text)?;
        }
    }
}
