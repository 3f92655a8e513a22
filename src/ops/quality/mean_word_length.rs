//! `mean_word_length(text)`: characters per word.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "mean_word_length",
    family: Family::Quality,
    summary: "mean number of characters in a word",
    details: "(characters that are not white space) / words. A document without words gives 0. Gopher keeps documents \
              between 3 and 10.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Float64,
    examples: &[
        Example::of("mean_word_length('a bcd')", "2.0"),
        Example::of("mean_word_length('été')", "3.0"),
        Example::of("mean_word_length('')", "0.0"),
        Example::of("mean_word_length(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.9), // estimate
    cpu: Cpu::Float(|text, _| mean_word_length(text)),
    gpu: Gpu::NOT_YET,
};

/// Characters per word; 0 without words.
fn mean_word_length(text: &str) -> f64 {
    let n_word_chars = text.chars().filter(|c| !scan::is_space(*c)).count();
    scan::ratio(n_word_chars, scan::n_words(text))
}
