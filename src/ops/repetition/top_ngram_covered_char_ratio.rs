//! `top_ngram_covered_char_ratio(text, n => 2)`: the share of word characters in the most frequent n-gram.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "top_ngram_covered_char_ratio",
    family: Family::Repetition,
    summary: "share of characters of the words that are in the most frequent word n-gram",
    details: "characters of the words that belong to an occurrence of the most frequent n-gram, each word counted \
              once / characters of all words. Words are split at white space. Of equally frequent n-grams it is \
              the longest, then the one that comes first in the text. If none occurs twice: 0. The rule of DCLM, \
              which drops documents above 0.2, 0.18, 0.16 for n = 2, 3, 4.",
    params: &[
        Param::text("text", "the document"),
        Param::int("n", "how many words make an n-gram").between(1, 64).default(Literal::Int(2)),
    ],
    returns: Returns::Float64,
    examples: &[
        Example::of("top_ngram_covered_char_ratio('a b a b a')", "0.8"),
        Example::of("top_ngram_covered_char_ratio('a a a a b')", "0.8"),
        Example::of("top_ngram_covered_char_ratio('one two')", "0.0"),
        Example::of("top_ngram_covered_char_ratio('')", "0.0"),
        Example::of("top_ngram_covered_char_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(3.9).and_ns_per_row(100.0),
    cpu: Cpu::bounded_measure(
        |args| Needs::grams(args.count("n")),
        |doc, args| scan::ratio(doc.level(args.count("n")).top_covered_chars, doc.grams().word_chars()),
        Bound {
            needs: |args| Needs::top_bound(args.count("n")),
            at_most: |doc, args| scan::ratio_at_most(doc.top_gram_bytes_at_most(args.count("n")), doc.words().n_chars),
        },
    ),
    gpu: Gpu::statistic(include_str!("../../../kernels/repetition/top_ngram_covered_char_ratio.cu")),
};
