//! How a document is taken apart: white space, words, lines. Every operator that counts them asks here.
//!
//! - **white space**: what Python's `str.split()` splits at: Unicode `White_Space` and U+001C to U+001F
//! - **word**: a longest run of characters that are not white space
//! - **character**: a Unicode code point
//! - **line**: what a line feed ends; a carriage return before it belongs to the line's end. A last line feed opens no
//!   further line, so `''` has no line and `'a\n'` has one

mod ascii_set;
mod class;
mod digits;
mod find;
mod marks;
mod tables;
mod urls;

use crate::ops::simd;
use fearless_simd::prelude::*;
use fearless_simd::{dispatch, u8x64};
use std::str::Lines;

pub(crate) use ascii_set::AsciiSet;
pub(crate) use class::{Classes, MAX_CLASSES, Properties, has_lower_case, is_title_case};
pub(crate) use digits::is_decimal_digit;
pub(crate) use find::FoldedFinder;
#[cfg(test)]
pub(crate) use marks::is_symbol;
pub(crate) use marks::is_terminal;
pub(crate) use urls::urls;

/// White space as Python's `str.split()` and `str.isspace()` see it.
pub(crate) fn is_space(c: char) -> bool {
    // Rust's property leaves out the four information separators, which Python counts.
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

/// The words, in order.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_space).filter(|word| !word.is_empty())
}

/// Whether there are at least `n` words.
pub(crate) fn has_words(text: &str, n: usize) -> bool {
    let mut n_left = n;
    let mut in_word = false;
    for (at, byte) in text.bytes().enumerate() {
        if n_left == 0 {
            return true;
        }
        if !byte.is_ascii() {
            // The word that is open, or a new one, goes on from here.
            let rest = text.get(at..).unwrap_or_default();
            let is_same_word = in_word && !rest.starts_with(is_space);
            return words(rest).count() >= n_left + usize::from(is_same_word);
        }
        let is_word = !is_space(char::from(byte));
        n_left -= usize::from(is_word && !in_word);
        in_word = is_word;
    }
    n_left == 0
}

/// The number of characters.
pub(crate) fn n_chars(text: &str) -> usize {
    dispatch!(simd::level(), simd => n_first_bytes(simd, text.as_bytes()))
}

/// How many bytes begin a character.
#[inline(always)]
fn n_first_bytes<S: Simd>(simd: S, bytes: &[u8]) -> usize {
    let (blocks, rest) = bytes.as_chunks::<64>();
    let mut last = [0; 64];
    last[..rest.len()].copy_from_slice(rest);
    let mut n_inner = 0;
    for block in blocks.iter().chain([&last]) {
        // 0x80 to 0xbf are in the middle of one.
        n_inner += (u8x64::from_slice(simd, block) - 0x80).simd_lt(0x40).to_bitmask().count_ones() as usize;
    }
    bytes.len() - n_inner
}

/// The lines, without their ends.
pub(crate) fn lines(text: &str) -> Lines<'_> {
    text.lines()
}

/// Whether `pattern` occurs, with A taken for a in both; other letters must be equal.
pub(crate) fn contains_ignoring_ascii_case(text: &str, pattern: &str) -> bool {
    FoldedFinder::new(pattern).find_at(text, 0).is_some()
}

/// `part / whole`; 0 if there is no whole.
#[inline]
pub(crate) fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// The same of a part that is known to be no more; infinite if nothing is known.
#[inline]
pub(crate) fn ratio_at_most(part: Option<usize>, whole: usize) -> f64 {
    part.map_or(f64::INFINITY, |part| ratio(part, whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_is_pythons() {
        // From `[c for c in map(chr, range(0x110000)) if c.isspace()]`.
        let python = "\t\n\u{b}\u{c}\r\u{1c}\u{1d}\u{1e}\u{1f} \u{85}\u{a0}\u{1680}\u{2000}\u{2001}\u{2002}\u{2003}\
                      \u{2004}\u{2005}\u{2006}\u{2007}\u{2008}\u{2009}\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}";
        let ours: String = ('\0'..=char::MAX).filter(|c| is_space(*c)).collect();
        assert_eq!(ours, python);
    }

    #[test]
    fn words_are_counted_as_far_as_asked() {
        for text in
            ["", " ", "a", " a b ", "aé é", "aé\u{85}b c", "é", "a \u{3000}b", "one two\tthree four", "a\u{a0}b"]
        {
            for n in 0..5 {
                assert_eq!(has_words(text, n), words(text).count() >= n, "{text:?} {n}");
            }
        }
    }

    #[test]
    fn search_ignores_the_case_of_ascii_only() {
        for (text, pattern, expected) in [
            ("xxLOREM ipsum", "lorem IPSUM", true),
            ("lorem", "lorem ipsum", false),
            ("lorem ipsu", "lorem ipsum", false),
            ("llLorem", "lorem", true),
            ("Ä", "ä", false),
            ("", "", true),
            ("", "a", false),
        ] {
            assert_eq!(contains_ignoring_ascii_case(text, pattern), expected, "{text:?} {pattern:?}");
        }
    }
}
