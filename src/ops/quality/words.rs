//! `words(text)`: the number of words.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "words",
    family: Family::Quality,
    summary: "number of words, split at white space as Python's `str.split()` does",
    details: "Punctuation belongs to the word it touches. An empty document has 0 words. Scripts that are written \
              without spaces (Chinese, Japanese, Thai) need a segmenter first.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Int64,
    examples: &[
        Example::of("words('a  b')", "2"),
        Example::of("words('Hello, world!')", "2"),
        Example::of("words('')", "0"),
        Example::of("words(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.7), // estimate
    cpu: Cpu::count(|_| Needs::WORDS, |doc, _| doc.words().len() as i64),
    gpu: Gpu::NOT_YET,
};
