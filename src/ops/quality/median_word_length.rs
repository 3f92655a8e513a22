//! `median_word_length(text)`: the length of the middle word.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "median_word_length",
    family: Family::Quality,
    summary: "median number of characters in a word",
    details: "The middle of the words' lengths in order, or the mean of the middle two. A document without words \
              gives 0. Dolma's Gopher rules use it in place of the mean. With `lang => 'zh'` words are those of \
              the Chinese segmenter jieba, whose tokens include white space and punctuation.",
    params: &[
        Param::text("text", "the document"),
        Param::choice("lang", "the language whose words to find: `''` splits at white space", &["", "zh"])
            .default(Literal::Text("")),
    ],
    returns: Returns::Float64,
    examples: &[
        Example::of("median_word_length('a bcd efghijk')", "3.0"),
        Example::of("median_word_length('a bcd')", "2.0"),
        Example::of("median_word_length('')", "0.0"),
        Example::of("median_word_length(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.76),
    cpu: Cpu::measure(Needs::word_lengths_in, |doc, args| doc.word_lengths_in(args).median().unwrap_or(0.0)),
    gpu: Gpu::statistic_of_words(include_str!("../../../kernels/quality/median_word_length.cu"))
        .and_instructions_per_byte(180.0),
};
