//! `duplicate_paragraph_ratio(text)`: the share of paragraphs that were there before.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "duplicate_paragraph_ratio",
    family: Family::Repetition,
    summary: "share of paragraphs that repeat an earlier paragraph of the document",
    details: "(paragraphs − distinct paragraphs) / paragraphs. A paragraph is what two or more line feeds \
              separate, in the document without the white space at its ends. An empty document gives 0. \
              datatrove's GopherRepetitionFilter drops documents above 0.3.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Float64,
    examples: &[
        Example::of(r"duplicate_paragraph_ratio(E'a\n\n\nb\n\na\n\na')", "0.5"),
        Example::of("duplicate_paragraph_ratio('')", "0.0"),
        Example::of("duplicate_paragraph_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(1.05).and_ns_per_row(100.0),
    cpu: Cpu::measure(
        |_| Needs::BLOCK_REPEATS,
        |doc, _| {
            let paragraphs = doc.block_repeats().all();
            scan::ratio(paragraphs.n_duplicates(), paragraphs.n)
        },
    ),
    gpu: Gpu::statistic(include_str!("../../../kernels/repetition/duplicate_paragraph_ratio.cu")),
};
