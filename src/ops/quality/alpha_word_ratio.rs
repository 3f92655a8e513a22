//! `alpha_word_ratio(text)`: the share of words with a letter.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "alpha_word_ratio",
    family: Family::Quality,
    summary: "share of words that have at least one letter",
    details: "(words with at least one character of the Unicode property `Alphabetic`) / words. A document without \
              words gives 0; NeMo's WordsWithoutAlphabetsFilter, which keeps documents from 0.8 on, raises an \
              error. With `lang => 'zh'` words are those of the Chinese segmenter jieba, whose tokens include \
              white space and punctuation.",
    params: &[
        Param::text("text", "the document"),
        Param::choice("lang", "the language whose words to find: `''` splits at white space", &["", "zh"])
            .default(Literal::Text("")),
    ],
    returns: Returns::Float64,
    examples: &[
        Example::of("alpha_word_ratio('one 2 - x3')", "0.5"),
        Example::of("alpha_word_ratio('日本 1')", "0.5"),
        Example::of("alpha_word_ratio('')", "0.0"),
        Example::of("alpha_word_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.38),
    cpu: Cpu::measure(Needs::word_counts_in, |doc, args| {
        let counts = doc.word_counts_in(args);
        scan::ratio(counts.n_with_letter, counts.n_words)
    }),
    gpu: Gpu::statistic_of_words(include_str!("../../../kernels/quality/alpha_word_ratio.cu")),
};
