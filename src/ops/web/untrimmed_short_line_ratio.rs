//! `untrimmed_short_line_ratio(text, max_chars)`: the share of lines that are short, with the white space at their ends.

use super::line_kinds::{about_lines, for_each_line, lines_option, needs};
use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "untrimmed_short_line_ratio",
    family: Family::Web,
    summary: "share of lines of at most `max_chars` characters, white space at their ends included",
    details: concat!(
        "(lines of at most `max_chars` characters, those at its ends too) / lines. FineWeb drops documents above 0.67, \
         with 30 characters. A document without lines gives 0.",
        about_lines!()
    ),
    params: &[
        Param::text("text", "the document"),
        Param::int("max_chars", "the longest short line").at_least(0).default(Literal::Int(30)),
        lines_option("solid"),
    ],
    returns: Returns::Float64,
    examples: &[
        Example::of(
            r"untrimmed_short_line_ratio(E'Home\nAbout\n\nA line that is longer than a menu entry.')",
            "0.6666666666666666",
        ),
        Example::of("untrimmed_short_line_ratio('été', max_chars => 3)", "1.0"),
        Example::of("untrimmed_short_line_ratio('')", "0.0"),
        Example::of("untrimmed_short_line_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.75),
    cpu: Cpu::measure(needs, |doc, args| {
        let max_chars = args.count("max_chars");
        let mut n_hits = 0;
        let n_lines = for_each_line(doc, args, |line| n_hits += usize::from(line.n_chars as usize <= max_chars));
        scan::ratio(n_hits, n_lines)
    }),
    gpu: Gpu::statistic(include_str!("../../../kernels/web/untrimmed_short_line_ratio.cu"))
        .and_instructions_per_byte(5.0),
};
