//! `code_longest_line(text)`: the length of the longest line.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "code_longest_line",
    family: Family::Code,
    summary: "characters of the longest line, split at line feeds",
    details: "Lines are what line feeds separate, so a carriage return counts. An empty document gives 0. NeMo Curator's PerExtensionFilter allows 1,000 for most languages.",
    params: &[Param::text("text", "the source file")],
    returns: Returns::Int64,
    examples: &[
        Example::of(r"code_longest_line(E'a\nbcé\n')", "3"),
        Example::of("code_longest_line('')", "0"),
        Example::of("code_longest_line(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.6), // estimate
    cpu: Cpu::count(
        |_| Needs::LINES,
        |doc, _| doc.lines().iter(doc.text()).map(|line| line.chars().count()).max().unwrap_or(0) as i64,
    ),
    gpu: Gpu::NOT_YET,
};
