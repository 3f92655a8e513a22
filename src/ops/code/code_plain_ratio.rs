//! `code_plain_ratio(text)`: the share of plain characters.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "code_plain_ratio",
    family: Family::Code,
    summary: "share of ASCII letters and digits, line feeds and `?`, `!`, `,`, `.`",
    details: "What NeMo Curator's PerExtensionFilter calls alphanumeric: characters of `[a-zA-Z0-9\\n?!,.]` / characters. Tables of numbers have much of it, other scripts have none. An empty document gives 0.",
    params: &[Param::text("text", "the source file")],
    returns: Returns::Float64,
    examples: &[
        Example::of("code_plain_ratio('a1+=')", "0.5"),
        Example::of(r"code_plain_ratio(E'é!\n')", "0.6666666666666666"),
        Example::of("code_plain_ratio('')", "0.0"),
        Example::of("code_plain_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.5), // estimate
    cpu: Cpu::measure(
        |_| Needs::CHARS,
        |doc, _| {
            let is_plain = |c: &usize| matches!(*c as u8, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'\n' | b'?' | b'!' | b',' | b'.');
            let n_plain: u32 = (0..128).filter(is_plain).map(|c| doc.chars().ascii[c]).sum();
            scan::ratio(n_plain as usize, doc.chars().n_chars)
        },
    ),
    gpu: Gpu::NOT_YET,
};
