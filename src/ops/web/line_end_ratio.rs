//! `line_end_ratio(text, ends)`: the share of lines that end with one of several strings.

use super::line_kinds::{about_lines, for_each_line, lines_option, needs};
use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "line_end_ratio",
    family: Family::Web,
    summary: "share of lines that end with one of the given strings, such as an ellipsis",
    details: concat!(
        "(lines that end with a member of `ends`) / lines; `trim` removes white space from both ends of a line before. \
         Gopher drops documents with more than 0.3 lines ending in an ellipsis; its implementations differ in the \
         ellipses and in what a line is. A document without lines gives 0.",
        about_lines!()
    ),
    params: &[
        Param::text("text", "the document"),
        Param::text_list("ends", "the strings"),
        lines_option("all"),
        Param::bool("trim", "remove white space at the line's ends before").default(Literal::Bool(false)),
    ],
    returns: Returns::Float64,
    examples: &[
        Example::of(r"line_end_ratio(E'a...\nb… \nc', ['...', '…'])", "0.3333333333333333"),
        Example::of(r"line_end_ratio(E'a...\nb… \nc', ['...', '…'], trim => true)", "0.6666666666666666"),
        Example::of("line_end_ratio('', ['…'], lines => 'any_break')", "0.0"),
        Example::of("line_end_ratio(NULL, ['…'])", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.94), // with Gopher's options
    cpu: Cpu::measure(needs, |doc, args| {
        let ends = args.set("ends");
        let trimmed = args.bool("trim");
        let mut n_hits = 0;
        let n_lines = for_each_line(doc, args, |line| {
            let line = if trimmed { line.trimmed_bytes(doc.text()) } else { line.bytes(doc.text()) };
            n_hits += usize::from(ends.ends(line));
        });
        scan::ratio(n_hits, n_lines)
    }),
    gpu: Gpu::statistic(include_str!("../../../kernels/web/line_end_ratio.cu")).and_instructions_per_byte(15.0),
};
