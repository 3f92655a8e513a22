//! `alpha_ratio(text)`: the share of letters.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "alpha_ratio",
    family: Family::Quality,
    summary: "share of characters that are letters",
    details: "(characters with the Unicode property `Alphabetic`) / characters, white space included. `Alphabetic` \
              is `[[:alpha:]]` of Python's `regex` module, which NeMo's AlphaFilter counts: letters and the vowel \
              signs that belong to them. An empty document gives 0; NeMo raises an error.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Float64,
    examples: &[
        Example::of("alpha_ratio('ab12')", "0.5"),
        Example::of("alpha_ratio('日本 ')", "0.6666666666666666"),
        Example::of("alpha_ratio('')", "0.0"),
        Example::of("alpha_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.37),
    cpu: Cpu::measure(|_| Needs::CHARS, |doc, _| scan::ratio(doc.chars().alphabetic(), doc.chars().n_chars)),
    gpu: Gpu::statistic(include_str!("../../../kernels/quality/alpha_ratio.cu")),
};
