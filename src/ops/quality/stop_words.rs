//! `stop_words(text, words => […])`: how many words are stop words.

use crate::ops::doc::Word;
use crate::ops::prelude::*;
use crate::ops::text_set::{Candidates, TextSet};

pub(super) static SPEC: OpSpec = OpSpec {
    name: "stop_words",
    family: Family::Quality,
    summary: "number of words that are in a list of common words",
    details: "A word counts, each time it occurs, if it equals a member of `words` exactly: case matters unless \
              `ignore_case` (about A to Z), and punctuation is not removed. `distinct` counts each member once. \
              Counting stops at `at_most`. The default list is Gopher's, whose rule keeps documents with at least \
              2. An empty document has 0.",
    params: &[
        Param::text("text", "the document"),
        Param::text_list("words", "the common words")
            .default(Literal::TextList(&["the", "be", "to", "of", "and", "that", "have", "with"])),
        Param::bool("distinct", "count each of them once").default(Literal::Bool(false)),
        Param::bool("ignore_case", "take A for a; the list must be in lower case").default(Literal::Bool(false)),
        Param::int("at_most", "where to stop counting").at_least(0).default(Literal::Int(i64::MAX)),
    ],
    returns: Returns::Int64,
    examples: &[
        Example::of("stop_words('to be or not to be')", "4"),
        Example::of("stop_words('to be or not to be', distinct => true)", "2"),
        Example::of("stop_words('to be or not to be', at_most => 2)", "2"),
        Example::of("stop_words('der Hund und die Katze', words => ['der', 'die', 'und'])", "3"),
        Example::of("stop_words('THE the, the')", "1"),
        Example::of("stop_words('THE the, the', ignore_case => true)", "2"),
        Example::of("stop_words('')", "0"),
        Example::of("stop_words(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.85),
    cpu: Cpu::count(|_| Needs::WORDS, stop_words),
    gpu: Gpu::statistic(include_str!("../../../kernels/quality/stop_words.cu")).and_instructions_per_byte(100.0),
};

fn stop_words(doc: &Doc, args: &Args) -> i64 {
    let (members, words) = (args.set("words"), &doc.words().spans);
    let bytes = doc.text().as_bytes();
    let at_most = args.count("at_most");
    let n_found = match (args.bool("ignore_case"), args.bool("distinct")) {
        (false, false) => members.count(bytes, words),
        (false, true) => n_distinct(members, bytes, words, at_most),
        (true, distinct) => n_in_lower_case(members, bytes, words, distinct, at_most),
    };
    n_found.min(at_most) as i64
}

/// How many members occur, or at least `at_most`.
fn n_distinct(members: &TextSet, bytes: &[u8], words: &[Word], at_most: usize) -> usize {
    let mut seen = Seen::new(members);
    let mut room = Candidates::default();
    for words in words.chunks(room.len()) {
        // When all members were seen, no more can come.
        if seen.n >= at_most.min(members.len()) {
            break;
        }
        for word in members.candidates(bytes, words, &mut room) {
            let word = &bytes[word.start as usize..word.end as usize];
            if let Some(member) = members.member(word) {
                seen.add(member, word);
            }
        }
    }
    seen.n
}

/// How many words are members in lower case, or how many members such words are; or at least `at_most`.
fn n_in_lower_case(members: &TextSet, bytes: &[u8], words: &[Word], distinct: bool, at_most: usize) -> usize {
    let mut seen = Seen::new(members);
    let mut lower = Vec::new();
    let mut n_words = 0;
    let at_most = if distinct { at_most.min(members.len()) } else { at_most };
    for word in words {
        if (if distinct { seen.n } else { n_words }) >= at_most {
            break;
        }
        let word = &bytes[word.start as usize..word.end as usize];
        if !word.first().is_some_and(|first| members.may_contain(first.to_ascii_lowercase(), word.len())) {
            continue;
        }
        lower.clear();
        lower.extend(word.iter().map(u8::to_ascii_lowercase));
        let Some(member) = members.member(&lower) else { continue };
        n_words += 1;
        if distinct {
            seen.add(member, word);
        }
    }
    if distinct { seen.n } else { n_words }
}

/// The members that occurred. Those that differ in case only are one.
struct Seen<'t> {
    words: Vec<Option<&'t [u8]>>,
    n: usize,
}

impl<'t> Seen<'t> {
    fn new(members: &TextSet) -> Self {
        Self { words: vec![None; members.len()], n: 0 }
    }

    fn add(&mut self, member: usize, word: &'t [u8]) {
        if self.words[member].is_none() && !self.words.iter().flatten().any(|other| other.eq_ignore_ascii_case(word)) {
            self.words[member] = Some(word);
            self.n += 1;
        }
    }
}
