//! Words: runs of characters that are not white space, as Python's `str.split()` finds them.

use memchr::memmem;

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

    /// How long it is.
    pub fn n_bytes(self) -> usize {
        (self.end - self.start) as usize
    }
}

/// Numbers about the words of a document, for which no word need be noted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WordCounts {
    /// How many there are.
    pub n_words: usize,
    /// Characters in all of them.
    pub n_chars: usize,
    /// Words with at least one letter (the Unicode property `Alphabetic`).
    pub n_with_letter: usize,
}

/// Numbers about what the words of a document are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WordKinds {
    /// Words with at least one letter for Python's `str.isalpha()`: narrower than [`WordCounts::n_with_letter`].
    pub n_with_python_letter: usize,
    /// Words of nothing but punctuation and control characters.
    pub n_symbols: usize,
    /// Characters in those.
    pub n_symbol_chars: usize,
}

/// The words of a document, in order.
#[derive(Debug, Default)]
pub struct Words {
    /// Each word.
    pub spans: Vec<Word>,
    /// Characters in all words.
    pub n_chars: usize,
}

impl Words {
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

impl Words {
    /// The places of the words that contain one of several strings, in order. For strings that are rare.
    pub(crate) fn containing<'f>(
        &self,
        text: &str,
        strings: impl IntoIterator<Item = &'f memmem::Finder<'f>>,
    ) -> Vec<usize> {
        let mut places = Vec::new();
        for string in strings {
            let (mut from, mut next) = (0, 0);
            while let Some(found) = text.as_bytes().get(from..).and_then(|rest| string.find(rest)) {
                let (start, end) = (from + found, from + found + string.needle().len());
                next += self.spans.get(next..).unwrap_or_default().partition_point(|word| word.end as usize <= start);
                let Some(word) = self.spans.get(next) else { break };
                from = start + 1;
                if word.start as usize <= start && end <= word.end as usize {
                    places.push(next);
                    // The word is counted; the search goes on behind it.
                    from = from.max(word.end as usize);
                }
            }
        }
        places.sort_unstable();
        places.dedup();
        places
    }
}

/// How many words are of which length, in characters.
#[derive(Debug)]
pub struct WordLengths {
    /// Words of 0 to 63 characters.
    short: [u32; 64],
    /// The lengths of the others, in order once the document is read.
    long: Vec<u32>,
    n_words: usize,
    /// The words with characters outside ASCII: which in the document, and how many characters.
    pub(super) wide: Vec<(u32, u32)>,
}

impl Default for WordLengths {
    fn default() -> Self {
        Self { short: [0; 64], long: vec![], n_words: 0, wide: vec![] }
    }
}

impl WordLengths {
    pub(super) fn clear(&mut self) {
        self.short = [0; 64];
        self.long.clear();
        self.n_words = 0;
        self.wide.clear();
    }

    /// Counts the words of a document; `wide` has those in which characters are not bytes.
    pub(super) fn read(&mut self, words: &[Word]) {
        let wide = std::mem::take(&mut self.wide);
        // Every other word is counted in a table of its own: neighbours of equal length do not wait for each other.
        let mut others = [0; 64];
        let mut next = 0;
        for &(place, n_chars) in &wide {
            self.add_ascii(words.get(next..place as usize).unwrap_or_default(), &mut others);
            self.add(n_chars);
            next = place as usize + 1;
        }
        self.add_ascii(words.get(next..).unwrap_or_default(), &mut others);
        self.short.iter_mut().zip(others).for_each(|(count, other)| *count += other);
        self.sort();
        self.wide = wide;
    }

    /// Words whose characters are bytes.
    #[inline(always)]
    fn add_ascii(&mut self, words: &[Word], others: &mut [u32; 64]) {
        let (pairs, last) = words.as_chunks::<2>();
        for [word, other] in pairs {
            let (length, other) = (word.end - word.start, other.end - other.start);
            if length.max(other) >= 64 {
                self.add(length);
                self.add(other);
                continue;
            }
            self.short[length as usize % 64] += 1;
            others[other as usize % 64] += 1;
            self.n_words += 2;
        }
        last.iter().for_each(|word| self.add(word.end - word.start));
    }

    #[inline(always)]
    pub(super) fn add(&mut self, n_chars: u32) {
        self.n_words += 1;
        match self.short.get_mut(n_chars as usize) {
            Some(count) => *count += 1,
            None => self.long.push(n_chars),
        }
    }

    /// To be called when all words are added.
    pub(super) fn sort(&mut self) {
        self.long.sort_unstable();
    }

    /// The longest; `None` without words.
    pub fn longest(&self) -> Option<usize> {
        let short = || self.short.iter().rposition(|n| *n > 0);
        self.long.last().map(|n| *n as usize).or_else(short)
    }

    /// The middle one, or the mean of the middle two; `None` without words.
    pub fn median(&self) -> Option<f64> {
        let (low, high) = (self.nth(self.n_words.checked_sub(1)? / 2)?, self.nth(self.n_words / 2)?);
        Some((low + high) as f64 / 2.0)
    }

    /// The length of the word with `n` words before it, sorted by length.
    fn nth(&self, n: usize) -> Option<usize> {
        let mut n_before = 0;
        for (length, count) in self.short.iter().enumerate() {
            n_before += *count as usize;
            if n < n_before {
                return Some(length);
            }
        }
        self.long.get(n - n_before).map(|length| *length as usize)
    }
}

#[cfg(test)]
mod tests {
    use crate::ops::doc::{Doc, Needs};

    #[test]
    fn median_and_longest_are_those_of_the_sorted_lengths() {
        let long = "x".repeat(100);
        for (text, longest, median) in [
            ("", None, None),
            ("a", Some(1), Some(1.0)),
            ("a bcd", Some(3), Some(2.0)),
            ("ééé a bb", Some(3), Some(2.0)),
            (&format!("{long} a {long}b"), Some(101), Some(100.0)),
            (&format!("{long} a"), Some(100), Some(50.5)),
        ] {
            let mut doc = Doc::new();
            doc.read(text, Needs::WORD_LENGTHS);
            assert_eq!((doc.word_lengths().longest(), doc.word_lengths().median()), (longest, median), "{text:?}");
        }
    }
}
