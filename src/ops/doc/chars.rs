//! Characters, counted by kind.
//!
//! ASCII is counted by character, so that any class of ASCII characters is a sum; the others are counted by class, so
//! that how many have a property is a sum too.

use crate::ops::scan::{Classes, MAX_CLASSES, Properties};
use std::ops::RangeInclusive;

/// How many characters of each kind a document has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CharCounts {
    /// How often each ASCII character occurs.
    pub ascii: [u32; 128],
    /// All characters, ASCII or not.
    pub n_chars: usize,
    /// Characters outside ASCII: all, and by class.
    pub(super) n_wide: usize,
    pub(super) wide: [u32; MAX_CLASSES],
}

impl Default for CharCounts {
    fn default() -> Self {
        Self { ascii: [0; 128], n_chars: 0, n_wide: 0, wide: [0; MAX_CLASSES] }
    }
}

impl CharCounts {
    /// How often these ASCII characters occur, all together.
    pub fn any_of(&self, characters: &[u8]) -> usize {
        characters.iter().filter_map(|c| self.ascii.get(usize::from(*c))).map(|n| *n as usize).sum()
    }

    /// How often the ASCII characters of a range occur.
    pub fn ascii_in(&self, range: RangeInclusive<u8>) -> usize {
        let (first, last) = (usize::from(*range.start()), usize::from(*range.end()));
        self.ascii.get(first..=last).unwrap_or_default().iter().map(|n| *n as usize).sum()
    }

    /// The letters A to Z and a to z.
    pub fn ascii_letters(&self) -> usize {
        self.ascii_in(b'A'..=b'Z') + self.ascii_in(b'a'..=b'z')
    }

    /// The digits 0 to 9.
    pub fn ascii_digits(&self) -> usize {
        self.ascii_in(b'0'..=b'9')
    }

    /// ASCII punctuation, as in Python's `string.punctuation`.
    pub fn ascii_punctuation(&self) -> usize {
        self.ascii_in(b'!'..=b'/')
            + self.ascii_in(b':'..=b'@')
            + self.ascii_in(b'['..=b'`')
            + self.ascii_in(b'{'..=b'~')
    }

    /// Characters outside ASCII.
    pub fn n_wide(&self) -> usize {
        self.n_wide
    }

    /// Characters outside ASCII that have one of these properties.
    pub(crate) fn wide(&self, properties: Properties) -> usize {
        if self.n_wide == 0 {
            return 0;
        }
        let classes = Classes::get();
        let has = |class: usize| classes.properties(class as u8).any(properties);
        self.wide.iter().enumerate().filter(|(class, n)| **n > 0 && has(*class)).map(|(_, n)| *n as usize).sum()
    }

    /// All letters: the Unicode property `Alphabetic`.
    pub fn alphabetic(&self) -> usize {
        self.ascii_letters() + self.wide(Properties::ALPHABETIC)
    }
}
