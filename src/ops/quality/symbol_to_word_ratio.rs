//! `symbol_to_word_ratio(text)`: hash signs and ellipses per word.

use crate::ops::prelude::*;
use memchr::memmem;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "symbol_to_word_ratio",
    family: Family::Quality,
    summary: "hash signs and ellipses per word",
    details: "(number of `#`, `...` and `…`) / words; `......` is two ellipses. A document without words gives 0. Gopher \
              drops documents above 0.1; its implementations differ in what they count.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Float64,
    examples: &[
        Example::of("symbol_to_word_ratio('#tag one two… three...')", "0.75"),
        Example::of("symbol_to_word_ratio('plain words')", "0.0"),
        Example::of("symbol_to_word_ratio('')", "0.0"),
        Example::of("symbol_to_word_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.9), // estimate
    cpu: Cpu::Float(|text, _| symbol_to_word_ratio(text)),
    gpu: Gpu::NOT_YET,
};

fn symbol_to_word_ratio(text: &str) -> f64 {
    let bytes = text.as_bytes();
    let n_symbols = memchr::memchr_iter(b'#', bytes).count()
        + memmem::find_iter(bytes, "...").count()
        + memmem::find_iter(bytes, "…").count();
    scan::ratio(n_symbols, scan::n_words(text))
}
