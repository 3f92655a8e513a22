//! `top_ngram_word_char_ratio(text, n => 2)`: the share of word characters in the most frequent n-gram.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "top_ngram_word_char_ratio",
    family: Family::Repetition,
    summary: "characters of all occurrences of the most frequent word n-gram for each character in words",
    details: "occurrences × characters of the n words / characters in all words, no spaces counted; overlapping \
              occurrences all count. Words are split at white space. Of equally frequent n-grams it is the one \
              that comes first in the text. Fewer than n words, or fewer occurrences than `min_count`, give 0. \
              Dolma's `fraction_of_characters_in_most_common_Ngrams` (which has no value for fewer than n words); \
              with `min_count => 2` RedPajama's `rps_doc_frac_chars_top_Ngram` of its normalized text.",
    params: &[
        Param::text("text", "the document"),
        Param::int("n", "how many words make an n-gram").between(1, 64).default(Literal::Int(2)),
        Param::int("min_count", "how often the n-gram must occur to count").at_least(1).default(Literal::Int(1)),
    ],
    returns: Returns::Float64,
    examples: &[
        Example::of("top_ngram_word_char_ratio('a b c a b')", "0.8"),
        Example::of("top_ngram_word_char_ratio('one two')", "1.0"),
        Example::of("top_ngram_word_char_ratio('one two', min_count => 2)", "0.0"),
        Example::of("top_ngram_word_char_ratio('')", "0.0"),
        Example::of("top_ngram_word_char_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(3.8).and_ns_per_row(100.0),
    cpu: Cpu::bounded_measure(
        |args| Needs::grams(args.count("n")),
        |doc, args| {
            let n = args.count("n");
            let level = doc.level(n);
            if level.top_count == 0 || level.top_count < args.count("min_count") {
                return 0.0;
            }
            scan::ratio(level.top_count * doc.grams().chars(level.top_start, n), doc.grams().word_chars())
        },
        Bound {
            needs: |args| Needs::top_bound(args.count("n")),
            at_most: |doc, args| scan::ratio_at_most(doc.top_gram_bytes_at_most(args.count("n")), doc.words().n_chars),
        },
    ),
    gpu: Gpu::statistic(include_str!("../../../kernels/repetition/top_ngram_word_char_ratio.cu")),
};
