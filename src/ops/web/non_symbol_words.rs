//! `non_symbol_words(text)`: how many words are more than punctuation.

use super::marks::is_symbol;
use crate::ops::Word;
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
    cpu: Cpu::count(|_| Needs::WORDS, |doc, _| (doc.words().len() - symbol_words(doc).count()) as i64),
    gpu: Gpu::NOT_YET,
};

/// The words of nothing but punctuation and control characters, which are few.
pub(super) fn symbol_words<'d>(doc: &'d Doc) -> impl Iterator<Item = &'d Word> {
    let (text, bytes) = (doc.text(), doc.text().as_bytes());
    // Most words begin with a letter; `is_symbol` is asked only of the others.
    let begins_well = move |word: &Word| bytes.get(word.start as usize).is_some_and(u8::is_ascii_alphanumeric);
    let is_symbols = move |word: &&Word| !begins_well(word) && word.of(text).chars().all(is_symbol);
    doc.words().spans.iter().filter(is_symbols)
}
