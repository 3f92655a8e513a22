//! Lines at every kind of line break, as Python's `str.splitlines()` gives them.
//!
//! A break is LF, CR, CR LF, VT, FF, U+001C to U+001E, U+0085, U+2028 or U+2029. A break at the end opens no further
//! line, so `''` has no line and `'a\n'` has one.
//! Not here: lines as line feeds alone separate them (`lines.rs`).

use super::chars::CharCounts;
use super::lines::{Line, Lines};
use super::words::Word;

/// The lines of a document, cut at every kind of line break.
#[derive(Debug, Default)]
pub(super) struct SplitLines {
    /// If line feeds are the only breaks, how many of the lines that they separate there are.
    n_shared: Option<usize>,
    /// Else each line, in order.
    lines: Vec<Line>,
}

impl SplitLines {
    /// `lines` are those that line feeds separate; `chars`, if they were counted, tell which breaks there are. Every break
    /// is white space, so no word reaches over one.
    pub(super) fn read(&mut self, text: &str, lines: &Lines, words: &[Word], chars: Option<&CharCounts>) {
        self.lines.clear();
        if !chars.map_or_else(|| has_rare_break(text), CharCounts::has_rare_break) {
            let is_last_empty = lines.all.last().is_some_and(|last| last.start == last.end);
            self.n_shared = Some(lines.all.len() - usize::from(is_last_empty));
            return;
        }
        self.n_shared = None;
        let mut words = words;
        self.lines.extend(split_lines(text).map(|line| {
            let start = line.as_ptr() as usize - text.as_ptr() as usize;
            let end = start + line.len();
            let n_words = words.iter().take_while(|word| (word.start as usize) < end).count();
            let (here, later) = words.split_at(n_words);
            words = later;
            Line::of_words(text, start, end, here)
        }));
    }

    /// The lines; `lines` are those that line feeds separate.
    pub(super) fn get<'d>(&'d self, lines: &'d Lines) -> &'d [Line] {
        match self.n_shared {
            Some(n_lines) => lines.all.get(..n_lines).unwrap_or_default(),
            None => &self.lines,
        }
    }
}

/// The lines of `text`, in order.
pub(crate) fn split_lines(text: &str) -> impl Iterator<Item = &str> {
    let line_feeds_only = !has_rare_break(text);
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let found = if line_feeds_only {
            memchr::memchr(b'\n', rest.as_bytes()).map(|at| (at, at + 1))
        } else {
            find_break(rest)
        };
        let (end, next) = found.unwrap_or((rest.len(), rest.len()));
        let line = rest.get(..end).unwrap_or_default();
        rest = rest.get(next..).unwrap_or_default();
        Some(line)
    })
}

/// Whether there is a break other than a line feed. Searches with vector code are far faster than looking at each byte.
fn has_rare_break(text: &str) -> bool {
    let bytes = text.as_bytes();
    let wide = ["\u{85}", "\u{2028}", "\u{2029}"];
    memchr::memchr3(0x0b, 0x0c, b'\r', bytes).is_some()
        || memchr::memchr3(0x1c, 0x1d, 0x1e, bytes).is_some()
        || !text.is_ascii() && wide.iter().any(|mark| memchr::memmem::find(bytes, mark.as_bytes()).is_some())
}

/// The first break: where it begins and ends.
fn find_break(text: &str) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    for (at, &byte) in bytes.iter().enumerate() {
        let len_bytes = match byte {
            b'\r' if bytes.get(at + 1) == Some(&b'\n') => 2,
            b'\n'..=b'\r' | 0x1c..=0x1e => 1,
            0xc2 if bytes.get(at + 1) == Some(&0x85) => 2,
            0xe2 if bytes.get(at + 1) == Some(&0x80) && matches!(bytes.get(at + 2), Some(0xa8 | 0xa9)) => 3,
            _ => continue,
        };
        return Some((at, at + len_bytes));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::doc::{Doc, Needs};

    #[test]
    fn lines_are_pythons() {
        // From `text.splitlines()`.
        let cases: &[(&str, &[&str])] = &[
            ("", &[]),
            ("\n", &[""]),
            ("a", &["a"]),
            ("a\n", &["a"]),
            ("a\n\nb", &["a", "", "b"]),
            ("a\r\nb\rc\n\rd", &["a", "b", "c", "", "d"]),
            (
                " one two\u{a0}\r\r é three \u{85}\u{3000}\n四\u{2028}",
                &[" one two\u{a0}", "", " é three ", "\u{3000}", "四"],
            ),
            ("a\u{b}b\u{c}c\u{1c}d\u{1d}e\u{1e}f\u{1f}g", &["a", "b", "c", "d", "e", "f\u{1f}g"]),
            ("é\u{85}â\u{2028}€\u{2029}…\u{2027}x", &["é", "â", "€", "…\u{2027}x"]),
            ("\r", &[""]),
        ];
        for (text, lines) in cases {
            assert_eq!(split_lines(text).collect::<Vec<_>>(), *lines, "{text:?}");
            for needs in [Needs::SPLIT_LINES, Needs::SPLIT_LINES.and(Needs::CHARS)] {
                let mut doc = Doc::new();
                doc.read(text, needs);
                let found: Vec<&str> = doc.split_lines().iter().map(|line| line.of(text)).collect();
                assert_eq!(found, *lines, "{text:?}");
                for line in doc.split_lines() {
                    let expected = Line::find(text, line.start as usize, line.end as usize);
                    assert_eq!(
                        *line,
                        if line.is_blank() {
                            Line { first: line.first, last: line.last, ..expected }
                        } else {
                            expected
                        }
                    );
                }
            }
        }
    }
}
