//! `line_start_ratio(text, starts)`: the share of lines that begin with one of several strings.

use super::line_kinds::{about_lines, for_each_line, lines_option, needs};
use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "line_start_ratio",
    family: Family::Web,
    summary: "share of lines that begin with one of the given strings, such as bullets",
    details: concat!(
        "(lines that begin with a member of `starts`) / lines; `trim` removes white space from both ends of a line \
         before. Gopher drops documents with more than 0.9 bullet lines; its implementations differ in the bullets \
         and in what a line is. A document without lines gives 0.",
        about_lines!()
    ),
    params: &[
        Param::text("text", "the document"),
        Param::text_list("starts", "the strings"),
        lines_option("all"),
        Param::bool("trim", "remove white space at the line's ends before").default(Literal::Bool(false)),
    ],
    returns: Returns::Float64,
    examples: &[
        Example::of(r"line_start_ratio(E'- a\n  - b\nc\n- d', ['-', '•'])", "0.5"),
        Example::of(r"line_start_ratio(E'- a\n  - b\nc\n- d', ['-', '•'], trim => true)", "0.75"),
        Example::of("line_start_ratio('', ['-'])", "0.0"),
        Example::of("line_start_ratio(NULL, ['-'])", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.94), // with Gopher's options
    cpu: Cpu::measure(needs, |doc, args| {
        let starts = args.set("starts");
        let trimmed = args.bool("trim");
        let mut n_hits = 0;
        let n_lines = for_each_line(doc, args, |line| {
            let line = if trimmed { line.trimmed_bytes(doc.text()) } else { line.bytes(doc.text()) };
            n_hits += usize::from(starts.begins(line));
        });
        scan::ratio(n_hits, n_lines)
    }),
    gpu: Gpu::statistic(include_str!("../../../kernels/web/line_start_ratio.cu")).and_instructions_per_byte(15.0),
};
