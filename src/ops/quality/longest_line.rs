//! `longest_line(text)`: the length of the longest line.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "longest_line",
    family: Family::Quality,
    summary: "number of characters of the longest line",
    details: "Lines as Python's `str.splitlines()` gives them, without their ends. Data-Juicer's \
              `max_line_length`. An empty document gives 0.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Int64,
    examples: &[
        Example::of(r"longest_line(E'ab\ncde\n')", "3"),
        Example::of(r"longest_line(E'été\r\n')", "3"),
        Example::of("longest_line('')", "0"),
        Example::of("longest_line(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(1.12),
    cpu: Cpu::count(|_| Needs::CHARS.and(Needs::LINES), longest_line),
    gpu: Gpu::NOT_YET,
};

fn longest_line(doc: &Doc, _: &Args) -> i64 {
    let is_ascii = doc.chars().n_wide() == 0;
    let mut longest = 0;
    for line in doc.split_lines() {
        // A line of fewer bytes cannot have more characters.
        if line.len() > longest {
            longest = longest.max(if is_ascii { line.len() } else { line.chars().count() });
        }
    }
    longest as i64
}
