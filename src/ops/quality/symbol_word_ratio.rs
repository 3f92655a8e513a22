//! `symbol_word_ratio(text)`: the share of words that are symbols, by NeMo's rule.

use crate::ops::prelude::*;
use memchr::memmem;
use std::sync::LazyLock;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "symbol_word_ratio",
    family: Family::Quality,
    summary: "share of words that are an ellipsis or mostly hash signs",
    details: "(symbol words) / words. A symbol word is one of `...` `[...]` `…` `(...)` `[…]` `-»`, or one whose \
              number of runs of `#` is more than half its characters: `#` and `#a#` are, `##` and `#a` are not. \
              NeMo's SymbolsToWordsFilter keeps documents up to 0.1. A document without words gives 0, and a word \
              of white space, which jieba finds, is no symbol; NeMo raises an error for both. With `lang => 'zh'` \
              words are those of the Chinese segmenter jieba, whose tokens include white space and punctuation.",
    params: &[
        Param::text("text", "the document"),
        Param::choice("lang", "the language whose words to find: `''` splits at white space", &["", "zh"])
            .default(Literal::Text("")),
    ],
    returns: Returns::Float64,
    examples: &[
        Example::of("symbol_word_ratio('# one ... two')", "0.5"),
        Example::of("symbol_word_ratio('## #a #a#')", "0.3333333333333333"),
        Example::of("symbol_word_ratio('')", "0.0"),
        Example::of("symbol_word_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.67),
    cpu: Cpu::measure(
        |args| Needs::words_in(args).and(Needs::SIGNS),
        |doc, args| {
            // A symbol word has one of the signs.
            let words = doc.words_in(args);
            let signs = SIGNS.iter().zip(&*SIGN_FINDERS).filter(|(sign, _)| doc.marker_chars().may_have(sign));
            let words_with_sign = words.containing(doc.text(), signs.map(|(_, finder)| finder));
            let is_symbol = |place: &&usize| is_symbol(words.spans[**place].of(doc.text()));
            let n_symbols = words_with_sign.iter().filter(is_symbol).count();
            scan::ratio(n_symbols, words.len())
        },
    ),
    gpu: Gpu::statistic_of_words(include_str!("../../../kernels/quality/symbol_word_ratio.cu"))
        .and_instructions_per_byte(20.0),
};

const SIGNS: [&str; 4] = ["#", "...", "…", "-»"];
static SIGN_FINDERS: LazyLock<[memmem::Finder<'static>; 4]> = LazyLock::new(|| SIGNS.map(memmem::Finder::new));

fn is_symbol(word: &str) -> bool {
    matches!(word, "..." | "[...]" | "…" | "(...)" | "[…]" | "-»") || 2 * n_hash_runs(word) > word.chars().count()
}

fn n_hash_runs(word: &str) -> usize {
    let bytes = word.as_bytes();
    let begins = |at: usize| bytes[at] == b'#' && (at == 0 || bytes[at - 1] != b'#');
    (0..bytes.len()).filter(|at| begins(*at)).count()
}
