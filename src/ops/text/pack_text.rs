//! `pack_text(text, max_chars, separator => E'\n\n')`: a document in pieces that are no longer than needed.

use super::split_text::segments;
use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "pack_text",
    family: Family::Text,
    summary: "the document in pieces of whole segments, each of at most `max_chars` characters",
    details: "Segments are what `separator` separates. In order, a segment joins the piece before it if that piece, \
              the separator and the segment together have at most `max_chars` characters; else it begins a new piece. \
              A segment is never cut: one that is longer makes a longer piece of its own. Joining the pieces with the \
              separator gives the document back. An empty document is one empty piece. The packing of NeMo Curator's \
              DocumentJoiner with `max_length`, where lengths are characters.",
    params: &[
        Param::text("text", "the document"),
        Param::int("max_chars", "characters that a piece may have").at_least(1),
        Param::text("separator", "what stands between two segments").default(Literal::Text("\n\n")),
    ],
    returns: Returns::List(&Returns::Utf8),
    examples: &[
        Example::of("pack_text('aa bb cc', 5, separator => ' ')", "[aa bb, cc]"),
        Example::of("pack_text('aaaaaa b', 5, separator => ' ')", "[aaaaaa, b]"),
        Example::of("cardinality(pack_text('', 5))", "1"),
        Example::of("pack_text(NULL, 5)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.4), // estimate
    cpu: Cpu::List(|text, args, items| {
        pack_text(text, args.count("max_chars"), args.text("separator"), |piece| {
            items.item().text(piece);
        });
    }),
    gpu: Gpu::NOT_YET,
};

fn pack_text(text: &str, max_chars: usize, separator: &str, mut emit: impl FnMut(&str)) {
    let separator_chars = scan::n_chars(separator);
    // The piece so far: its first byte, the byte after its last, and its characters.
    let mut piece: Option<(usize, usize, usize)> = None;
    let mut at = 0;
    for segment in segments(text, separator) {
        let (start, end) = (at, at + segment.len());
        at = end + separator.len();
        let n_chars = scan::n_chars(segment);
        piece = match piece {
            Some((first, _, so_far)) if so_far + separator_chars + n_chars <= max_chars => {
                Some((first, end, so_far + separator_chars + n_chars))
            }
            full => {
                if let Some((first, last, _)) = full {
                    emit(&text[first..last]);
                }
                Some((start, end, n_chars))
            }
        };
    }
    if let Some((first, last, _)) = piece {
        emit(&text[first..last]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_as_long_as_the_limit_allows() {
        for (text, max_chars, expected) in [
            ("aa--bb--cc", 6, vec!["aa--bb", "cc"]),
            ("aa--bb--cc", 5, vec!["aa", "bb", "cc"]),
            ("aa--bb--cc", 10, vec!["aa--bb--cc"]),
            ("éé--éé", 6, vec!["éé--éé"]),
            ("--", 2, vec!["--"]),
            ("--", 1, vec!["", ""]),
            ("", 1, vec![""]),
            ("abcdef--g", 3, vec!["abcdef", "g"]),
            ("g--abcdef", 3, vec!["g", "abcdef"]),
        ] {
            let mut pieces = vec![];
            pack_text(text, max_chars, "--", |piece| pieces.push(piece.to_string()));
            assert_eq!(pieces, expected, "{text} {max_chars}");
        }
    }
}
