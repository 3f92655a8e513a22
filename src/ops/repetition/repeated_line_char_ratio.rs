//! `repeated_line_char_ratio(text)`: the share of characters in lines that occur more than once.

use super::line_choice::{line_option, lines_of, per_needs, per_of, per_option};
use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "repeated_line_char_ratio",
    family: Family::Repetition,
    summary: "characters in lines that occur more than once, for each character",
    details: "characters in lines equal to another line of the document, the first of them counted too / \
              characters. Which lines there are is the option `lines`: `all` (what line feeds separate, empty ones \
              too), `merged` (a run of line feeds separates like one), `filled` (not empty), `solid` (not blank). \
              `per` is what the length is divided by: `text` (the characters of the document), `unbroken` (its \
              characters that are no line feeds), `lines` (the characters of the lines looked at), `words` (the \
              characters in words; 1 if there are none). An empty document gives 0. By default Dolma's \
              `fraction_of_characters_in_duplicate_lines`, which exceeds 1 where lines have much white space; with \
              `lines => 'filled', per => 'lines'` the value of DCLM.",
    params: &[Param::text("text", "the document"), line_option("all"), per_option("words")],
    returns: Returns::Float64,
    examples: &[
        Example::of(r"repeated_line_char_ratio(E'abc\nabc\nde')", "0.75"),
        Example::of(r"repeated_line_char_ratio(E'a b\na b')", "1.5"),
        Example::of(r"repeated_line_char_ratio(E'a b\na b\ncd', per => 'lines')", "0.75"),
        Example::of("repeated_line_char_ratio('')", "0.0"),
        Example::of("repeated_line_char_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(1.6).and_ns_per_row(100.0),
    cpu: Cpu::measure(per_needs, |doc, args| {
        let lines = lines_of(doc, args);
        scan::ratio(lines.repeated_chars, per_of(doc, args, lines))
    }),
    gpu: Gpu::statistic(include_str!("../../../kernels/repetition/repeated_line_char_ratio.cu")),
};
