//! `juicer_words(text)`: the number of words as Data-Juicer counts them.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "juicer_words",
    family: Family::Quality,
    summary: "number of words after Data-Juicer's special characters are stripped from their ends",
    details: "Words are split at spaces, tabs and line feeds only; one that consists of special characters (see \
              `special_char_ratio`) is not counted. Data-Juicer's words_num_filter keeps documents with at least \
              10. An empty document has 0.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Int64,
    examples: &[
        Example::of("juicer_words('one - 2 x1!')", "2"),
        Example::of("juicer_words('')", "0"),
        Example::of("juicer_words(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(2.21),
    cpu: Cpu::Int(|text, _| juicer_words(text)),
    gpu: Gpu::statistic(include_str!("../../../kernels/quality/juicer_words.cu")).and_instructions_per_byte(70.0),
};

fn juicer_words(text: &str) -> i64 {
    let classes = scan::Classes::get();
    let is_special = |c: char| match c {
        '\t'..='\r' | ' ' => true,
        _ if c.is_ascii() => c.is_ascii_punctuation() || c.is_ascii_digit(),
        _ => classes.of(c).any(scan::Properties::SPECIAL),
    };
    let mut n = 0;
    let mut counted = false;
    for c in text.chars() {
        if matches!(c, ' ' | '\t' | '\n') {
            counted = false;
        } else if !counted && !is_special(c) {
            counted = true;
            n += 1;
        }
    }
    n
}
