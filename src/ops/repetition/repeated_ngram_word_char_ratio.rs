//! `repeated_ngram_word_char_ratio(text, n => 5)`: the share of n-gram characters in n-grams that occur more than once.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "repeated_ngram_word_char_ratio",
    family: Family::Repetition,
    summary: "characters of the word n-grams that occur more than once for each character of all n-grams",
    details: "characters of the words of all occurrences of n-grams that occur more than once / the same of all \
              n-grams; a word counts once for each n-gram it is in. Words are split at white space. Fewer than n \
              words give 0. Dolma's `fraction_of_characters_in_duplicate_Ngrams` (which has no value for fewer \
              than n words).",
    params: &[
        Param::text("text", "the document"),
        Param::int("n", "how many words make an n-gram").between(1, 64).default(Literal::Int(5)),
    ],
    returns: Returns::Float64,
    examples: &[
        Example::of("repeated_ngram_word_char_ratio('a b c a b', n => 2)", "0.5"),
        Example::of("repeated_ngram_word_char_ratio('')", "0.0"),
        Example::of("repeated_ngram_word_char_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(4.4).and_ns_per_row(100.0),
    cpu: Cpu::measure(
        |args| Needs::grams(args.count("n")),
        |doc, args| {
            let n = args.count("n");
            scan::ratio(doc.level(n).repeated_chars, doc.grams().gram_chars(n))
        },
    ),
    gpu: Gpu::statistic(include_str!("../../../kernels/repetition/repeated_ngram_word_char_ratio.cu")),
};
