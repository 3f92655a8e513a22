//! Citation marks as Wikipedia sets them: `[1]`, `[]`, `[edit]`, `[citation needed]`.

use super::marks::is_decimal;
use std::borrow::Cow;

/// The text without its citation marks; digits of any script count.
pub(super) fn remove_citations(text: &str) -> Cow<'_, str> {
    let mut out: Option<String> = None;
    let mut copied = 0;
    let mut from = 0;
    while let Some(at) = memchr::memchr(b'[', text.as_bytes().get(from..).unwrap_or_default()).map(|at| from + at) {
        match citation_end(text, at) {
            Some(end) => {
                out.get_or_insert_default().push_str(text.get(copied..at).unwrap_or_default());
                (copied, from) = (end, end);
            }
            None => from = at + 1,
        }
    }
    match out {
        None => Cow::Borrowed(text),
        Some(mut out) => {
            out.push_str(text.get(copied..).unwrap_or_default());
            Cow::Owned(out)
        }
    }
}

/// The end of the mark that opens at `at`.
fn citation_end(text: &str, at: usize) -> Option<usize> {
    let inside = text.get(at + 1..)?;
    let number = inside.trim_start_matches(is_decimal);
    let rest = number
        .strip_prefix(']')
        .or_else(|| inside.strip_prefix("edit]"))
        .or_else(|| inside.strip_prefix("citation needed]"))?;
    Some(text.len() - rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_marks_go() {
        for (text, left) in [
            ("a[1] b[] c[edit] d[citation needed]", "a b c d"),
            ("a[[2]] [x] [1", "a[] [x] [1"),
            ("[٣]", ""),
            ("[1][2][", "["),
            ("é[12]é", "éé"),
        ] {
            assert_eq!(remove_citations(text), left, "{text:?}");
        }
        assert!(matches!(remove_citations("none [here]"), Cow::Borrowed(_)));
    }
}
