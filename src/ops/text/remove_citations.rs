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

fn remove_citations(text: &str) -> Cow<'_, str> {
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
    let number = rest.trim_start_matches(is_decimal_digit);
    let mark = ["edit]", "citation needed]"].iter().find_map(|mark| rest.strip_prefix(mark));
    number.strip_prefix(']').or(mark)
}

/// Unicode's general category Nd, which Python's `\d` matches: ten digits from each of these zeros.
fn is_decimal_digit(c: char) -> bool {
    const ZEROS: [u32; 66] = [
        0x30, 0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50, 0xed0,
        0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0xa620,
        0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10, 0x104a0, 0x10d30, 0x11066, 0x110f0, 0x11136, 0x111d0,
        0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0, 0x11730, 0x118e0, 0x11950, 0x11c50, 0x11d50, 0x11da0, 0x16a60,
        0x16ac0, 0x16b50, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0, 0x1e950, 0x1fbf0,
    ];
    c.is_ascii_digit() || (!c.is_ascii() && ZEROS.iter().any(|zero| (*zero..zero + 10).contains(&u32::from(c))))
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
