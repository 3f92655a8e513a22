//! `non_symbol_words(text)`: how many words are more than punctuation.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "non_symbol_words",
    family: Family::Web,
    summary: "number of words that are more than punctuation",
    details: "Words split at white space, without those of punctuation and control characters alone (datatrove's set, which has \
              the sentence-ending marks of all scripts but not `•`). Gopher's word count in datatrove. An empty document has 0.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Int64,
    examples: &[
        Example::of("non_symbol_words('one - two ... 3 !')", "3"),
        Example::of("non_symbol_words('')", "0"),
        Example::of("non_symbol_words(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.5),
    cpu: Cpu::count(|_| Needs::WORD_KINDS, |doc, _| (doc.word_counts().n_words - doc.word_kinds().n_symbols) as i64),
    gpu: Gpu::statistic(include_str!("../../../kernels/web/non_symbol_words.cu")),
};
