//! Lines: what line feeds separate, as `text.split('\n')` gives them. A document has at least one.

use crate::ops::scan;

/// The lines of a document.
#[derive(Debug, Default)]
pub struct Lines {
    /// Where each line begins and ends, in bytes, without its line feed.
    pub spans: Vec<(u32, u32)>,
}

impl Lines {
    pub(super) fn read(&mut self, text: &str) {
        self.spans.clear();
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', text.as_bytes()).chain([text.len()]) {
            self.spans.push((start, end as u32));
            start = end as u32 + 1;
        }
    }

    /// The lines themselves; `text` is the document.
    pub fn iter<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        self.spans.iter().map(move |&(start, end)| text.get(start as usize..end as usize).unwrap_or_default())
    }
}

/// The lines that are not blank, without the white space at their ends.
#[derive(Debug, Default)]
pub struct FullLines {
    /// Where each begins and ends, in bytes.
    pub spans: Vec<(u32, u32)>,
}

impl FullLines {
    pub(super) fn read(&mut self, text: &str, lines: &Lines) {
        self.spans.clear();
        let bytes = text.as_bytes();
        for &(start, end) in &lines.spans {
            let (mut first, mut last) = (start as usize, end as usize);
            while first < last && is_ascii_space(bytes[first]) {
                first += 1;
            }
            while first < last && is_ascii_space(bytes[last - 1]) {
                last -= 1;
            }
            if first < last && (bytes[first] >= 0x80 || bytes[last - 1] >= 0x80) {
                let line = text.get(first..last).unwrap_or_default();
                let without_start = line.trim_start_matches(scan::is_space);
                first = last - without_start.len();
                last = first + without_start.trim_end_matches(scan::is_space).len();
            }
            if first < last {
                self.spans.push((first as u32, last as u32));
            }
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The lines themselves; `text` is the document.
    pub fn iter<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        self.spans.iter().map(move |&(start, end)| text.get(start as usize..end as usize).unwrap_or_default())
    }
}

fn is_ascii_space(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | 0x1c..=b' ')
}

#[cfg(test)]
mod tests {
    use crate::ops::doc::{Doc, Needs};

    #[test]
    fn full_lines_are_stripped_as_python_strips() {
        for (text, expected) in [
            ("", vec![]),
            (" a \n\n\t\n b c\u{85}\r\n", vec!["a", "b c"]),
            ("\u{3000}日 \u{3000}\nx\u{1f}", vec!["日", "x"]),
            ("\u{3000} \u{2028}", vec![]),
            ("é", vec!["é"]),
        ] {
            let mut doc = Doc::new();
            doc.read(text, Needs::FULL_LINES);
            assert_eq!(doc.full_lines().iter(text).collect::<Vec<_>>(), expected, "{text:?}");
        }
    }
}
