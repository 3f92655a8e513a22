//! `duplicate_line_ratio(text)`: the share of lines that were there before.

use super::line_choice::{line_option, lines_of};
use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "duplicate_line_ratio",
    family: Family::Repetition,
    summary: "share of lines that repeat an earlier line of the document",
    details: "(lines − distinct lines) / lines. Which lines there are is the option `lines`: `all` (what line \
              feeds separate, empty ones too), `merged` (a run of line feeds separates like one), `filled` (not \
              empty), `solid` (not blank). A document without lines gives 0. With `merged` the value of \
              datatrove's GopherRepetitionFilter, which drops documents above 0.3.",
    params: &[Param::text("text", "the document"), line_option("merged")],
    returns: Returns::Float64,
    examples: &[
        Example::of(r"duplicate_line_ratio(E'buy\nnow\nbuy\nbuy')", "0.5"),
        Example::of(r"duplicate_line_ratio(E'a\n\n\n')", "0.0"),
        Example::of(r"duplicate_line_ratio(E'a\n\n\n', lines => 'all')", "0.5"),
        Example::of("duplicate_line_ratio('')", "0.0"),
        Example::of("duplicate_line_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(1.05).and_ns_per_row(100.0),
    cpu: Cpu::measure(
        |_| Needs::LINE_REPEATS,
        |doc, args| {
            let lines = lines_of(doc, args);
            scan::ratio(lines.n_duplicates(), lines.n)
        },
    ),
    gpu: Gpu::statistic(include_str!("../../../kernels/repetition/duplicate_line_ratio.cu")),
};
