//! `whitespace_ratio(text)`: the share of white space.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "whitespace_ratio",
    family: Family::Quality,
    summary: "share of characters that are white space",
    details: "(white-space characters, as Python's `str.isspace()` has it) / characters. An empty document gives \
              0.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Float64,
    examples: &[
        Example::of("whitespace_ratio('a b ')", "0.5"),
        Example::of(r"whitespace_ratio(E'\n\t')", "1.0"),
        Example::of("whitespace_ratio('')", "0.0"),
        Example::of("whitespace_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.37),
    cpu: Cpu::measure(
        |_| Needs::CHARS,
        |doc, _| {
            let chars = doc.chars();
            scan::ratio(chars.ascii_white_space() + chars.wide(scan::Properties::SPACE), chars.n_chars)
        },
    ),
    gpu: Gpu::statistic(include_str!("../../../kernels/quality/whitespace_ratio.cu")),
};
