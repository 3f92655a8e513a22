//! `lines(text)`: the number of lines.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "lines",
    family: Family::Quality,
    summary: "number of lines, blank ones included",
    details: "A line ends at a line feed or at the end of the document; a last line feed opens no further line. \
              An empty document has 0 lines.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Int64,
    examples: &[
        Example::of(r"lines(E'one\ntwo\n')", "2"),
        Example::of(r"lines(E'one\n\nthree')", "3"),
        Example::of("lines('')", "0"),
        Example::of("lines(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.1), // estimate
    cpu: Cpu::Int(|text, _| {
        let n_ends = memchr::memchr_iter(b'\n', text.as_bytes()).count();
        let is_open = !text.is_empty() && !text.ends_with('\n');
        (n_ends + usize::from(is_open)) as i64
    }),
    gpu: Gpu::NOT_YET,
};
