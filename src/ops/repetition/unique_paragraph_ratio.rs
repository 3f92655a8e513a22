//! `unique_paragraph_ratio(text)`: the share of distinct paragraphs.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "unique_paragraph_ratio",
    family: Family::Repetition,
    summary: "number of distinct paragraphs for each paragraph",
    details: "distinct paragraphs / paragraphs. A paragraph is what pairs of line feeds separate; three in a row \
              leave one at the beginning of the next. Empty paragraphs count; an empty document has one and gives \
              1. NeMo's RepeatedParagraphsFilter keeps documents from 0.7.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Float64,
    examples: &[
        Example::of(r"unique_paragraph_ratio(E'a\n\nb\n\na\n\na')", "0.5"),
        Example::of("unique_paragraph_ratio('')", "1.0"),
        Example::of("unique_paragraph_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.79).and_ns_per_row(100.0),
    cpu: Cpu::measure(
        |_| Needs::PARAGRAPH_REPEATS,
        |doc, _| {
            let paragraphs = doc.paragraph_repeats().all();
            scan::ratio(paragraphs.n_distinct, paragraphs.n)
        },
    ),
    gpu: Gpu::statistic(include_str!("../../../kernels/repetition/unique_paragraph_ratio.cu")),
};
