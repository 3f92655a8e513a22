//! `code_letter_ratio(text)`: the share of letters, without letter-like numbers and marks.

use crate::ops::prelude::*;
use unicode_normalization::char::is_combining_mark;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "code_letter_ratio",
    family: Family::Code,
    summary: "share of characters that are letters for Python's `str.isalpha()`",
    details: "(characters of the Unicode categories L*) / characters. `alpha_ratio` counts more: marks, Roman numerals, \
              circled letters. An empty document gives 0. NeMo Curator's PerExtensionFilter asks for 0.25 or 0.5 in a few \
              languages.",
    params: &[Param::text("text", "the source file")],
    returns: Returns::Float64,
    examples: &[
        Example::of("code_letter_ratio('ab12')", "0.5"),
        Example::of("code_letter_ratio('éⅣ')", "0.5"),
        Example::of("code_letter_ratio('')", "0.0"),
        Example::of("code_letter_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.8), // estimate
    cpu: Cpu::measure(|_| Needs::TEXT, |doc, _| scan::char_ratio(doc.text(), is_letter)),
    gpu: Gpu::NOT_YET,
};

/// Alphabetic, but no mark, number or symbol.
fn is_letter(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphabetic();
    }
    c.is_alphabetic()
        && !is_combining_mark(c)
        && !matches!(
            c as u32,
            0x16ee..=0x16f0
                | 0x2160..=0x2182
                | 0x2185..=0x2188
                | 0x24b6..=0x24e9
                | 0x3007
                | 0x3021..=0x3029
                | 0x3038..=0x303a
                | 0xa6e6..=0xa6ef
                | 0x10140..=0x10174
                | 0x10341
                | 0x1034a
                | 0x103d1..=0x103d5
                | 0x12400..=0x1246e
                | 0x1f130..=0x1f149
                | 0x1f150..=0x1f169
                | 0x1f170..=0x1f189
        )
}
