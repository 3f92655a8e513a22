//! `repeated_paragraph_ratio(text)`: the share of paragraphs that occur more than once.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "repeated_paragraph_ratio",
    family: Family::Repetition,
    summary: "share of paragraphs that occur more than once, the first of them counted too",
    details: "paragraphs equal to another paragraph of the document / paragraphs. A paragraph is what pairs of \
              line feeds separate; three in a row leave one at the beginning of the next. Empty paragraphs do not \
              count; a document without others gives 0. The value of DCLM, which drops documents above 0.3.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Float64,
    examples: &[
        Example::of(r"repeated_paragraph_ratio(E'a\n\nb\n\na\n\nc')", "0.5"),
        Example::of("repeated_paragraph_ratio('')", "0.0"),
        Example::of("repeated_paragraph_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.81).and_ns_per_row(100.0),
    cpu: Cpu::measure(
        |_| Needs::PARAGRAPH_REPEATS,
        |doc, _| {
            let paragraphs = doc.paragraph_repeats().filled();
            scan::ratio(paragraphs.n_repeated, paragraphs.n)
        },
    ),
    gpu: Gpu::statistic(include_str!("../../../kernels/repetition/repeated_paragraph_ratio.cu")),
};
