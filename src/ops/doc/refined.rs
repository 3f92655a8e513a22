//! Words as Data-Juicer refines them: split at space, tab and line feed, in lower case, without special characters
//! at their ends. Words that consist of such characters are gone.

use super::words::Word;
use crate::ops::scan::{Classes, Properties};

/// The refined words of a document.
#[derive(Debug, Default)]
pub(super) struct RefinedWords {
    /// The words one after the other.
    pub(super) text: String,
    /// Places in `text`.
    pub(super) spans: Vec<Word>,
}

impl RefinedWords {
    pub(super) fn read(&mut self, document: &str) {
        self.text.clear();
        self.spans.clear();
        let classes = Classes::get();
        let is_special = |c: char| match c {
            '\t'..='\r' | ' ' => true,
            _ if c.is_ascii() => c.is_ascii_punctuation() || c.is_ascii_digit(),
            _ => classes.of(c).any(Properties::SPECIAL),
        };
        for word in document.split([' ', '\n', '\t']) {
            let start = self.text.len() as u32;
            if word.is_ascii() {
                self.text.push_str(word.trim_matches(is_special));
                self.text[start as usize..].make_ascii_lowercase();
            } else {
                // Before the ends are cut: the letter Г is special, its lower case is not.
                self.text.push_str(word.to_lowercase().trim_matches(is_special));
            }
            let end = self.text.len() as u32;
            if start < end {
                self.spans.push(Word { start, end });
            }
        }
    }
}
