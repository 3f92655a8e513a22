//! `lines(text)`: the number of lines.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "lines",
    family: Family::Quality,
    summary: "number of lines, blank ones included",
    details: "A line ends at a line feed or at the end of the document; a last line feed opens no further line. An \
              empty document has 0 lines.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Int64,
    examples: &[
        Example::of(r"lines(E'one\ntwo\n')", "2"),
        Example::of(r"lines(E'one\n\nthree')", "3"),
        Example::of("lines('')", "0"),
        Example::of("lines(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.75),
    cpu: Cpu::count(
        |_| Needs::LINES,
        |doc, _| {
            let is_open = !doc.text().is_empty() && !doc.text().ends_with('\n');
            (doc.lines().all.len() - 1 + usize::from(is_open)) as i64
        },
    ),
    gpu: Gpu::statistic(include_str!("../../../kernels/quality/lines.cu")),
};
