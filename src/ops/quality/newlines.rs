//! `newlines(text)`: the number of line feeds.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "newlines",
    family: Family::Quality,
    summary: "number of line feeds",
    details: "An empty document has 0. NeMo's NumberOfLinesOfCodeFilter counts lines of code as `newlines(text) + \
              1`.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Int64,
    examples: &[
        Example::of(r"newlines(E'one\ntwo\n')", "2"),
        Example::of("newlines('one')", "0"),
        Example::of("newlines('')", "0"),
        Example::of("newlines(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.88),
    cpu: Cpu::count(|_| Needs::LINES, |doc, _| doc.lines().all.len() as i64 - 1),
    gpu: Gpu::statistic(include_str!("../../../kernels/quality/newlines.cu")),
};
