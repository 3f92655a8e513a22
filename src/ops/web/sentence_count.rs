//! Sentences as datatrove's white-space tokenizer counts them; C4's rule on sentences uses it.
//!
//! A sentence is the shortest run of at least one character before a run of sentence-ending marks (`.`, `?`, `!`, `。`,
//! `؟`, …) or line feeds, together with that run and one closing quotation mark. An upper-case letter and its full stop
//! (`U.S.`) do not end one, unless nothing else does before the end of the text. What follows the last mark is no
//! sentence; a text without any mark is one.

use crate::ops::prelude::*;
use crate::ops::scan::is_terminal;
use crate::ops::simd;
use fearless_simd::prelude::*;
use fearless_simd::{dispatch, u8x64};

/// The number of sentences, at least 1.
pub(super) fn n_sentences(text: &str) -> usize {
    let mut marks = Marks::new(text.as_bytes());
    let mut n_sentences = 0;
    let mut start = 0;
    while let Some(end) = sentence_end(text, start, &mut marks) {
        let sentence = text.get(start..end).unwrap_or_default();
        n_sentences += usize::from(!sentence.chars().all(scan::is_space));
        start = end;
    }
    n_sentences.max(1)
}

/// Where the sentence that begins at byte `start` ends, with its marks and its closing quotation mark.
fn sentence_end(text: &str, start: usize, marks: &mut Marks) -> Option<usize> {
    let bytes = text.as_bytes();
    // A sentence has a character before its mark, and that cannot be a line feed.
    let first = start + bytes.get(start..)?.iter().position(|byte| *byte != b'\n')?;
    let mut last_initial = None;
    let mut from = first;
    while let Some(at) = marks.next_from(from) {
        let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) else { break };
        from = at + c.len_utf8();
        if c == '.' && at > first && bytes[at - 1].is_ascii_uppercase() {
            last_initial = Some(from);
        } else if at > first && is_end(c) {
            return Some(after_marks(text, at));
        } else if !c.is_ascii() && bytes.get(from) == Some(&b'.') && is_upper_case_letter(c) {
            from += 1;
            last_initial = Some(from);
        }
    }
    // Nothing else ended it: the full stop of the last initial does after all.
    last_initial.map(|end| after_quote(text, end))
}

/// Finds what can end a sentence, 64 bytes at a time: most of every text cannot.
struct Marks<'t> {
    bytes: &'t [u8],
    /// Where the bytes are that were looked at last, and which of them are marks or outside ASCII.
    block: usize,
    found: u64,
}

const BLOCK: usize = 64;

impl<'t> Marks<'t> {
    fn new(bytes: &'t [u8]) -> Self {
        Self { bytes, block: 0, found: marks_in(bytes) }
    }

    /// The first one at byte `from` or later; places are asked for in ascending order.
    fn next_from(&mut self, from: usize) -> Option<usize> {
        loop {
            let skipped = from.saturating_sub(self.block);
            let found = if skipped < BLOCK { self.found & u64::MAX << skipped } else { 0 };
            if found != 0 {
                return Some(self.block + found.trailing_zeros() as usize);
            }
            self.block += BLOCK;
            self.found = marks_in(self.bytes.get(self.block..)?);
        }
    }
}

/// Which of the first 64 bytes are `.`, `?`, `!`, line feeds or outside ASCII.
fn marks_in(bytes: &[u8]) -> u64 {
    match bytes.first_chunk::<BLOCK>() {
        Some(block) => dispatch!(simd::level(), simd => marks_in_block(simd, block)),
        None => {
            let mut block = [0; BLOCK];
            block[..bytes.len()].copy_from_slice(bytes);
            dispatch!(simd::level(), simd => marks_in_block(simd, &block))
        }
    }
}

#[inline(always)]
fn marks_in_block<S: Simd>(simd: S, block: &[u8; BLOCK]) -> u64 {
    let bytes = u8x64::from_slice(simd, block);
    let of_ascii = bytes.simd_eq(b'.') | bytes.simd_eq(b'?') | bytes.simd_eq(b'!') | bytes.simd_eq(b'\n');
    (of_ascii | bytes.simd_ge(0x80)).to_bitmask()
}

fn is_end(c: char) -> bool {
    c == '\n' || is_terminal(c)
}

/// The end of the run of marks at `at`, with one quotation mark.
fn after_marks(text: &str, at: usize) -> usize {
    let marks = text.get(at..).unwrap_or_default().chars().take_while(|c| is_end(*c));
    after_quote(text, at + marks.map(char::len_utf8).sum::<usize>())
}

fn after_quote(text: &str, at: usize) -> usize {
    match text.get(at..).and_then(|rest| rest.chars().next()) {
        Some(c @ ('"' | '\'' | '”')) => at + c.len_utf8(),
        _ => at,
    }
}

/// Category Lu: upper case, without the letter-like numbers and the letters in circles and squares.
fn is_upper_case_letter(c: char) -> bool {
    c.is_uppercase() && !matches!(c, '\u{2160}'..='\u{216f}' | '\u{24b6}'..='\u{24cf}' | '\u{1f130}'..='\u{1f189}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_those_of_the_white_space_tokenizer() {
        // Made with datatrove's `WhitespaceTokenizer().span_tokenize`.
        for (text, expected) in [
            ("...", 1),
            (".", 1),
            ("A.B.C.", 1),
            ("A. B", 1),
            ("I met J. Smith. He", 1),
            ("a\n\n \nb\n", 2),
            ("\n\n", 1),
            ("一。二！三", 2),
            ("Hi.\" She said.' x", 2),
            ("É. a", 1),
            ("Ⅷ. a. b", 2),
            ("x A. y B. z", 1),
            ("A sentence of more than sixty-four characters that a mark ends far from here. And É. Zola wrote 一。", 2),
        ] {
            assert_eq!(n_sentences(text), expected, "{text:?}");
        }
    }
}
