//! `letter_word_ratio(text)`: the share of words with a letter.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "letter_word_ratio",
    family: Family::Web,
    summary: "share of words with a letter, as Python's `isalpha()` knows letters",
    details: "(words with a character of the Unicode categories L) / words. Vowel signs, digits and letters in circles are no letters. \
              Gopher drops documents below 0.8; so datatrove and Dolma count. A document without words gives 0.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Float64,
    examples: &[
        Example::of("letter_word_ratio('one 2 - b3')", "0.5"),
        Example::of("letter_word_ratio('日本 Ⅷ')", "0.5"),
        Example::of("letter_word_ratio('')", "0.0"),
        Example::of("letter_word_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.47),
    cpu: Cpu::measure(
        |_| Needs::WORD_KINDS,
        |doc, _| scan::ratio(doc.word_kinds().n_with_python_letter, doc.word_counts().n_words),
    ),
    gpu: Gpu::statistic(include_str!("../../../kernels/web/letter_word_ratio.cu")),
};
