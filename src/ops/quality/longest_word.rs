//! `longest_word(text)`: the length of the longest word.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "longest_word",
    family: Family::Quality,
    summary: "number of characters of the longest word",
    details: "A document without words gives 0; NeMo's LongWordFilter, which keeps documents up to 1000, raises an \
              error. With `lang => 'zh'` words are those of the Chinese segmenter jieba, whose tokens include \
              white space and punctuation.",
    params: &[
        Param::text("text", "the document"),
        Param::choice("lang", "the language whose words to find: `''` splits at white space", &["", "zh"])
            .default(Literal::Text("")),
    ],
    returns: Returns::Int64,
    examples: &[
        Example::of("longest_word('a bcd')", "3"),
        Example::of("longest_word('été à')", "3"),
        Example::of("longest_word('')", "0"),
        Example::of("longest_word(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.75),
    cpu: Cpu::count(Needs::word_lengths_in, |doc, args| doc.word_lengths_in(args).longest().unwrap_or(0) as i64),
    gpu: Gpu::statistic_of_words(include_str!("../../../kernels/quality/longest_word.cu"))
        .and_instructions_per_byte(20.0),
};
