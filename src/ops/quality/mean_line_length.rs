//! `mean_line_length(text)`: characters per line.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "mean_line_length",
    family: Family::Quality,
    summary: "mean number of characters in a line",
    details: "(characters of the document) / (lines as Python's `str.splitlines()` gives them, which end at line \
              feeds, carriage returns, form feeds, U+001C to U+001E, U+0085, U+2028 and U+2029). Line ends count \
              as characters: this is Data-Juicer's `avg_line_length`. An empty document gives 0.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Float64,
    examples: &[
        Example::of(r"mean_line_length(E'ab\ncde\n')", "3.5"),
        Example::of("mean_line_length('été')", "3.0"),
        Example::of("mean_line_length('')", "0.0"),
        Example::of("mean_line_length(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.84),
    cpu: Cpu::measure(
        |_| Needs::CHARS.and(Needs::SPLIT_LINES),
        |doc, _| scan::ratio(doc.chars().n_chars, doc.split_lines().len()),
    ),
    gpu: Gpu::statistic(include_str!("../../../kernels/quality/mean_line_length.cu")),
};
