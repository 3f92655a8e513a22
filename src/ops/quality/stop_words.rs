//! `stop_words(text, words => […])`: how many words are stop words.

use crate::ops::prelude::*;

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
    let (distinct, ignore_case, at_most) = (args.bool("distinct"), args.bool("ignore_case"), args.int("at_most"));
    let (members, words) = (args.set("words"), doc.words());
    let bytes = doc.text().as_bytes();
    if !distinct && !ignore_case {
        return (members.count(bytes, &words.spans) as i64).min(at_most);
    }
    // When all members were seen, no more can come.
    let at_most = if distinct { at_most.min(members.len() as i64) } else { at_most };
    let mut seen: Vec<Option<&[u8]>> = vec![None; members.len()];
    let mut lower = Vec::new();
    let mut n = 0;
    for word in &words.spans {
        if n >= at_most {
            break;
        }
        let word = &bytes[word.start as usize..word.end as usize];
        let may_be =
            |first: &u8| members.may_contain(if ignore_case { first.to_ascii_lowercase() } else { *first }, word.len());
        if !word.first().is_some_and(may_be) {
            continue;
        }
        let member = if ignore_case {
            lower.clear();
            lower.extend(word.iter().map(u8::to_ascii_lowercase));
            members.member(&lower)
        } else {
            members.member(word)
        };
        let Some(member) = member else { continue };
        if distinct {
            // Members that differ in case only are one.
            if seen[member].is_some() || seen.iter().flatten().any(|other| other.eq_ignore_ascii_case(word)) {
                continue;
            }
            seen[member] = Some(word);
        }
        n += 1;
    }
    n
}
