//! Lines: what line feeds separate, as `text.split('\n')` gives them. A document has at least one.
//!
//! The walk (`walk.rs`) hands over 64 bytes at a time, a bit each, and a line is noted at its line feed together with
//! what statistics ask of it: where it is without the white space at its ends, its characters, its words.
//!
//! Not here: lines cut at other line breaks (`split_lines.rs`).

use super::words::Word;
use crate::ops::scan;

/// A line, without its line feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// Its first byte.
    pub start: u32,
    /// The byte after its last.
    pub end: u32,
    /// Its first byte that is no white space.
    pub first: u32,
    /// The byte after its last that is no white space; `first` if there is none.
    pub last: u32,
    /// How many characters it has, with the white space at its ends.
    pub n_chars: u32,
    /// How many words it has.
    pub n_words: u32,
}

impl Line {
    /// The line from byte `start` to byte `end`, of which all words are known.
    pub(super) fn of_words(text: &str, start: usize, end: usize, words: &[Word]) -> Self {
        Self {
            start: start as u32,
            end: end as u32,
            first: words.first().map_or(end as u32, |word| word.start),
            last: words.last().map_or(end as u32, |word| word.end),
            n_chars: scan::n_chars(text.get(start..end).unwrap_or_default()) as u32,
            n_words: words.len() as u32,
        }
    }

    /// The line from byte `start` to byte `end`, by definition.
    #[cfg(test)]
    pub(super) fn find(text: &str, start: usize, end: usize) -> Self {
        let line = text.get(start..end).unwrap_or_default();
        let without_start = line.trim_start_matches(scan::is_space);
        let first = end - without_start.len();
        Self {
            start: start as u32,
            end: end as u32,
            first: first as u32,
            last: (first + without_start.trim_end_matches(scan::is_space).len()) as u32,
            n_chars: scan::n_chars(line) as u32,
            n_words: scan::words(line).count() as u32,
        }
    }

    /// Whether it is empty or white space.
    #[inline]
    pub fn is_blank(self) -> bool {
        self.first == self.last
    }

    /// How many characters it has without the white space at its ends.
    #[inline]
    pub fn n_trimmed_chars(self, text: &str) -> usize {
        let (before, after) = (self.first - self.start, self.end - self.last);
        if before + after == 0 || self.n_chars == self.end - self.start {
            return (self.n_chars - before - after) as usize;
        }
        let cut = |from: u32, to: u32| scan::n_chars(text.get(from as usize..to as usize).unwrap_or_default());
        self.n_chars as usize - cut(self.start, self.first) - cut(self.last, self.end)
    }

    /// The line in its document.
    #[inline]
    pub fn of(self, text: &str) -> &str {
        text.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    /// The bytes of the line.
    #[inline]
    pub fn bytes(self, text: &str) -> &[u8] {
        text.as_bytes().get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    /// The bytes of the line without the white space at its ends.
    #[inline]
    pub fn trimmed_bytes(self, text: &str) -> &[u8] {
        text.as_bytes().get(self.first as usize..self.last as usize).unwrap_or_default()
    }

    /// The line without the white space at its ends.
    #[inline]
    pub fn trimmed(self, text: &str) -> &str {
        text.get(self.first as usize..self.last as usize).unwrap_or_default()
    }
}

/// The lines of a document.
#[derive(Debug, Default)]
pub struct Lines {
    /// Each line, in order.
    pub all: Vec<Line>,
    /// The places of those that are not blank. Blank lines come without a pattern that a processor could foresee, so
    /// that each statistic asking again would be expensive.
    full: Vec<u32>,
}

impl Lines {
    /// The lines that are not blank.
    #[inline]
    pub fn full(&self) -> impl ExactSizeIterator<Item = Line> {
        self.full.iter().map(|place| self.all[*place as usize])
    }

    /// How many there are of them.
    #[inline]
    pub fn n_full(&self) -> usize {
        self.full.len()
    }
}

/// Sixty-four bytes of a document: bit `i` speaks about byte `start + i`.
pub(super) struct Here<'w> {
    pub(super) start: u32,
    /// Line feeds.
    pub(super) feeds: u64,
    /// Where words begin.
    pub(super) begins: u64,
    /// Bytes that begin no character.
    pub(super) inner: u64,
    /// Such bytes before `start`.
    pub(super) n_inner: u32,
    /// Words that begin before `start`.
    pub(super) n_words: u32,
    /// The words so far, those of these bytes too.
    pub(super) words: &'w [Word],
}

/// Finds the lines.
pub(super) struct LineWalk<'d> {
    lines: &'d mut Lines,
    /// Lines so far that are not blank.
    n_full: usize,
    /// Where the open line begins.
    start: u32,
    /// Before it: bytes that begin no character, and words.
    n_inner: u32,
    n_words: u32,
}

impl<'d> LineWalk<'d> {
    pub(super) fn new(lines: &'d mut Lines) -> Self {
        Self { lines, n_full: 0, start: 0, n_inner: 0, n_words: 0 }
    }

    /// Forgets the lines of another document.
    pub(super) fn begin(&mut self) {
        self.lines.all.clear();
    }

    #[inline(always)]
    pub(super) fn block(&mut self, here: Here) {
        let mut feeds = here.feeds;
        while feeds != 0 {
            let bit = feeds.trailing_zeros();
            let before = (1 << bit) - 1;
            let n_inner = if here.inner == 0 { 0 } else { (here.inner & before).count_ones() };
            let n_words = (here.begins & before).count_ones();
            self.close(here.start + bit, here.n_inner + n_inner, here.n_words + n_words, here.words);
            feeds &= feeds - 1;
        }
    }

    /// The last line, which no line feed ends.
    pub(super) fn finish(&mut self, end: u32, n_inner: u32, n_words: u32, words: &[Word]) {
        self.close(end, n_inner, n_words, words);
        self.lines.full.truncate(self.n_full);
    }

    /// Notes the open line, which ends before byte `end`; the numbers count what is before that, `words` has at least
    /// those words.
    #[inline(always)]
    fn close(&mut self, end: u32, n_inner: u32, n_words: u32, words: &[Word]) {
        // No word reaches over a line feed, so the first and the last word are the ends of the line without white space.
        let is_full = n_words > self.n_words;
        let first = words.get(self.n_words as usize).map_or(end, |word| word.start);
        let last = words.get((n_words as usize).wrapping_sub(1)).map_or(end, |word| word.end);
        // Noted in any case, and written over by the next line if this one is blank: that needs no foresight.
        if self.lines.full.len() <= self.n_full {
            self.lines.full.resize(2 * self.n_full + 16, 0);
        }
        self.lines.full[self.n_full] = self.lines.all.len() as u32;
        self.n_full += usize::from(is_full);
        self.lines.all.push(Line {
            start: self.start,
            end,
            first: if is_full { first } else { end },
            last: if is_full { last } else { end },
            n_chars: end - self.start - (n_inner - self.n_inner),
            n_words: n_words - self.n_words,
        });
        self.start = end + 1;
        self.n_inner = n_inner;
        self.n_words = n_words;
    }
}

#[cfg(test)]
mod tests {
    use crate::ops::doc::{Doc, Needs};

    #[test]
    fn lines_are_stripped_as_python_strips() {
        for (text, expected) in [
            ("", vec![]),
            (" a \n\n\t\n b c\u{85}\r\n", vec!["a", "b c"]),
            ("\u{3000}日 \u{3000}\nx\u{1f}", vec!["日", "x"]),
            ("\u{3000} \u{2028}", vec![]),
            ("é", vec!["é"]),
        ] {
            let mut doc = Doc::new();
            doc.read(text, Needs::LINES);
            assert_eq!(doc.lines().full().map(|line| line.trimmed(text)).collect::<Vec<_>>(), expected, "{text:?}");
            assert_eq!(doc.lines().n_full(), expected.len(), "{text:?}");
        }
    }
}
