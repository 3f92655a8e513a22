//! Letters as Python's `str.isalpha()` sees them: narrower than the property `Alphabetic`, which has vowel signs too.

use crate::ops::scan::{Classes, Properties};

/// Whether `c` is a letter.
pub(super) fn is_letter(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphabetic() } else { Classes::get().of(c).any(Properties::LETTER) }
}
