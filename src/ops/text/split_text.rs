//! `split_text(text, separator => E'\n\n')`: a document's segments.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "split_text",
    family: Family::Text,
    summary: "the segments of the document, which `separator` separates",
    details: "The separator is taken literally; it is in no segment, and joining the segments with it gives the \
              document back. With the default, segments are paragraphs. An empty document is one empty segment; an \
              empty separator separates nothing. `unnest` makes a row of each segment, `string_agg(segment, separator \
              ORDER BY number)` joins them again; `pack_text` makes segments as long as a limit allows. NeMo Curator's \
              DocumentSplitter takes a separator of more than one character for a regular expression.",
    params: &[
        Param::text("text", "the document"),
        Param::text("separator", "what stands between two segments").default(Literal::Text("\n\n")),
    ],
    returns: Returns::List(&Returns::Utf8),
    examples: &[
        Example::of(r"split_text(E'one\n\ntwo')", "[one, two]"),
        Example::of("split_text('a,b,,c', ',')[2]", "'b'"),
        Example::of("cardinality(split_text('a,b,,c', separator => ','))", "4"),
        Example::of("cardinality(split_text(''))", "1"),
        Example::of("split_text(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.3), // estimate
    cpu: Cpu::List(|text, args, items| {
        for segment in segments(text, args.text("separator")) {
            items.item().text(segment);
        }
    }),
    gpu: Gpu::NOT_YET,
};

/// What `separator` separates; the whole text if it is empty.
pub(super) fn segments<'t>(text: &'t str, separator: &'t str) -> impl Iterator<Item = &'t str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let (segment, after) = match text.split_once(separator) {
            Some((segment, after)) if !separator.is_empty() => (segment, Some(after)),
            _ => (text, None),
        };
        rest = after;
        Some(segment)
    })
}
