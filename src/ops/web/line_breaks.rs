//! Cutting text at every kind of line break, fast where line feeds are the only kind.

use crate::ops::prelude::*;
use memchr::{memchr, memmem};

/// The lines as Python's `str.splitlines()` gives them.
pub(super) fn split_lines(text: &str) -> impl Iterator<Item = &str> {
    let line_feeds_only = !may_have_other_break(text);
    let mut rest = if line_feeds_only { text } else { "" };
    let quick = std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len());
        let line = rest.get(..end)?;
        rest = rest.get(end + 1..).unwrap_or_default();
        Some(line)
    });
    quick.chain(scan::split_lines(if line_feeds_only { "" } else { text }))
}

/// Whether there may be a break other than a line feed. Blocks of bytes are looked at without branching, which the
/// compiler turns into vector code.
fn may_have_other_break(text: &str) -> bool {
    let mut wide = false;
    for block in text.as_bytes().chunks(128) {
        let (mut rare, mut lead) = (false, false);
        for &byte in block {
            rare |= matches!(byte, 0x0b..=0x0d | 0x1c..=0x1e);
            lead |= byte == 0xc2 || byte == 0xe2;
        }
        if rare {
            return true;
        }
        wide |= lead;
    }
    let is_in = |mark: &&str| memmem::find(text.as_bytes(), mark.as_bytes()).is_some();
    wide && ["\u{85}", "\u{2028}", "\u{2029}"].iter().any(|mark| is_in(&mark))
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("a\u{b}b\u{c}c\u{1c}d\u{1d}e\u{1e}f\u{1f}g", &["a", "b", "c", "d", "e", "f\u{1f}g"]),
            ("é\u{85}â\u{2028}€\u{2029}…\u{2027}x", &["é", "â", "€", "…\u{2027}x"]),
            ("…\n…", &["…", "…"]),
        ];
        for (text, lines) in cases {
            assert_eq!(split_lines(text).collect::<Vec<_>>(), *lines, "{text:?}");
        }
    }
}
