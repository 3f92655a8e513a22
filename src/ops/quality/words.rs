//! `words(text)`: the number of words.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "words",
    family: Family::Quality,
    summary: "number of words, split at white space as Python's `str.split()` does",
    details: "Punctuation belongs to the word it touches. An empty document has 0 words. Scripts that are written \
              without spaces (Chinese, Japanese, Thai) need a segmenter: With `lang => 'zh'` words are those of \
              the Chinese segmenter jieba, whose tokens include white space and punctuation.",
    params: &[
        Param::text("text", "the document"),
        Param::choice("lang", "the language whose words to find: `''` splits at white space", &["", "zh"])
            .default(Literal::Text("")),
    ],
    returns: Returns::Int64,
    examples: &[
        Example::of("words('a  b')", "2"),
        Example::of("words('Hello, world!')", "2"),
        Example::of("words('我爱北京', lang => 'zh')", "3"),
        Example::of("words('')", "0"),
        Example::of("words(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.38),
    cpu: Cpu::count(Needs::word_counts_in, |doc, args| doc.word_counts_in(args).n_words as i64),
    gpu: Gpu::statistic_of_words(include_str!("../../../kernels/quality/words.cu")),
};
