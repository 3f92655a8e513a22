//! `duplicate_paragraph_char_ratio(text)`: the share of characters in paragraphs that were there before.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "duplicate_paragraph_char_ratio",
    family: Family::Repetition,
    summary: "share of characters in paragraphs that repeat an earlier paragraph of the document",
    details: "characters in paragraphs that repeat an earlier one / characters of the document. A paragraph is \
              what two or more line feeds separate, in the document without the white space at its ends. An empty \
              document gives 0. datatrove's GopherRepetitionFilter drops documents above 0.2.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Float64,
    examples: &[
        Example::of(r"duplicate_paragraph_char_ratio(E'abc\n\nabc')", "0.375"),
        Example::of("duplicate_paragraph_char_ratio('')", "0.0"),
        Example::of("duplicate_paragraph_char_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(1.05).and_ns_per_row(100.0),
    cpu: Cpu::measure(
        |_| Needs::BLOCK_REPEATS,
        |doc, _| scan::ratio(doc.block_repeats().all().duplicate_chars(), doc.n_chars()),
    ),
    gpu: Gpu::statistic(include_str!("../../../kernels/repetition/duplicate_paragraph_char_ratio.cu")),
};
