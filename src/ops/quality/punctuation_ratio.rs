//! `punctuation_ratio(text)`: the share of punctuation.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "punctuation_ratio",
    family: Family::Quality,
    summary: "share of characters that are punctuation",
    details: "(ASCII punctuation, as in Python's `string.punctuation`, and characters of the general categories \
              `P*` of Unicode 14) / characters, white space included. An empty document gives 0.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Float64,
    examples: &[
        Example::of("punctuation_ratio('a, b')", "0.25"),
        Example::of("punctuation_ratio('«é»')", "0.6666666666666666"),
        Example::of("punctuation_ratio('')", "0.0"),
        Example::of("punctuation_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.37),
    cpu: Cpu::measure(
        |_| Needs::CHARS,
        |doc, _| {
            let chars = doc.chars();
            scan::ratio(chars.ascii_punctuation() + chars.wide(scan::Properties::PUNCTUATION), chars.n_chars)
        },
    ),
    gpu: Gpu::statistic(include_str!("../../../kernels/quality/punctuation_ratio.cu")),
};
