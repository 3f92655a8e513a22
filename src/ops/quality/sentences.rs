//! `sentences(text)`: the number of sentences.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "sentences",
    family: Family::Quality,
    summary: "number of sentences, counted by their end marks",
    details: "A sentence has at least one letter or digit and ends at `.`, `?` or `!` if no letter or digit \
              follows, at `。`, `？` or `！`, or at the end of the document. Abbreviations count as ends. An empty \
              document has 0.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Int64,
    examples: &[
        Example::of("sentences('Is it? Yes... It is 1.5 m')", "3"),
        Example::of("sentences('一。二！')", "2"),
        Example::of("sentences('... !')", "0"),
        Example::of("sentences('')", "0"),
        Example::of("sentences(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(4.93),
    cpu: Cpu::Int(|text, _| sentences(text)),
    gpu: Gpu::statistic(include_str!("../../../kernels/quality/sentences.cu")).and_instructions_per_byte(85.0),
};

fn sentences(text: &str) -> i64 {
    let mut n = 0;
    let mut has_word = false;
    // After a mark that may be inside a number or an address: what follows decides.
    let mut may_end = false;
    for c in text.chars() {
        let is_word = if c.is_ascii() { c.is_ascii_alphanumeric() } else { c.is_alphanumeric() };
        match c {
            '.' | '?' | '!' => may_end = has_word,
            '。' | '？' | '！' => {
                n += i64::from(has_word);
                (has_word, may_end) = (false, false);
            }
            _ => {
                if may_end && !is_word {
                    n += 1;
                    has_word = false;
                }
                may_end = false;
                has_word |= is_word;
            }
        }
    }
    n + i64::from(has_word)
}
