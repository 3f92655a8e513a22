//! `unique_word_ratio(text)`: the share of distinct words.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "unique_word_ratio",
    family: Family::Repetition,
    summary: "number of distinct words for each word (type-token ratio)",
    details: "distinct words / words. Words are split at white space and compared as they are: put the text into \
              lower case and take its punctuation away before, as RedPajama does for `rps_doc_frac_unique_words`, \
              if that is meant. A document without words gives 0.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Float64,
    examples: &[
        Example::of("unique_word_ratio('a b a c')", "0.75"),
        Example::of("unique_word_ratio('a A')", "1.0"),
        Example::of("unique_word_ratio('')", "0.0"),
        Example::of("unique_word_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(3.3).and_ns_per_row(100.0),
    cpu: Cpu::measure(|_| Needs::grams(1), |doc, _| scan::ratio(doc.word_tallies().len(), doc.grams().n_words())),
    gpu: Gpu::statistic(include_str!("../../../kernels/repetition/unique_word_ratio.cu")),
};
