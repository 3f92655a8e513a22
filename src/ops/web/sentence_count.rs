//! Sentences as datatrove's white-space tokenizer counts them; C4's rule on sentences uses it.
//!
//! A sentence is the shortest run of at least one character before a run of sentence-ending marks (`.`, `?`, `!`, `。`,
//! `؟`, …) or line feeds, together with that run and one closing quotation mark. An upper-case letter and its full stop
//! (`U.S.`) do not end one, unless nothing else does before the end of the text. What follows the last mark is no
//! sentence; a text without any mark is one.

use crate::ops::prelude::*;
use crate::ops::scan::is_terminal;

/// The number of sentences, at least 1.
pub(super) fn n_sentences(text: &str) -> usize {
    let mut n_sentences = 0;
    let mut rest = text;
    while let Some(end) = sentence_end(rest) {
        let (sentence, after) = rest.split_at(end);
        n_sentences += usize::from(!sentence.chars().all(scan::is_space));
        rest = after;
    }
    n_sentences.max(1)
}

/// Where the first sentence of `text` ends, with its marks and its closing quotation mark.
fn sentence_end(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    // A sentence has a character before its mark, and that cannot be a line feed.
    let start = bytes.iter().position(|byte| *byte != b'\n')?;
    let mut at = start;
    let mut last_initial = None;
    let mut first = true;
    while let Some(&byte) = bytes.get(at) {
        // Letters, digits and spaces: most of every text.
        if byte.is_ascii_alphanumeric() || byte == b' ' {
            let initial = byte.is_ascii_uppercase() && bytes.get(at + 1) == Some(&b'.');
            at += if initial { 2 } else { 1 };
            if initial {
                last_initial = Some(at);
            }
            first = false;
            continue;
        }
        let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) else { break };
        if !first && is_end(c) {
            return Some(after_marks(text, at));
        }
        first = false;
        at += c.len_utf8();
        if !c.is_ascii() && bytes.get(at) == Some(&b'.') && is_upper_case_letter(c) {
            at += 1;
            last_initial = Some(at);
        }
    }
    // Nothing else ended it: the full stop of the last initial does after all.
    last_initial.map(|end| after_quote(text, end))
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
        ] {
            assert_eq!(n_sentences(text), expected, "{text:?}");
        }
    }
}
