//! `terminal_line_ratio(text)`: the share of lines that end like a sentence.

use super::line_kinds::{about_lines, for_each_line, lines_option, needs};
use crate::ops::Line;
use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "terminal_line_ratio",
    family: Family::Web,
    summary: "share of lines whose last character ends a sentence, in any script",
    details: concat!(
        "(lines whose last character is one of datatrove's 159 sentence-ending marks: `.`, `?`, `!`, `。`, `؟`, `।`, …) \
         / lines. Lines are not trimmed, so a space after the mark hides it. FineWeb drops documents below 0.12. A \
         document without lines gives 0.",
        about_lines!()
    ),
    params: &[Param::text("text", "the document"), lines_option("solid")],
    returns: Returns::Float64,
    examples: &[
        Example::of(r"terminal_line_ratio(E'A sentence.\nmenu\n\n本文。\n')", "0.6666666666666666"),
        Example::of("terminal_line_ratio('Said \"yes.\"')", "0.0"),
        Example::of("terminal_line_ratio('')", "0.0"),
        Example::of("terminal_line_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.85),
    cpu: Cpu::measure(needs, |doc, args| {
        let mut n_hits = 0;
        let n_lines = for_each_line(doc, args, |line| n_hits += usize::from(ends_in_mark(line, doc.text())));
        scan::ratio(n_hits, n_lines)
    }),
    gpu: Gpu::statistic(include_str!("../../../kernels/web/terminal_line_ratio.cu")).and_instructions_per_byte(10.0),
};

#[inline]
fn ends_in_mark(line: Line, text: &str) -> bool {
    match line.bytes(text).last() {
        // Whether a line ends in a mark cannot be foreseen, so it is not decided but computed.
        Some(last) if last.is_ascii() => (*last == b'.') | (*last == b'?') | (*last == b'!'),
        _ => line.of(text).ends_with(scan::is_terminal),
    }
}
