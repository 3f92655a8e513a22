//! `repeated_paragraph_char_ratio(text)`: the share of characters in paragraphs that occur more than once.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "repeated_paragraph_char_ratio",
    family: Family::Repetition,
    summary: "share of characters in paragraphs that occur more than once, the first of them counted too",
    details: "characters in paragraphs equal to another paragraph of the document / characters in paragraphs. A \
              paragraph is what pairs of line feeds separate; three in a row leave one at the beginning of the \
              next. A document without such characters gives 0. The value of DCLM, which drops documents above \
              0.2.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Float64,
    examples: &[
        Example::of(r"repeated_paragraph_char_ratio(E'abc\n\nabc\n\nde')", "0.75"),
        Example::of("repeated_paragraph_char_ratio('')", "0.0"),
        Example::of("repeated_paragraph_char_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.81).and_ns_per_row(100.0),
    cpu: Cpu::measure(
        |_| Needs::PARAGRAPH_REPEATS,
        |doc, _| {
            let paragraphs = doc.paragraph_repeats().filled();
            scan::ratio(paragraphs.repeated_chars, paragraphs.chars)
        },
    ),
    gpu: Gpu::statistic(include_str!("../../../kernels/repetition/repeated_paragraph_char_ratio.cu")),
};
