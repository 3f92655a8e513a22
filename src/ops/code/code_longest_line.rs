//! `code_longest_line(text)`: the length of the longest line between line feeds.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "code_longest_line",
    family: Family::Code,
    summary: "characters of the longest line, split at line feeds alone",
    details: "Lines are what line feeds separate, so that a carriage return counts; `longest_line` splits at every line end. \
              An empty document gives 0. NeMo Curator's PerExtensionFilter allows 1,000 for most languages.",
    params: &[Param::text("text", "the source file")],
    returns: Returns::Int64,
    examples: &[
        Example::of(r"code_longest_line(E'a\nbcé\n')", "3"),
        Example::of(r"code_longest_line(E'a\r\n')", "2"),
        Example::of("code_longest_line('')", "0"),
        Example::of("code_longest_line(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.2),
    cpu: Cpu::count(|_| Needs::LINES, longest),
    gpu: Gpu::NOT_YET,
};

fn longest(doc: &Doc, _: &Args) -> i64 {
    let mut longest = 0;
    for line in doc.lines().iter(doc.text()) {
        // A line of fewer bytes cannot have more characters.
        if line.len() > longest {
            longest = longest.max(line.chars().count());
        }
    }
    longest as i64
}
