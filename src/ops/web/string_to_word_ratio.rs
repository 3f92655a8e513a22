//! `string_to_word_ratio(text, strings)`: how often strings occur, per word.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "string_to_word_ratio",
    family: Family::Web,
    summary: "occurrences of the given strings per word",
    details: "(occurrences of the members of `strings`, each counted without overlap) / words. Gopher in datatrove drops documents above \
              0.1 for `#`, and for `...` and `…` together. A document without words gives 0.",
    params: &[Param::text("text", "the document"), Param::text_list("strings", "the strings")],
    returns: Returns::Float64,
    examples: &[
        Example::of("string_to_word_ratio('one two... three… four', ['...', '…'])", "0.5"),
        Example::of("string_to_word_ratio('## a', ['#'])", "1.0"),
        Example::of("string_to_word_ratio('', ['#'])", "0.0"),
        Example::of("string_to_word_ratio(NULL, ['#'])", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.65), // with Gopher's options
    cpu: Cpu::measure(
        |_| Needs::WORDS.and(Needs::SIGNS),
        |doc, args| {
            let strings = args.texts("strings").iter().filter(|string| doc.marker_chars().may_have(string));
            let n_found = strings.map(|string| n_occurrences(doc.text(), string)).sum();
            scan::ratio(n_found, doc.words().len())
        },
    ),
    gpu: Gpu::statistic(include_str!("../../../kernels/web/string_to_word_ratio.cu")).and_instructions_per_byte(95.0),
};

/// Occurrences without overlap; an empty string occurs nowhere.
fn n_occurrences(text: &str, string: &str) -> usize {
    match string.as_bytes() {
        [] => 0,
        [byte] => memchr::memchr_iter(*byte, text.as_bytes()).count(),
        bytes => memchr::memmem::find_iter(text.as_bytes(), bytes).count(),
    }
}
