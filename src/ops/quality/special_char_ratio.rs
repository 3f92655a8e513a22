//! `special_char_ratio(text)`: the share of what Data-Juicer calls special characters.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "special_char_ratio",
    family: Family::Quality,
    summary: "share of characters that are signs, digits, white space or emoji, by Data-Juicer's list",
    details: "(special characters) / characters. Special are ASCII punctuation, digits and white space (tab to \
              carriage return and space), a list of signs and a few letters of other scripts, and the emoji of one \
              code point (emoji 2.2). Data-Juicer's special_characters_filter keeps documents up to 0.25. An empty \
              document gives 0.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Float64,
    examples: &[
        Example::of("special_char_ratio('a1 é')", "0.5"),
        Example::of("special_char_ratio('「日」')", "0.6666666666666666"),
        Example::of("special_char_ratio('')", "0.0"),
        Example::of("special_char_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.39),
    cpu: Cpu::measure(
        |_| Needs::CHARS,
        |doc, _| {
            let chars = doc.chars();
            let ascii = chars.ascii_punctuation() + chars.ascii_digits() + chars.ascii_blanks();
            scan::ratio(ascii + chars.wide(scan::Properties::SPECIAL), chars.n_chars)
        },
    ),
    gpu: Gpu::statistic(include_str!("../../../kernels/quality/special_char_ratio.cu")),
};
