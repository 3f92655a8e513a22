//! `unterminated_line_ratio(text)`: the share of lines without an end mark.

use crate::ops::Line;
use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "unterminated_line_ratio",
    family: Family::Quality,
    summary: "share of lines that do not end in an end mark",
    details: "(lines that end in none of `marks`) / lines, over the lines that are not blank, each with the white \
              space at its ends removed. The default marks are C4's and NeMo's, whose PunctuationFilter keeps \
              documents up to 0.85. A document without such lines gives 0; NeMo raises an error.",
    params: &[
        Param::text("text", "the document"),
        Param::text_list("marks", "the end marks").default(Literal::TextList(&[".", "?", "!", "\"", "'"])),
    ],
    returns: Returns::Float64,
    examples: &[
        Example::of(r"unterminated_line_ratio(E'Home\nA sentence. \n\n')", "0.5"),
        Example::of("unterminated_line_ratio('end:', marks => [':'])", "0.0"),
        Example::of("unterminated_line_ratio('')", "0.0"),
        Example::of("unterminated_line_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.79),
    cpu: Cpu::measure(|_| Needs::LINES, unterminated_line_ratio),
    gpu: Gpu::statistic(include_str!("../../../kernels/quality/unterminated_line_ratio.cu"))
        .and_instructions_per_byte(25.0),
};

fn unterminated_line_ratio(doc: &Doc, args: &Args) -> f64 {
    let marks = args.set("marks");
    let has_none = |line: &Line| !marks.ends(line.trimmed_bytes(doc.text()));
    scan::ratio(doc.lines().full().filter(has_none).count(), doc.lines().n_full())
}
