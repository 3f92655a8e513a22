//! Characters, counted by kind.
//!
//! ASCII is counted by character, so that any class of ASCII characters is a sum; of the others only the kinds below.

use crate::ops::scan;

/// How many characters of each kind a document has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CharCounts {
    /// How often each ASCII character occurs.
    pub ascii: [u32; 128],
    /// All characters, ASCII or not.
    pub n_chars: usize,
    /// Non-ASCII characters with the Unicode property `Alphabetic`.
    pub wide_alphabetic: usize,
    /// Non-ASCII characters that are white space for Python.
    pub wide_space: usize,
}

impl Default for CharCounts {
    fn default() -> Self {
        Self { ascii: [0; 128], n_chars: 0, wide_alphabetic: 0, wide_space: 0 }
    }
}

impl CharCounts {
    pub(super) fn of(text: &str) -> Self {
        let mut counts = Self::default();
        for c in text.chars() {
            counts.n_chars += 1;
            match counts.ascii.get_mut(c as usize) {
                Some(count) => *count += 1,
                None => {
                    counts.wide_alphabetic += usize::from(c.is_alphabetic());
                    counts.wide_space += usize::from(scan::is_space(c));
                }
            }
        }
        counts
    }

    /// How many ASCII characters satisfy `is`.
    pub fn ascii(&self, is: impl Fn(u8) -> bool) -> usize {
        (0_u8..128).filter(|byte| is(*byte)).map(|byte| self.ascii[usize::from(byte)] as usize).sum()
    }
}
