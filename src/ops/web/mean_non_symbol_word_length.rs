//! `mean_non_symbol_word_length(text)`: the mean length of the words that are more than punctuation.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "mean_non_symbol_word_length",
    family: Family::Web,
    summary: "mean number of characters of the words that are more than punctuation",
    details: "Characters in the words that `non_symbol_words` counts / their number, punctuation at their ends included. Gopher's word \
              length in datatrove, which keeps 3 to 10. A document without such words gives 0.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Float64,
    examples: &[
        Example::of("mean_non_symbol_word_length('one - three ...')", "4.0"),
        Example::of("mean_non_symbol_word_length('- -')", "0.0"),
        Example::of("mean_non_symbol_word_length('')", "0.0"),
        Example::of("mean_non_symbol_word_length(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.48),
    cpu: Cpu::measure(
        |_| Needs::WORD_KINDS,
        |doc, _| {
            let (counts, kinds) = (doc.word_counts(), doc.word_kinds());
            scan::ratio(counts.n_chars - kinds.n_symbol_chars, counts.n_words - kinds.n_symbols)
        },
    ),
    gpu: Gpu::statistic(include_str!("../../../kernels/web/mean_non_symbol_word_length.cu")),
};
