//! `slice_chars(text, first => 0, last => …, strip => false)`: a document from one character to another.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "slice_chars",
    family: Family::Text,
    summary: "the characters from number `first` up to, and without, number `last`",
    details: "Python's `text[first:last]`: characters are numbered from 0, a negative number counts from the end, \
              numbers past either end mean that end, and a slice that ends before it begins is empty. With `strip`, \
              white space at both ends of the slice goes too. As NeMo Curator's Slicer with whole numbers (where \
              `strip` is the default); `slice_between` looks for texts instead.",
    params: &[
        Param::text("text", "the document"),
        Param::int("first", "the first character to keep").default(Literal::Int(0)),
        Param::int("last", "the first character after the slice").default(Literal::Int(i64::MAX)),
        Param::bool("strip", "delete white space at both ends of the slice").default(Literal::Bool(false)),
    ],
    returns: Returns::Utf8,
    examples: &[
        Example::of("slice_chars('abcdef', 1, 3)", "'bc'"),
        Example::of("slice_chars('abcdef', first => -2)", "'ef'"),
        Example::of("slice_chars('abc def', last => -3, strip => true)", "'abc'"),
        Example::of("slice_chars('abc', 2, 1)", "''"),
        Example::of("slice_chars('', 0, 5)", "''"),
        Example::of("slice_chars(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.2), // estimate
    cpu: Cpu::Text(|text, args| {
        let slice = slice_chars(text, args.int("first"), args.int("last"));
        Cow::Borrowed(if args.bool("strip") { slice.trim_matches(scan::is_space) } else { slice })
    }),
    gpu: Gpu::NOT_YET,
};

fn slice_chars(text: &str, first: i64, last: i64) -> &str {
    let start = byte_of_char(text, first);
    let end = byte_of_char(text, last);
    text.get(start..end).unwrap_or_default()
}

/// The byte at which character number `n` begins; negative numbers count from the end.
fn byte_of_char(text: &str, n: i64) -> usize {
    let count = usize::try_from(n.unsigned_abs()).unwrap_or(usize::MAX);
    if count >= text.len() {
        return if n < 0 { 0 } else { text.len() };
    }
    if n < 0 {
        text.char_indices().rev().nth(count - 1).map_or(0, |(at, _)| at)
    } else {
        text.char_indices().nth(count).map_or(text.len(), |(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_pythons() {
        for (first, last, expected) in [
            (0, i64::MAX, "aßçđe"),
            (1, 3, "ßç"),
            (-3, -1, "çđ"),
            (-99, 2, "aß"),
            (3, 99, "đe"),
            (4, 2, ""),
            (5, 9, ""),
            (i64::MIN, i64::MAX, "aßçđe"),
            (-1, 0, ""),
            (-5, -5, ""),
            (0, -6, ""),
            (-6, 1, "a"),
        ] {
            assert_eq!(slice_chars("aßçđe", first, last), expected, "{first}..{last}");
        }
    }
}
