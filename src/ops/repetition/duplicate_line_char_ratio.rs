//! `duplicate_line_char_ratio(text)`: the share of characters in lines that were there before.

use super::line_choice::{line_option, lines_of, per_needs, per_of, per_option};
use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "duplicate_line_char_ratio",
    family: Family::Repetition,
    summary: "share of characters in lines that repeat an earlier line of the document",
    details: "characters in lines that repeat an earlier one / characters. Which lines there are is the option \
              `lines`: `all` (what line feeds separate, empty ones too), `merged` (a run of line feeds separates \
              like one), `filled` (not empty), `solid` (not blank). `per` is what the length is divided by: `text` \
              (the characters of the document), `unbroken` (its characters that are no line feeds), `lines` (the \
              characters of the lines looked at), `words` (the characters in words; 1 if there are none). An empty \
              document gives 0. By default the value of datatrove's GopherRepetitionFilter, which drops documents \
              above 0.2; with `lines => 'solid', per => 'unbroken'` that of FineWebQualityFilter, which drops them \
              above 0.01.",
    params: &[Param::text("text", "the document"), line_option("merged"), per_option("text")],
    returns: Returns::Float64,
    examples: &[
        Example::of(r"duplicate_line_char_ratio(E'abc\nabc\nd\n')", "0.3"),
        Example::of(r"duplicate_line_char_ratio(E'abc\nabc\nab\n', lines => 'solid', per => 'unbroken')", "0.375"),
        Example::of("duplicate_line_char_ratio('')", "0.0"),
        Example::of("duplicate_line_char_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(1.05).and_ns_per_row(100.0),
    cpu: Cpu::measure(per_needs, |doc, args| {
        let lines = lines_of(doc, args);
        scan::ratio(lines.duplicate_chars(), per_of(doc, args, lines))
    }),
    gpu: Gpu::statistic(include_str!("../../../kernels/repetition/duplicate_line_char_ratio.cu")),
};
