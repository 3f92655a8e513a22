//! `symbol_word_ratio(text)`: the share of words that are symbols, by NeMo's rule.

use crate::ops::Word;
use crate::ops::prelude::*;
use memchr::memmem;

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
    cost: Cost::ns_per_byte(1.32),
    cpu: Cpu::measure(
        |args| Needs::CHARS.and(Needs::words_in(args)),
        |doc, args| {
            let words = doc.words_in(args);
            if !may_have_symbols(doc) {
                return 0.0;
            }
            // A word that does not begin with `#` has at most as many runs of it as other characters.
            let bytes = doc.text().as_bytes();
            let may_be = |word: &&Word| matches!(bytes[word.start as usize], b'#' | b'.' | b'[' | b'(' | b'-' | 0xe2);
            let n_symbols = words.spans.iter().filter(may_be).filter(|word| is_symbol(word.of(doc.text()))).count();
            scan::ratio(n_symbols, words.len())
        },
    ),
    gpu: Gpu::NOT_YET,
};

/// Few documents have one of the signs of a symbol word.
fn may_have_symbols(doc: &Doc) -> bool {
    let (chars, text) = (doc.chars(), doc.text().as_bytes());
    chars.any_of(b"#") > 0
        || chars.wide(scan::Properties::ELLIPSIS) > 0
        || chars.any_of(b".") > 2 && memmem::find(text, b"...").is_some()
        || chars.n_wide() > 0 && memmem::find(text, "-»".as_bytes()).is_some()
}

fn is_symbol(word: &str) -> bool {
    matches!(word, "..." | "[...]" | "…" | "(...)" | "[…]" | "-»") || 2 * n_hash_runs(word) > word.chars().count()
}

fn n_hash_runs(word: &str) -> usize {
    let bytes = word.as_bytes();
    let begins = |at: usize| bytes[at] == b'#' && (at == 0 || bytes[at - 1] != b'#');
    (0..bytes.len()).filter(|at| begins(*at)).count()
}
