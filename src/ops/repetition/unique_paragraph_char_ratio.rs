//! `unique_paragraph_char_ratio(text)`: the share of characters in distinct paragraphs.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "unique_paragraph_char_ratio",
    family: Family::Repetition,
    summary: "characters of the distinct paragraphs for each character of all paragraphs",
    details: "characters in distinct paragraphs / characters in paragraphs, the line feeds between them not \
              counted. A paragraph is what pairs of line feeds separate; three in a row leave one at the beginning \
              of the next. A document without such characters gives 1. NeMo's RepeatedParagraphsByCharFilter keeps \
              documents from 0.8 (and raises where this gives 1 for want of characters).",
    params: &[Param::text("text", "the document")],
    returns: Returns::Float64,
    examples: &[
        Example::of(r"unique_paragraph_char_ratio(E'abc\n\nd\n\nabc\n\nd')", "0.5"),
        Example::of(r"unique_paragraph_char_ratio(E'\n\n\n\n')", "1.0"),
        Example::of("unique_paragraph_char_ratio('')", "1.0"),
        Example::of("unique_paragraph_char_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.79).and_ns_per_row(100.0),
    cpu: Cpu::measure(
        |_| Needs::PARAGRAPH_REPEATS,
        |doc, _| {
            let paragraphs = doc.paragraph_repeats().all();
            if paragraphs.chars == 0 { 1.0 } else { scan::ratio(paragraphs.distinct_chars, paragraphs.chars) }
        },
    ),
    gpu: Gpu::statistic(include_str!("../../../kernels/repetition/unique_paragraph_char_ratio.cu")),
};
