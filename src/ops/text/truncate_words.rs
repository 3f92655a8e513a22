//! `truncate_words(text, max)`: the beginning of a document.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "truncate_words",
    family: Family::Text,
    summary: "the document up to the end of its `max`-th word",
    details: "White space before and between the words stays; a document of no more words is returned whole.",
    params: &[Param::text("text", "the document"), Param::int("max", "words to keep").at_least(0)],
    returns: Returns::Utf8,
    examples: &[
        Example::of("truncate_words('one  two three', 2)", "'one  two'"),
        Example::of("truncate_words('one two ', max => 2)", "'one two '"),
        Example::of("truncate_words('one', 0)", "''"),
        Example::of("truncate_words(NULL, 2)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.9), // estimate
    cpu: Cpu::Text(|text, args| Cow::Borrowed(truncate_words(text, args.count("max")))),
    gpu: Gpu::NOT_YET,
};

fn truncate_words(text: &str, max: usize) -> &str {
    let mut end = 0;
    let mut words = scan::words(text);
    for word in words.by_ref().take(max) {
        end = (word.as_ptr() as usize - text.as_ptr() as usize) + word.len();
    }
    if words.next().is_none() { text } else { &text[..end] }
}
