//! `longest_line(text)`: the length of the longest line.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "longest_line",
    family: Family::Quality,
    summary: "number of characters of the longest line",
    details: "Lines as Python's `str.splitlines()` gives them, without their ends. Data-Juicer's \
              `max_line_length`. An empty document gives 0.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Int64,
    examples: &[
        Example::of(r"longest_line(E'ab\ncde\n')", "3"),
        Example::of(r"longest_line(E'été\r\n')", "3"),
        Example::of("longest_line('')", "0"),
        Example::of("longest_line(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.86),
    cpu: Cpu::count(
        |_| Needs::SPLIT_LINES,
        |doc, _| doc.split_lines().iter().map(|line| i64::from(line.n_chars)).max().unwrap_or(0),
    ),
    gpu: Gpu::statistic(include_str!("../../../kernels/quality/longest_line.cu")),
};
