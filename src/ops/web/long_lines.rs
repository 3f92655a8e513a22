//! `long_lines(text, min_chars)`: how many lines are long.

use super::line_kinds::{about_lines, for_each_line, lines_option, needs};
use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "long_lines",
    family: Family::Web,
    summary: "number of lines of at least `min_chars` characters",
    details: concat!(
        "mC4 keeps documents with 3 lines of at least 200 characters. An empty document has 0.",
        about_lines!()
    ),
    params: &[
        Param::text("text", "the document"),
        Param::int("min_chars", "the shortest long line").at_least(1).default(Literal::Int(200)),
        lines_option("all"),
    ],
    returns: Returns::Int64,
    examples: &[
        Example::of("long_lines(repeat(repeat('word ', 40) || chr(10), 3))", "3"),
        Example::of(r"long_lines(E'ab\nabc\nab', min_chars => 3)", "1"),
        Example::of("long_lines('')", "0"),
        Example::of("long_lines(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.75),
    cpu: Cpu::count(needs, |doc, args| {
        let min_chars = args.count("min_chars");
        let mut n_hits = 0;
        for_each_line(doc, args, |line| n_hits += i64::from(line.n_chars as usize >= min_chars));
        n_hits
    }),
    gpu: Gpu::statistic(include_str!("../../../kernels/web/long_lines.cu")).and_instructions_per_byte(5.0),
};
