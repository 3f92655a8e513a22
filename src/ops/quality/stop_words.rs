//! `stop_words(text, words => […])`: how many words are stop words.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "stop_words",
    family: Family::Quality,
    summary: "number of words that are in a list of common words",
    details: "A word counts, each time it occurs, if it equals a member of `words` exactly: case matters, and \
              punctuation is not removed. The default is Gopher's list, whose rule keeps documents with at least 2. An \
              empty document has 0.",
    params: &[
        Param::text("text", "the document"),
        Param::text_list("words", "the common words")
            .default(Literal::TextList(&["the", "be", "to", "of", "and", "that", "have", "with"])),
    ],
    returns: Returns::Int64,
    examples: &[
        Example::of("stop_words('to be or not to be')", "4"),
        Example::of("stop_words('der Hund und die Katze', words => ['der', 'die', 'und'])", "3"),
        Example::of("stop_words('THE the, the')", "1"),
        Example::of("stop_words(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(4.0), // estimate
    cpu: Cpu::Int(|text, args| scan::words(text).filter(|word| args.has_text("words", word)).count() as i64),
    gpu: Gpu::No("lists of words stay on the CPU"),
};
