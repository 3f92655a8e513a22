//! `uppercase_ratio(text)`: the share of letters that are capitals.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "uppercase_ratio",
    family: Family::Quality,
    summary: "share of letters that are upper-case",
    details: "(characters with the Unicode property `Uppercase`) / (characters with `Alphabetic`). A document \
              without letters gives 0. Scripts without case count as letters that are not upper-case.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Float64,
    examples: &[
        Example::of("uppercase_ratio('BUY now!')", "0.5"),
        Example::of("uppercase_ratio('123')", "0.0"),
        Example::of("uppercase_ratio('')", "0.0"),
        Example::of("uppercase_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.37),
    cpu: Cpu::measure(
        |_| Needs::CHARS,
        |doc, _| {
            let chars = doc.chars();
            let n_capitals = chars.ascii_capitals() + chars.wide(scan::Properties::UPPERCASE);
            scan::ratio(n_capitals, chars.alphabetic())
        },
    ),
    gpu: Gpu::statistic(include_str!("../../../kernels/quality/uppercase_ratio.cu")),
};
