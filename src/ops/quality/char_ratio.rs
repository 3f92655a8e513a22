//! `char_ratio(text, characters)`: the share of given characters.

use crate::ops::prelude::*;
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

fn char_ratio(doc: &Doc, args: &Args) -> f64 {
    let chars = doc.chars();
    let mut n_hits = 0;
    let mut seen = [false; 128];
    let mut wide: Vec<char> = Vec::new();
    for c in args.text("characters").chars() {
        match seen.get_mut(c as usize) {
            Some(seen) if !*seen => {
                *seen = true;
                n_hits += chars.ascii[c as usize] as usize;
            }
            None if !wide.contains(&c) => wide.push(c),
            _ => {}
        }
    }
    if chars.n_wide() > 0 {
        let text = doc.text().as_bytes();
        let count = |c: &char| memmem::find_iter(text, c.encode_utf8(&mut [0; 4]).as_bytes()).count();
        n_hits += wide.iter().map(count).sum::<usize>();
    }
    scan::ratio(if args.bool("negate") { chars.n_chars - n_hits } else { n_hits }, chars.n_chars)
}
