//! `unique_line_char_ratio(text)`: the share of characters in distinct lines.

use super::line_choice::{line_option, lines_of};
use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "unique_line_char_ratio",
    family: Family::Repetition,
    summary: "characters of the distinct lines for each character of all lines",
    details: "characters in distinct lines / characters in lines, line feeds not counted. Which lines there are is \
              the option `lines`: `all` (what line feeds separate, empty ones too), `merged` (a run of line feeds \
              separates like one), `filled` (not empty), `solid` (not blank). A document without such characters \
              gives 1. With `solid` NeMo's RepeatedLinesByCharFilter, which keeps documents from 0.8 (and raises \
              on a document without lines).",
    params: &[Param::text("text", "the document"), line_option("solid")],
    returns: Returns::Float64,
    examples: &[
        Example::of(r"unique_line_char_ratio(E'abc\nx\nabc\nx')", "0.5"),
        Example::of(r"unique_line_char_ratio(E'abcde\nx\nx\nx')", "0.75"),
        Example::of("unique_line_char_ratio('')", "1.0"),
        Example::of("unique_line_char_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(1.05).and_ns_per_row(100.0),
    cpu: Cpu::measure(
        |_| Needs::LINE_REPEATS,
        |doc, args| {
            let lines = lines_of(doc, args);
            if lines.chars == 0 { 1.0 } else { scan::ratio(lines.distinct_chars, lines.chars) }
        },
    ),
    gpu: Gpu::statistic(include_str!("../../../kernels/repetition/unique_line_char_ratio.cu")),
};
