//! `alphanumeric_ratio(text)`: the share of letters and numbers.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "alphanumeric_ratio",
    family: Family::Quality,
    summary: "share of characters that are letters or numbers",
    details: "(characters for which Python's `str.isalnum()` holds) / characters, white space included: Unicode \
              14, general categories `L*` and everything with a numeric value. Data-Juicer's `alnum_ratio`. An \
              empty document gives 0.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Float64,
    examples: &[
        Example::of("alphanumeric_ratio('a1 -')", "0.5"),
        Example::of("alphanumeric_ratio('½ é')", "0.6666666666666666"),
        Example::of("alphanumeric_ratio('')", "0.0"),
        Example::of("alphanumeric_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.37),
    cpu: Cpu::measure(
        |_| Needs::CHARS,
        |doc, _| {
            let chars = doc.chars();
            let wide = chars.wide(scan::Properties::LETTER.and(scan::Properties::NUMBER));
            scan::ratio(chars.ascii_letters() + chars.ascii_digits() + wide, chars.n_chars)
        },
    ),
    gpu: Gpu::statistic(include_str!("../../../kernels/quality/alphanumeric_ratio.cu")),
};
