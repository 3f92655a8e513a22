//! `words_containing_ratio(text, strings)`: the share of words that contain one of several strings.

use crate::ops::prelude::*;
use memchr::memmem;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "words_containing_ratio",
    family: Family::Web,
    summary: "share of words that contain one of the given strings",
    details: "(words that contain a member of `strings`) / words. With the default, Dolma's `symbol_to_word_ratio`, whose Gopher rules drop \
              documents above 0.1. A document without words gives 0.",
    params: &[
        Param::text("text", "the document"),
        Param::text_list("strings", "the strings").default(Literal::TextList(&["#", "…"])),
    ],
    returns: Returns::Float64,
    examples: &[
        Example::of("words_containing_ratio('#tag one two… …')", "0.75"),
        Example::of("words_containing_ratio('a-b c', ['-'])", "0.5"),
        Example::of("words_containing_ratio('')", "0.0"),
        Example::of("words_containing_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.57),
    cpu: Cpu::measure(
        |_| Needs::WORDS.and(Needs::SIGNS),
        |doc, args| scan::ratio(n_words_containing(doc, args), doc.words().len()),
    ),
    gpu: Gpu::statistic(include_str!("../../../kernels/web/words_containing_ratio.cu"))
        .and_instructions_per_byte(200.0),
};

fn n_words_containing(doc: &Doc, args: &Args) -> usize {
    if args.has_text("strings", "") {
        return doc.words().len();
    }
    let finders = args.prepared(|args| {
        args.texts("strings").iter().map(|string| memmem::Finder::new(string).into_owned()).collect::<Vec<_>>()
    });
    let may_occur = |(string, _): &(&String, &memmem::Finder)| doc.marker_chars().may_have(string);
    finders.map_or(0, |finders| {
        let finders = args.texts("strings").iter().zip(finders).filter(may_occur).map(|(_, finder)| finder);
        doc.words().containing(doc.text(), finders).len()
    })
}
