//! `lines_without_end(text, ends)`: how many lines do not end like a sentence.

use super::line_span::{COUNT_OPTION, sum_lines};
use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "lines_without_end",
    family: Family::Web,
    summary: "number of lines that end with none of the given marks, or of their characters",
    details: "Lines are cut at line feeds and trimmed; a blank line has no end mark. Dolma's C4 taggers mark these lines as \
              `lines_with_no_ending_punctuation`. `count` says what is added up: `'lines'`; `'chars'`, the characters of \
              the lines with their line feeds; `'lower_chars'`, the same of the lower-cased text, in which `İ` has two. \
              An empty document has one line, without end.",
    params: &[
        Param::text("text", "the document"),
        Param::text_list("ends", "the end marks").default(Literal::TextList(&[".", "?", "!", "\""])),
        COUNT_OPTION,
    ],
    returns: Returns::Int64,
    examples: &[
        Example::of(r"lines_without_end(E'A sentence. \nmenu\n')", "2"),
        Example::of(r"lines_without_end(E'A sentence. \nmenu\n', count => 'chars')", "5"),
        Example::of("lines_without_end('')", "1"),
        Example::of("lines_without_end(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.81),
    cpu: Cpu::count(
        |_| Needs::LINES,
        |doc, args| {
            let ends = args.set("ends");
            sum_lines(doc, args, |line| !ends.ends(line.trimmed_bytes(doc.text())))
        },
    ),
    gpu: Gpu::statistic(include_str!("../../../kernels/web/lines_without_end.cu")).and_instructions_per_byte(15.0),
};
