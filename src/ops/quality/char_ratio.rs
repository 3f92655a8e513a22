//! `char_ratio(text, characters)`: the share of given characters.

use crate::ops::prelude::*;
use crate::ops::scan::AsciiSet;
use memchr::memmem;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "char_ratio",
    family: Family::Quality,
    summary: "share of characters that are among the given ones",
    details: "(characters of the document that occur in `characters`) / characters, white space included; with \
              `negate`, (characters that do not) / characters. An empty document gives 0. NeMo's parentheses, \
              white space and non-alphanumeric rules are this with their own sets.",
    params: &[
        Param::text("text", "the document"),
        Param::text("characters", "the characters, in any order"),
        Param::bool("negate", "count the other characters").default(Literal::Bool(false)),
    ],
    returns: Returns::Float64,
    examples: &[
        Example::of("char_ratio('f(x)', '()')", "0.5"),
        Example::of("char_ratio('a⟨b⟩', '⟨⟩', negate => true)", "0.5"),
        Example::of("char_ratio('aa', 'aaa')", "1.0"),
        Example::of("char_ratio('', 'a')", "0.0"),
        Example::of("char_ratio(NULL, 'a')", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.66),
    cpu: Cpu::measure(|_| Needs::CHARS, char_ratio),
    gpu: Gpu::statistic(include_str!("../../../kernels/quality/char_ratio.cu")).and_instructions_per_byte(10.0),
};

/// The characters to look for.
struct Characters {
    ascii: AsciiSet,
    wide: Vec<String>,
}

impl Characters {
    fn of(args: &Args) -> Self {
        let characters = args.text("characters");
        let mut wide: Vec<char> = characters.chars().filter(|c| !c.is_ascii()).collect();
        wide.sort_unstable();
        wide.dedup();
        Self { ascii: AsciiSet::new(characters), wide: wide.iter().map(char::to_string).collect() }
    }

    fn count(&self, doc: &Doc) -> usize {
        let text = doc.text().as_bytes();
        let n_ascii = self.ascii.count(text);
        if doc.chars().n_wide() == 0 {
            return n_ascii;
        }
        n_ascii + self.wide.iter().map(|c| memmem::find_iter(text, c).count()).sum::<usize>()
    }
}

fn char_ratio(doc: &Doc, args: &Args) -> f64 {
    let n_chars = doc.chars().n_chars;
    let n_hits = args.prepared(Characters::of).map_or(0, |characters| characters.count(doc));
    scan::ratio(if args.bool("negate") { n_chars - n_hits } else { n_hits }, n_chars)
}
