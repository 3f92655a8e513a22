//! `digit_ratio(text)`: the share of digits.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "digit_ratio",
    family: Family::Quality,
    summary: "share of characters that are digits 0 to 9",
    details: "(characters `0` to `9`) / characters, white space included; digits of other scripts do not count, as \
              in NeMo's NumbersFilter. An empty document gives 0.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Float64,
    examples: &[
        Example::of("digit_ratio('ab12')", "0.5"),
        Example::of("digit_ratio('٣')", "0.0"),
        Example::of("digit_ratio('')", "0.0"),
        Example::of("digit_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.37),
    cpu: Cpu::measure(|_| Needs::CHARS, |doc, _| scan::ratio(doc.chars().ascii_digits(), doc.chars().n_chars)),
    gpu: Gpu::statistic(include_str!("../../../kernels/quality/digit_ratio.cu")),
};
