//! A query's text, and places in it.

use std::sync::Arc;

/// A half-open range of bytes in a [`SourceText`]. Deliberately not part of any `Eq` on syntax trees:
/// two queries that differ only in white space are the same query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// The span from `start` up to, not including, `end`.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end: end.max(start) }
    }

    /// The smallest span that covers both.
    pub fn to(self, other: Span) -> Self {
        Self::new(self.start.min(other.start), self.end.max(other.end))
    }
}

/// The text of a file, a `-e` argument or a line at the prompt, with its name. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SourceText {
    inner: Arc<Inner>,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Inner {
    name: String,
    text: String,
    line_starts: Vec<usize>,
}

impl SourceText {
    /// Takes the text; `name` is what messages call it: a path, `<argument>`, `<stdin>`.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let mut text = text.into();
        // Some editors put a byte order mark in front; it is no part of what was written.
        if text.starts_with('\u{feff}') {
            text.drain(..'\u{feff}'.len_utf8());
        }
        let line_starts =
            std::iter::once(0).chain(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1)).collect();
        Self { inner: Arc::new(Inner { name: name.into(), text, line_starts }) }
    }

    /// What messages call this text.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.inner.text
    }

    /// The text of a span; empty if the span is not inside the text.
    pub fn slice(&self, span: Span) -> &str {
        self.inner.text.get(span.start..span.end).unwrap_or_default()
    }

    /// The 1-based line and column (in characters) of a byte offset.
    pub fn line_column(&self, offset: usize) -> (usize, usize) {
        let offset = offset.min(self.inner.text.len());
        let line = self.inner.line_starts.partition_point(|&start| start <= offset).saturating_sub(1);
        let start = self.inner.line_starts[line];
        let column = self.inner.text.get(start..offset).map_or(offset - start, |before| before.chars().count());
        (line + 1, column + 1)
    }

    /// The byte offset of a 1-based line and column (in characters), clamped to the text.
    pub fn offset(&self, line: usize, column: usize) -> usize {
        let text = &self.inner.text;
        let Some(&start) = self.inner.line_starts.get(line.saturating_sub(1)) else { return text.len() };
        let rest = &text[start..];
        let within = rest.char_indices().nth(column.saturating_sub(1)).map_or(rest.len(), |(at, _)| at);
        start + within
    }

    /// The span of the whole text.
    pub fn span(&self) -> Span {
        Span::new(0, self.inner.text.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_lines_start_at_one() {
        let source = SourceText::new("t", "añb\nc");
        assert_eq!(source.line_column(3), (1, 3));
        assert_eq!(source.line_column(5), (2, 1));
        assert_eq!(source.offset(1, 3), 3);
        assert_eq!(source.offset(2, 1), 5);
        assert_eq!(source.offset(9, 9), 6);
    }
}
