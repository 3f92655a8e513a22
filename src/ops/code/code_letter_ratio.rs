//! `code_letter_ratio(text)`: the share of letters, without letter-like numbers and marks.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "code_letter_ratio",
    family: Family::Code,
    summary: "share of characters that are letters for Python's `str.isalpha()`",
    details: "(characters of the general categories `L*` of Unicode 14) / characters. `alpha_ratio` counts more: marks, Roman \
              numerals, circled letters. An empty document gives 0. NeMo Curator's PerExtensionFilter asks for 0.25 or \
              0.5 in a few languages.",
    params: &[Param::text("text", "the source file")],
    returns: Returns::Float64,
    examples: &[
        Example::of("code_letter_ratio('ab12')", "0.5"),
        Example::of("code_letter_ratio('éⅣ')", "0.5"),
        Example::of("code_letter_ratio('')", "0.0"),
        Example::of("code_letter_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.36),
    cpu: Cpu::measure(
        |_| Needs::CHARS,
        |doc, _| {
            let chars = doc.chars();
            scan::ratio(chars.ascii_letters() + chars.wide(scan::Properties::LETTER), chars.n_chars)
        },
    ),
    gpu: Gpu::statistic(include_str!("../../../kernels/code/code_letter_ratio.cu")),
};
