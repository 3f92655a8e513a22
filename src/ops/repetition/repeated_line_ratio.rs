//! `repeated_line_ratio(text)`: the share of lines that occur more than once.

use super::line_choice::{line_option, lines_of};
use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "repeated_line_ratio",
    family: Family::Repetition,
    summary: "share of lines that occur more than once, the first of them counted too",
    details: "lines equal to another line of the document / lines. Which lines there are is the option `lines`: \
              `all` (what line feeds separate, empty ones too), `merged` (a run of line feeds separates like one), \
              `filled` (not empty), `solid` (not blank). A document without lines gives 0. With `all` Dolma's \
              gopher_v1 `fraction_of_duplicate_lines`, with `merged` that of gopher_v2, with `filled` the value of \
              DCLM.",
    params: &[Param::text("text", "the document"), line_option("all")],
    returns: Returns::Float64,
    examples: &[
        Example::of(r"repeated_line_ratio(E'buy\nnow\nbuy\nsee')", "0.5"),
        Example::of(r"repeated_line_ratio(E'a\n\n\nb')", "0.5"),
        Example::of("repeated_line_ratio('')", "0.0"),
        Example::of("repeated_line_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(1.1).and_ns_per_row(100.0),
    cpu: Cpu::measure(
        |_| Needs::LINE_REPEATS,
        |doc, args| {
            let lines = lines_of(doc, args);
            scan::ratio(lines.n_repeated, lines.n)
        },
    ),
    gpu: Gpu::statistic(include_str!("../../../kernels/repetition/repeated_line_ratio.cu")),
};
