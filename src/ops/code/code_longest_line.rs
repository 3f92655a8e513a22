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
    cost: Cost::ns_per_byte(0.75),
    cpu: Cpu::count(
        |_| Needs::LINES,
        |doc, _| doc.lines().all.iter().map(|line| i64::from(line.n_chars)).max().unwrap_or(0),
    ),
    gpu: Gpu::statistic(include_str!("../../../kernels/code/code_longest_line.cu")),
};
