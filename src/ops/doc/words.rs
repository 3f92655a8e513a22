//! Words: runs of characters that are not white space, as Python's `str.split()` finds them.

use crate::ops::scan;

/// Where a word is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word {
    /// Its first byte.
    pub start: u32,
    /// The byte after its last.
    pub end: u32,
}

impl Word {
    /// The word in its document.
    pub fn of(self, text: &str) -> &str {
        text.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// The words of a document, in order, and their sums.
#[derive(Debug, Default)]
pub struct Words {
    /// Each word.
    pub spans: Vec<Word>,
    /// Characters in all words.
    pub n_chars: usize,
    /// Characters in the longest word.
    pub longest: usize,
}

impl Words {
    pub(super) fn read(&mut self, text: &str) {
        self.spans.clear();
        (self.n_chars, self.longest) = (0, 0);
        for word in scan::words(text) {
            let start = word.as_ptr() as usize - text.as_ptr() as usize;
            self.spans.push(Word { start: start as u32, end: (start + word.len()) as u32 });
            let n_chars = word.chars().count();
            self.n_chars += n_chars;
            self.longest = self.longest.max(n_chars);
        }
    }

    /// How many words there are.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there is no word.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The words themselves; `text` is the document.
    pub fn iter<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        self.spans.iter().map(move |word| word.of(text))
    }
}
