//! `distinct_stop_words(text, words => […])`: how many different common words occur.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "distinct_stop_words",
    family: Family::Web,
    summary: "number of different common words that occur",
    details: "How many members of `words` are a word of the document, each counted once: case matters, and punctuation is not removed. \
              The default is Gopher's list; datatrove keeps documents with at least 2. An empty document has 0.",
    params: &[
        Param::text("text", "the document"),
        Param::text_list("words", "the common words")
            .default(Literal::TextList(&["the", "be", "to", "of", "and", "that", "have", "with"])),
    ],
    returns: Returns::Int64,
    examples: &[
        Example::of("distinct_stop_words('to be or not to be')", "2"),
        Example::of("distinct_stop_words('THE the, the')", "1"),
        Example::of("distinct_stop_words('')", "0"),
        Example::of("distinct_stop_words(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(1.0), // benches/operators.rs
    cpu: Cpu::count(|_| Needs::WORDS, |doc, args| n_distinct(doc, args.texts("words")) as i64),
    gpu: Gpu::No("lists of words stay on the CPU"),
};

fn n_distinct(doc: &Doc, wanted: &[String]) -> usize {
    // A word found leaves the list, so that the walk ends when all are found.
    let mut missing: Vec<&str> = wanted.iter().map(String::as_str).collect();
    missing.sort_unstable();
    missing.dedup();
    let n_wanted = missing.len();
    for word in doc.words().iter(doc.text()) {
        if missing.is_empty() {
            break;
        }
        if let Some(at) = missing.iter().position(|missing| *missing == word) {
            missing.swap_remove(at);
        }
    }
    n_wanted - missing.len()
}
