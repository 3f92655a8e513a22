//! `duplicate_line_ratio(text)`: the share of lines that were there before.

use crate::ops::prelude::*;
use std::collections::HashSet;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "duplicate_line_ratio",
    family: Family::Quality,
    summary: "share of lines that repeat an earlier line of the document",
    details: "(lines − distinct lines) / lines, over the lines that are not blank, compared without the white space at \
              their ends. A document without such lines gives 0. Gopher drops documents above 0.3.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Float64,
    examples: &[
        Example::of(r"duplicate_line_ratio(E'buy\nnow\nbuy\nbuy')", "0.5"),
        Example::of(r"duplicate_line_ratio(E'a\n\n\n')", "0.0"),
        Example::of("duplicate_line_ratio('')", "0.0"),
        Example::of("duplicate_line_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(2.0).and_ns_per_row(100.0), // estimate
    cpu: Cpu::Float(|text, _| duplicate_line_ratio(text)),
    gpu: Gpu::No("its hash table of lines has no size that fits a GPU thread"),
};

fn duplicate_line_ratio(text: &str) -> f64 {
    let mut seen = HashSet::new();
    let (mut n_lines, mut n_duplicates) = (0, 0);
    for line in scan::lines(text).map(|line| line.trim_matches(scan::is_space)).filter(|line| !line.is_empty()) {
        n_lines += 1;
        n_duplicates += usize::from(!seen.insert(line));
    }
    scan::ratio(n_duplicates, n_lines)
}
