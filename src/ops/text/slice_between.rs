//! `slice_between(text, left, right, …)`: a document from the first `left` to the last `right`.

use crate::ops::prelude::*;
use memchr::memmem;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "slice_between",
    family: Family::Text,
    summary: "the text from the first `left` to the last `right`, which may be kept or not",
    details: "A document without `left` or without `right` gives an empty text, and so does one whose last `right` \
              comes before its first `left`. An empty `left` is the beginning, an empty `right` the end. With `strip`, \
              white space at both ends of the result goes too. As NeMo Curator's Slicer with texts; `slice_chars` \
              counts characters instead. An empty document gives an empty text.",
    params: &[
        Param::text("text", "the document"),
        Param::text("left", "where the slice begins").default(Literal::Text("")),
        Param::text("right", "where the slice ends").default(Literal::Text("")),
        Param::bool("include_left", "keep `left` itself").default(Literal::Bool(true)),
        Param::bool("include_right", "keep `right` itself").default(Literal::Bool(true)),
        Param::bool("strip", "delete white space at both ends of the slice").default(Literal::Bool(true)),
    ],
    returns: Returns::Utf8,
    examples: &[
        Example::of("slice_between('x BEGIN a b END y', 'BEGIN', 'END')", "'BEGIN a b END'"),
        Example::of(
            "slice_between('x BEGIN a b END y', 'BEGIN', 'END', include_left => false, include_right => false)",
            "'a b'",
        ),
        Example::of("slice_between('no marks', 'BEGIN', 'END')", "''"),
        Example::of("slice_between('One. Two. Th', right => '.')", "'One. Two.'"),
        Example::of("slice_between('', 'a')", "''"),
        Example::of("slice_between(NULL, 'a')", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.2), // estimate
    cpu: Cpu::Text(|text, args| {
        let slice = slice_between(
            text,
            (args.text("left"), args.bool("include_left")),
            (args.text("right"), args.bool("include_right")),
        );
        Cow::Borrowed(if args.bool("strip") { slice.trim_matches(scan::is_space) } else { slice })
    }),
    gpu: Gpu::NOT_YET,
};

/// Each end is a text and whether it is kept.
fn slice_between<'t>(text: &'t str, left: (&str, bool), right: (&str, bool)) -> &'t str {
    let Some(found_left) = memmem::find(text.as_bytes(), left.0.as_bytes()) else { return "" };
    let Some(found_right) = memmem::rfind(text.as_bytes(), right.0.as_bytes()) else { return "" };
    let start = if left.1 { found_left } else { found_left + left.0.len() };
    let end = if right.1 { found_right + right.0.len() } else { found_right };
    text.get(start..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_may_touch_or_overlap() {
        for (text, left, right, kept, dropped) in [
            ("aXbYc", "X", "Y", "XbY", "b"),
            ("YaX", "X", "Y", "", ""),
            ("aba", "aba", "aba", "aba", ""),
            ("abab", "aba", "bab", "abab", ""),
            ("«é»", "«", "»", "«é»", "é"),
            ("abc", "", "", "abc", "abc"),
        ] {
            assert_eq!(slice_between(text, (left, true), (right, true)), kept, "{text} {left} {right}");
            assert_eq!(slice_between(text, (left, false), (right, false)), dropped, "{text} {left} {right}");
        }
    }
}
