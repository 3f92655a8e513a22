//! `line_count(text, lines => …)`: how many lines a document has, by any of the ways to cut it.

use super::line_kinds::{about_lines, for_each_line, lines_option, needs};
use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "line_count",
    family: Family::Web,
    summary: "number of lines, by one of five ways to cut a document",
    details: concat!(
        "With the default, line feeds and one: `line_count` of Dolma's C4 taggers. An empty document has 1 so, and with \
         `merged`; 0 otherwise.",
        about_lines!()
    ),
    params: &[Param::text("text", "the document"), lines_option("all")],
    returns: Returns::Int64,
    examples: &[
        Example::of(r"line_count(E'a\n\nb\n')", "4"),
        Example::of(r"line_count(E'a\n\nb\n', lines => 'any_break')", "3"),
        Example::of(r"line_count(E'a\n\nb\n', lines => 'merged')", "3"),
        Example::of(r"line_count(E'a\n \nb\n', lines => 'solid')", "2"),
        Example::of("line_count('')", "1"),
        Example::of("line_count(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.75),
    cpu: Cpu::count(needs, |doc, args| for_each_line(doc, args, |_| {}) as i64),
    gpu: Gpu::statistic(include_str!("../../../kernels/web/line_count.cu")).and_instructions_per_byte(2.0),
};
