//! `code_lines(text)`: the number of lines of a source file.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "code_lines",
    family: Family::Code,
    summary: "number of lines, split at line feeds; a line feed at the end opens one more",
    details: "line feeds + 1: a file has at least one line, and `a` with a line feed behind it has two. An empty document gives 1. NeMo Curator's NumberOfLinesOfCodeFilter keeps 10 to 20,000.",
    params: &[Param::text("text", "the source file")],
    returns: Returns::Int64,
    examples: &[
        Example::of("code_lines('a')", "1"),
        Example::of(r"code_lines(E'a\nb\n')", "3"),
        Example::of("code_lines('')", "1"),
        Example::of("code_lines(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.2), // estimate
    cpu: Cpu::count(|_| Needs::LINES, |doc, _| doc.lines().spans.len() as i64),
    gpu: Gpu::NOT_YET,
};
