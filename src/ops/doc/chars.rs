//! Characters, counted by kind.
//!
//! ASCII is counted by the kinds that statistics ask for, each a mask of the walk; the others are counted by class, so that
//! how many have a property is a sum.
//! Not here: single ASCII characters and sets of them, which are found faster by looking for them
//! ([`AsciiSet`](crate::ops::scan::AsciiSet)).

use super::block::Masks;
use crate::ops::scan::{Classes, MAX_CLASSES, Properties};

/// How many characters of each kind a document has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CharCounts {
    /// All characters, ASCII or not.
    pub n_chars: usize,
    pub(super) ascii: AsciiCounts,
    /// Characters outside ASCII: all, and by class.
    pub(super) n_wide: usize,
    pub(super) wide: [u32; MAX_CLASSES],
    /// A bit for each class that may occur: in most documents few do.
    pub(super) occurring: u64,
}

/// How many ASCII characters are of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct AsciiCounts {
    letters: u32,
    capitals: u32,
    alphanumeric: u32,
    /// What leaves a mark on paper.
    graphic: u32,
    /// White space; of it tab to carriage return and the space.
    white_space: u32,
    blanks: u32,
    /// Where in any block ends of a line other than the line feed were.
    rare_breaks: u64,
}

impl AsciiCounts {
    /// Counts the characters of a block.
    #[inline(always)]
    pub(super) fn add(&mut self, masks: &Masks) {
        self.letters += masks.letter.count_ones();
        self.capitals += masks.capital.count_ones();
        self.alphanumeric += masks.alphanumeric.count_ones();
        self.graphic += masks.graphic.count_ones();
        self.white_space += masks.space.count_ones();
        self.blanks += masks.blank.count_ones();
        self.rare_breaks |= masks.rare_break;
    }

    /// Without the spaces that the walk put behind the end of a text.
    pub(super) fn without_spaces(self, n: u32) -> Self {
        Self { white_space: self.white_space - n, blanks: self.blanks - n, ..self }
    }
}

impl Default for CharCounts {
    fn default() -> Self {
        Self { n_chars: 0, ascii: AsciiCounts::default(), n_wide: 0, wide: [0; MAX_CLASSES], occurring: 0 }
    }
}

impl CharCounts {
    /// The letters A to Z and a to z.
    pub fn ascii_letters(&self) -> usize {
        self.ascii.letters as usize
    }

    /// The letters A to Z.
    pub fn ascii_capitals(&self) -> usize {
        self.ascii.capitals as usize
    }

    /// The digits 0 to 9.
    pub fn ascii_digits(&self) -> usize {
        (self.ascii.alphanumeric - self.ascii.letters) as usize
    }

    /// ASCII punctuation, as in Python's `string.punctuation`.
    pub fn ascii_punctuation(&self) -> usize {
        (self.ascii.graphic - self.ascii.alphanumeric) as usize
    }

    /// ASCII white space for Python's `str.isspace()`: tab to carriage return, U+001C to U+001F, space.
    pub fn ascii_white_space(&self) -> usize {
        self.ascii.white_space as usize
    }

    /// Tab to carriage return, and the space: what C's `isspace` and Python's `string.whitespace` know.
    pub fn ascii_blanks(&self) -> usize {
        self.ascii.blanks as usize
    }

    /// Whether something else than line feeds ends a line for Python's `str.splitlines()`.
    pub(super) fn has_rare_break(&self) -> bool {
        self.ascii.rare_breaks != 0 || self.wide(Properties::LINE_BREAK) > 0
    }

    /// Characters outside ASCII.
    pub fn n_wide(&self) -> usize {
        self.n_wide
    }

    /// Characters outside ASCII that have one of these properties.
    pub(crate) fn wide(&self, properties: Properties) -> usize {
        let classes = Classes::get();
        let mut n_chars = 0;
        let mut left = self.occurring;
        while left != 0 {
            let class = left.trailing_zeros() as u8;
            left &= left - 1;
            n_chars += if classes.properties(class).any(properties) { self.wide[usize::from(class)] } else { 0 };
        }
        n_chars as usize
    }

    /// All letters: the Unicode property `Alphabetic`.
    pub fn alphabetic(&self) -> usize {
        self.ascii_letters() + self.wide(Properties::ALPHABETIC)
    }
}
