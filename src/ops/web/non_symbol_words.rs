//! `non_symbol_words(text)`: how many words are more than punctuation.

use super::marks::is_symbol;
use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "non_symbol_words",
    family: Family::Web,
    summary: "number of words that are more than punctuation",
    details: "Words split at white space, without those of punctuation and control characters alone (datatrove's set, which has \
              the sentence-ending marks of all scripts but not `•`). Gopher's word count in datatrove. An empty document has 0.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Int64,
    examples: &[
        Example::of("non_symbol_words('one - two ... 3 !')", "3"),
        Example::of("non_symbol_words('')", "0"),
        Example::of("non_symbol_words(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.6), // estimate
    cpu: Cpu::count(
        |_| Needs::WORDS,
        |doc, _| doc.words().iter(doc.text()).filter(|word| is_more_than_symbols(word)).count() as i64,
    ),
    gpu: Gpu::NOT_YET,
};

/// Whether a word has a character that is neither punctuation nor a control character.
pub(super) fn is_more_than_symbols(word: &str) -> bool {
    // Most words begin with a letter.
    word.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric) || word.chars().any(|c| !is_symbol(c))
}
