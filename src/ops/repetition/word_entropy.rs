//! `word_entropy(text)`: the entropy of the words.

use super::natural_log::natural_log;
use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "word_entropy",
    family: Family::Repetition,
    summary: "entropy of the distribution of words, in nats",
    details: "Σ −p ln p over the distinct words, where p is the share of all words that a word has. Words are \
              split at white space and compared as they are; RedPajama's `rps_doc_unigram_entropy` is that of its \
              normalized text. A document without words gives 0.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Float64,
    examples: &[
        Example::of("word_entropy('a a a')", "0.0"),
        Example::of("word_entropy('a b c d')", "1.3862943611198906"),
        Example::of("word_entropy('')", "0.0"),
        Example::of("word_entropy(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(4.3).and_ns_per_row(100.0),
    cpu: Cpu::measure(
        |_| Needs::grams(1),
        |doc, _| {
            let n_words = doc.grams().n_words() as f64;
            let part = |count: &u32| {
                let share = f64::from(*count) / n_words;
                -share * natural_log(share)
            };
            // Adding 0 turns the −0 of an empty sum, or of a single word, into 0.
            doc.word_tallies().iter().map(part).sum::<f64>() + 0.0
        },
    ),
    gpu: Gpu::statistic(include_str!("../../../kernels/repetition/word_entropy.cu")).and_instructions_per_byte(100.0),
};
