//! `short_line_ratio(text)`: the share of short lines.

use crate::ops::Line;
use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "short_line_ratio",
    family: Family::Quality,
    summary: "share of lines that are not blank and have few characters",
    details: "(lines of at most `max_chars` characters) / lines, over the lines that are not blank, each with the \
              white space at its ends removed. A document without such lines gives 0.",
    params: &[
        Param::text("text", "the document"),
        Param::int("max_chars", "the most characters of a short line").at_least(0).default(Literal::Int(30)),
    ],
    returns: Returns::Float64,
    examples: &[
        Example::of(r"short_line_ratio(E'Home\n\nA line that goes on and on and on')", "0.5"),
        Example::of("short_line_ratio('été', max_chars => 2)", "0.0"),
        Example::of("short_line_ratio('')", "0.0"),
        Example::of("short_line_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.88),
    cpu: Cpu::measure(|_| Needs::LINES, short_line_ratio),
    gpu: Gpu::statistic(include_str!("../../../kernels/quality/short_line_ratio.cu")).and_instructions_per_byte(15.0),
};

fn short_line_ratio(doc: &Doc, args: &Args) -> f64 {
    let max_chars = args.count("max_chars");
    let is_short = |line: &Line| line.n_trimmed_chars(doc.text()) <= max_chars;
    scan::ratio(doc.lines().full().filter(is_short).count(), doc.lines().n_full())
}
