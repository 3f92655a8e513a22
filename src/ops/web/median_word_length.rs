//! `median_word_length(text)`: the length of the word in the middle.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "median_word_length",
    family: Family::Web,
    summary: "median number of characters in a word",
    details: "Words split at white space, punctuation included; of an even number of words, the mean of the two in the middle. Dolma's \
              Gopher rules keep 3 to 10. A document without words gives 0.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Float64,
    examples: &[
        Example::of("median_word_length('a bcd ef')", "2.0"),
        Example::of("median_word_length('a bcd')", "2.0"),
        Example::of("median_word_length('')", "0.0"),
        Example::of("median_word_length(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.8), // benches/operators.rs
    cpu: Cpu::measure(|_| Needs::WORDS, |doc, _| median(doc)),
    gpu: Gpu::NOT_YET,
};

/// Words of this many characters and more are rare; their lengths are sorted.
const N_COUNTED: usize = 64;

fn median(doc: &Doc) -> f64 {
    let mut counts = [0_usize; N_COUNTED];
    let mut longer: Vec<usize> = Vec::new();
    let mut n_words = 0;
    for word in doc.words().iter(doc.text()) {
        let n_chars = scan::n_chars(word);
        n_words += 1;
        match counts.get_mut(n_chars) {
            Some(count) => *count += 1,
            None => longer.push(n_chars),
        }
    }
    longer.sort_unstable();
    let at = |rank: usize| -> usize {
        let mut before = 0;
        for (n_chars, count) in counts.iter().enumerate() {
            before += count;
            if rank < before {
                return n_chars;
            }
        }
        longer.get(rank - before).copied().unwrap_or_default()
    };
    match n_words {
        0 => 0.0,
        odd if odd % 2 == 1 => at(odd / 2) as f64,
        even => (at(even / 2 - 1) + at(even / 2)) as f64 / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_words_count_too() {
        let text = format!("a {} {}", "b".repeat(100), "c".repeat(80));
        let mut doc = Doc::new();
        doc.read(&text, Needs::WORDS);
        assert_eq!(median(&doc), 80.0);
    }
}
