//! `unique_line_ratio(text)`: the share of distinct lines.

use super::line_choice::{line_option, lines_of};
use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "unique_line_ratio",
    family: Family::Repetition,
    summary: "number of distinct lines for each line",
    details: "distinct lines / lines. Which lines there are is the option `lines`: `all` (what line feeds \
              separate, empty ones too), `merged` (a run of line feeds separates like one), `filled` (not empty), \
              `solid` (not blank). A document without lines gives 1. With `solid` NeMo's RepeatedLinesFilter, \
              which keeps documents from 0.7 (and raises on a document without lines).",
    params: &[Param::text("text", "the document"), line_option("solid")],
    returns: Returns::Float64,
    examples: &[
        Example::of(r"unique_line_ratio(E'buy\nnow\n\nbuy\nbuy')", "0.5"),
        Example::of(r"unique_line_ratio(E'a\n\n\n')", "1.0"),
        Example::of("unique_line_ratio('')", "1.0"),
        Example::of("unique_line_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(1.05).and_ns_per_row(100.0),
    cpu: Cpu::measure(
        |_| Needs::LINE_REPEATS,
        |doc, args| {
            let lines = lines_of(doc, args);
            if lines.n == 0 { 1.0 } else { scan::ratio(lines.n_distinct, lines.n) }
        },
    ),
    gpu: Gpu::statistic(include_str!("../../../kernels/repetition/unique_line_ratio.cu")),
};
