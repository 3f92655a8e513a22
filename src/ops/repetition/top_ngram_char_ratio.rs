//! `top_ngram_char_ratio(text, n => 2)`: the share of characters in the most frequent n-gram.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "top_ngram_char_ratio",
    family: Family::Repetition,
    summary: "characters of all occurrences of the most frequent word n-gram for each character of the document",
    details: "occurrences × (characters of the n words + n − 1 spaces) / characters of the document; overlapping \
              occurrences all count, so the ratio can exceed 1. Words are split at white space. Of equally \
              frequent n-grams it is the one that comes first in the text. Fewer than n words give 0. datatrove's \
              GopherRepetitionFilter drops documents above 0.2, 0.18, 0.16 for n = 2, 3, 4.",
    params: &[
        Param::text("text", "the document"),
        Param::int("n", "how many words make an n-gram").between(1, 64).default(Literal::Int(2)),
    ],
    returns: Returns::Float64,
    examples: &[
        Example::of("top_ngram_char_ratio('a b c a b')", "0.6666666666666666"),
        Example::of("top_ngram_char_ratio('one two')", "1.0"),
        Example::of("top_ngram_char_ratio('')", "0.0"),
        Example::of("top_ngram_char_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(3.9).and_ns_per_row(100.0),
    cpu: Cpu::bounded_measure(
        |args| Needs::grams(args.count("n")),
        |doc, args| {
            let n = args.count("n");
            let level = doc.level(n);
            if level.top_count == 0 {
                return 0.0;
            }
            let gram_chars = doc.grams().chars(level.top_start, n) + n - 1;
            scan::ratio(level.top_count * gram_chars, doc.n_chars())
        },
        Bound {
            needs: |args| Needs::top_bound(args.count("n")),
            at_most: |doc, args| scan::ratio_at_most(doc.top_gram_bytes_at_most(args.count("n")), doc.n_chars()),
        },
    ),
    gpu: Gpu::statistic(include_str!("../../../kernels/repetition/top_ngram_char_ratio.cu")),
};
