//! `char_repetition_ratio(text, n => 10)`: how often the most frequent runs of n characters occur.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "char_repetition_ratio",
    family: Family::Repetition,
    summary: "share of the most frequent runs of n characters among all of them",
    details: "Of the d distinct runs of n characters take the ⌊√d⌋ most frequent, but none that occurs once; their \
              occurrences / all occurrences. Fewer than n characters give 0. Data-Juicer's \
              character_repetition_filter (`char_rep_ratio`) keeps documents up to 0.5.",
    params: &[
        Param::text("text", "the document"),
        Param::int("n", "how many characters make a run").between(1, 64).default(Literal::Int(10)),
    ],
    returns: Returns::Float64,
    examples: &[
        Example::of("char_repetition_ratio('abcabc', n => 3)", "0.5"),
        Example::of("char_repetition_ratio('aaaa', n => 1)", "1.0"),
        Example::of("char_repetition_ratio('')", "0.0"),
        Example::of("char_repetition_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(10.9).and_ns_per_row(100.0),
    cpu: Cpu::measure(|args| Needs::char_grams(args.count("n")), |doc, args| doc.top_char_gram_ratio(args.count("n"))),
    gpu: Gpu::statistic(include_str!("../../../kernels/repetition/char_repetition_ratio.cu"))
        .and_instructions_per_byte(400.0),
};
