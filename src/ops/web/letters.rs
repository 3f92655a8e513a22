//! Letters as Python's `str.isalpha()` sees them: narrower than the property `Alphabetic`, which has vowel signs too.

use crate::ops::scan::{Classes, Properties};

/// Whether `c` is a letter.
pub(super) fn is_letter(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphabetic() } else { Classes::get().of(c).any(Properties::LETTER) }
}

/// Whether a word has a letter.
pub(super) fn has_letter(word: &str) -> bool {
    // Most words begin with one.
    word.as_bytes().first().is_some_and(u8::is_ascii_alphabetic) || word.chars().any(is_letter)
}
