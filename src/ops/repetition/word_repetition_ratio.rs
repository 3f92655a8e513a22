//! `word_repetition_ratio(text, n => 10)`: the share of word n-grams that occur more than once.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "word_repetition_ratio",
    family: Family::Repetition,
    summary: "share of the word n-grams that occur more than once",
    details: "occurrences of n-grams that occur more than once / all n-grams. Words are split at space, tab and \
              line feed, put into lower case and cut free of digits, punctuation, white space, emoji and other \
              special characters at their ends. Fewer than n words give 0. Data-Juicer's word_repetition_filter \
              (`word_rep_ratio`) keeps documents up to 0.5.",
    params: &[
        Param::text("text", "the document"),
        Param::int("n", "how many words make an n-gram").between(1, 64).default(Literal::Int(10)),
    ],
    returns: Returns::Float64,
    examples: &[
        Example::of("word_repetition_ratio('Buy now! Buy, now 2 Go', n => 2)", "0.5"),
        Example::of("word_repetition_ratio('')", "0.0"),
        Example::of("word_repetition_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(9.0).and_ns_per_row(100.0),
    cpu: Cpu::measure(
        |args| Needs::refined_grams(args.count("n")),
        |doc, args| {
            let n = args.count("n");
            scan::ratio(doc.refined_level(n).n_repeated, doc.refined_grams().n_grams(n))
        },
    ),
    gpu: Gpu::statistic(include_str!("../../../kernels/repetition/word_repetition_ratio.cu"))
        .and_instructions_per_byte(200.0),
};
