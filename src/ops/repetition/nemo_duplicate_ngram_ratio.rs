//! `nemo_duplicate_ngram_ratio(text, n => 2)`: the share of characters in n-grams that were there before.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "nemo_duplicate_ngram_ratio",
    family: Family::Repetition,
    summary: "share of characters in word n-grams that occurred earlier, with the spaces between their words",
    details: "Every n-gram that occurred earlier in the text adds the characters of its words and of the spaces \
              between them (one each), words already added left out; the sum / characters. Words are split at \
              white space. Fewer than n words give 1. NeMo's RepeatingDuplicateNGramsFilter keeps documents up to \
              0.15, 0.14, 0.13, 0.12, 0.11, 0.10 for n = 5 to 10.",
    params: &[
        Param::text("text", "the document"),
        Param::int("n", "how many words make an n-gram").between(1, 64).default(Literal::Int(2)),
        Param::choice("lang", "the language whose words to find: `''` splits at white space", &["", "zh"])
            .default(Literal::Text("")),
    ],
    returns: Returns::Float64,
    examples: &[
        Example::of("nemo_duplicate_ngram_ratio('a b c a b')", "0.3333333333333333"),
        Example::of("nemo_duplicate_ngram_ratio('one two', n => 3)", "1.0"),
        Example::of("nemo_duplicate_ngram_ratio('')", "1.0"),
        Example::of("nemo_duplicate_ngram_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(3.9).and_ns_per_row(100.0),
    cpu: Cpu::bounded_measure(
        Needs::grams_in,
        |doc, args| {
            let level = doc.level_in(args);
            if level.top_count == 0 { 1.0 } else { scan::ratio(level.later_chars, doc.n_chars()) }
        },
        Bound {
            needs: Needs::again_bound_in,
            at_most: |doc, args| scan::ratio_at_most(doc.again_bytes_at_most(args), doc.n_chars()),
        },
    ),
    gpu: Gpu::statistic_of_words(include_str!("../../../kernels/repetition/nemo_duplicate_ngram_ratio.cu")),
};
