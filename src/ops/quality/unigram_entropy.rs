//! `unigram_entropy(text)`: how evenly the words are spread.

use crate::ops::prelude::*;
use std::collections::HashMap;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "unigram_entropy",
    family: Family::Quality,
    summary: "entropy of the distribution of words",
    details: "−Σ p ln p over the distinct words, where p is a word's share of all words; words are split at white \
              space, and case matters. A document without words, or with one word only, gives 0.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Float64,
    examples: &[
        Example::of("unigram_entropy('a b a b')", "0.6931471805599453"),
        Example::of("unigram_entropy('a a')", "0.0"),
        Example::of("unigram_entropy('')", "0.0"),
        Example::of("unigram_entropy(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(3.0),
    cpu: Cpu::measure(|_| Needs::WORDS, unigram_entropy),
    gpu: Gpu::No("its hash table of words has no size that fits a GPU thread"),
};

fn unigram_entropy(doc: &Doc, _: &Args) -> f64 {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for word in doc.words().iter(doc.text()) {
        *counts.entry(word).or_default() += 1;
    }
    let n_words = doc.words().len() as f64;
    // The order of a hash table is random; sorted, the sum is the same each time.
    let mut counts: Vec<usize> = counts.into_values().collect();
    counts.sort_unstable();
    let entropy: f64 = counts.iter().map(|n| *n as f64 / n_words).map(|share| -share * share.ln()).sum();
    entropy.max(0.0)
}
