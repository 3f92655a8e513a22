//! `symbol_to_word_ratio(text)`: hash signs and ellipses per word.

use crate::ops::prelude::*;
use memchr::memmem;
use std::sync::LazyLock;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "symbol_to_word_ratio",
    family: Family::Quality,
    summary: "hash signs and ellipses per word",
    details: "(number of `#`, `...` and `…`) / words; `......` is two ellipses. A document without words gives 0. \
              Gopher drops documents above 0.1; its implementations differ in what they count.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Float64,
    examples: &[
        Example::of("symbol_to_word_ratio('#tag one two… three...')", "0.75"),
        Example::of("symbol_to_word_ratio('plain words')", "0.0"),
        Example::of("symbol_to_word_ratio('')", "0.0"),
        Example::of("symbol_to_word_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.52),
    cpu: Cpu::measure(|_| Needs::CHARS.and(Needs::WORD_COUNTS).and(Needs::SIGNS), symbol_to_word_ratio),
    gpu: Gpu::statistic(include_str!("../../../kernels/quality/symbol_to_word_ratio.cu"))
        .and_instructions_per_byte(20.0),
};

static DOTS: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new("..."));

fn symbol_to_word_ratio(doc: &Doc, _: &Args) -> f64 {
    let chars = doc.chars();
    let n_dots = if doc.marker_chars().may_have("...") { DOTS.find_iter(doc.text().as_bytes()).count() } else { 0 };
    let n_symbols = doc.marker_chars().n_hashes + n_dots + chars.wide(scan::Properties::ELLIPSIS);
    scan::ratio(n_symbols, doc.word_counts().n_words)
}
