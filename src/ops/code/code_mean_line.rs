//! `code_mean_line(text)`: the mean length of a line.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "code_mean_line",
    family: Family::Code,
    summary: "mean characters of a line, split at line feeds",
    details: "(characters + 1) / (line feeds + 1) − 1: the mean length of a line without its line feed. An empty document gives 0. NeMo Curator's PerExtensionFilter allows 100 where it limits the longest line.",
    params: &[Param::text("text", "the source file")],
    returns: Returns::Float64,
    examples: &[
        Example::of(r"code_mean_line(E'a\nbcd')", "2.0"),
        Example::of("code_mean_line('')", "0.0"),
        Example::of("code_mean_line(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.5), // estimate
    cpu: Cpu::measure(
        |_| Needs::LINES.and(Needs::CHARS),
        |doc, _| (doc.chars().n_chars + 1) as f64 / doc.lines().spans.len() as f64 - 1.0,
    ),
    gpu: Gpu::NOT_YET,
};
