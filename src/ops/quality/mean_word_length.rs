//! `mean_word_length(text)`: characters per word.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "mean_word_length",
    family: Family::Quality,
    summary: "mean number of characters in a word",
    details: "(characters of all words) / words. A document without words gives 0; NeMo's MeanWordLengthFilter \
              raises an error. Gopher keeps documents between 3 and 10. With `lang => 'zh'` words are those of the \
              Chinese segmenter jieba, whose tokens include white space and punctuation.",
    params: &[
        Param::text("text", "the document"),
        Param::choice("lang", "the language whose words to find: `''` splits at white space", &["", "zh"])
            .default(Literal::Text("")),
    ],
    returns: Returns::Float64,
    examples: &[
        Example::of("mean_word_length('a bcd')", "2.0"),
        Example::of("mean_word_length('été')", "3.0"),
        Example::of("mean_word_length('')", "0.0"),
        Example::of("mean_word_length(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.39),
    cpu: Cpu::measure(Needs::word_counts_in, |doc, args| {
        let counts = doc.word_counts_in(args);
        scan::ratio(counts.n_chars, counts.n_words)
    }),
    gpu: Gpu::statistic_of_words(include_str!("../../../kernels/quality/mean_word_length.cu")),
};
