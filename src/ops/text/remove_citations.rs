//! `remove_citations(text)`: the marks of an encyclopedia's notes are deleted.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "remove_citations",
    family: Family::Text,
    summary: "citation marks are deleted: `[1]`, `[]`, `[edit]`, `[citation needed]`",
    details: "Digits of every script count. White space around a mark stays. An empty document stays empty. As C4 does \
              with the pages of Wikipedia, and datatrove's C4QualityFilter with all.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Utf8,
    examples: &[
        Example::of("remove_citations('Born in 1815.[2][citation needed]')", "'Born in 1815.'"),
        Example::of("remove_citations('History [edit]')", "'History '"),
        Example::of("remove_citations('a[i] = [1, 2]')", "'a[i] = [1, 2]'"),
        Example::of("remove_citations('')", "''"),
        Example::of("remove_citations(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.2), // measured on mixed documents
    cpu: Cpu::Text(|text, _| remove_citations(text)),
    gpu: Gpu::NOT_YET,
};

/// The text without its citation marks.
pub(crate) fn remove_citations(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut copied = 0;
    for at in memchr::memchr_iter(b'[', text.as_bytes()) {
        if let Some(after) = after_mark(&text[at + 1..]) {
            out.push_str(&text[copied..at]);
            copied = text.len() - after.len();
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// What follows the mark whose bracket was opened before `rest`.
fn after_mark(rest: &str) -> Option<&str> {
    let number = rest.trim_start_matches(scan::is_decimal_digit);
    let mark = ["edit]", "citation needed]"].iter().find_map(|mark| rest.strip_prefix(mark));
    number.strip_prefix(']').or(mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_marks_go() {
        for (text, expected) in [
            ("a[12]b", "ab"),
            ("a[[1]]b", "a[]b"),
            ("[1", "[1"),
            ("[1a]", "[1a]"),
            ("[٣]é[１]", "é"),
            ("[²]", "[²]"),
            ("[Edit]", "[Edit]"),
            ("x[edit][]", "x"),
        ] {
            assert_eq!(remove_citations(text), expected, "{text:?}");
        }
    }
}
