//! `bare_text(text)`: lower-case words without punctuation, as RedPajama compares them.

use crate::ops::prelude::*;
use unicode_normalization::UnicodeNormalization;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "bare_text",
    family: Family::Signals,
    summary: "lower case, without ASCII punctuation, with single blanks, decomposed (NFD)",
    details: "The 32 characters of ASCII punctuation are taken out (`don't` becomes `dont`, `a - b` becomes `a b`), the \
              text is put in lower case, every run of white space becomes one blank and none is left at the ends, and \
              letters with accents are decomposed. RedPajama's normalization: its word counts and n-gram signals are \
              about the words of this text.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Utf8,
    examples: &[
        Example::of("bare_text('  Don''t - STOP!')", "'dont stop'"),
        Example::of("chars(bare_text('É'))", "2"),
        Example::of("bare_text('')", "''"),
        Example::of("bare_text(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(4.0), // estimate
    cpu: Cpu::Text(|text, _| Cow::Owned(bare(text))),
    gpu: Gpu::No("Unicode's decomposition tables are on the CPU only"),
};

/// The normalized text.
pub(super) fn bare(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut is_space_due = false;
    let mut push = |c: char| {
        if scan::is_space(c) {
            is_space_due = !out.is_empty();
        } else {
            if std::mem::take(&mut is_space_due) {
                out.push(' ');
            }
            out.push(c);
        }
    };
    if text.is_ascii() {
        text.bytes()
            .filter(|byte| !byte.is_ascii_punctuation())
            .for_each(|byte| push(byte.to_ascii_lowercase() as char));
        return out;
    }
    let kept: String = text.chars().filter(|c| !c.is_ascii_punctuation()).collect();
    // As a whole: the lower case of a final sigma depends on its neighbours.
    kept.to_lowercase().chars().for_each(&mut push);
    if out.is_ascii() { out } else { out.nfd().collect() }
}
