//! `covered_ngram_char_ratio(text, n => 5)`: the share of word characters in n-grams that occur more than once.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "covered_ngram_char_ratio",
    family: Family::Repetition,
    summary: "share of characters of the words that are in a word n-gram that occurs more than once",
    details: "characters of the words that belong to an occurrence of an n-gram that occurs more than once, each \
              word counted once / characters of all words. Words are split at white space. Fewer than n words give \
              0. The rule of DCLM, which drops documents above 0.15, 0.14, 0.13, 0.12, 0.11, 0.10 for n = 5 to 10, \
              and RedPajama's `rps_doc_frac_chars_dupe_Ngrams` of its normalized text.",
    params: &[
        Param::text("text", "the document"),
        Param::int("n", "how many words make an n-gram").between(1, 64).default(Literal::Int(5)),
    ],
    returns: Returns::Float64,
    examples: &[
        Example::of("covered_ngram_char_ratio('a b c a b', n => 2)", "0.8"),
        Example::of("covered_ngram_char_ratio('')", "0.0"),
        Example::of("covered_ngram_char_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(4.2).and_ns_per_row(100.0),
    cpu: Cpu::measure(
        |args| Needs::grams(args.count("n")),
        |doc, args| scan::ratio(doc.level(args.count("n")).covered_chars, doc.grams().word_chars()),
    ),
    gpu: Gpu::statistic(include_str!("../../../kernels/repetition/covered_ngram_char_ratio.cu")),
};
