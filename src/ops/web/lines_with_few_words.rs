//! `lines_with_few_words(text, min_words)`: how many lines have few words.

use super::line_span::{COUNT_OPTION, sum_lines};
use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "lines_with_few_words",
    family: Family::Web,
    summary: "number of lines with fewer than `min_words` words, or of their characters",
    details: "Lines are cut at line feeds; a blank line has no word. Dolma's C4 taggers mark these lines as \
              `lines_with_too_few_words`. `count` says what is added up: `'lines'`; `'chars'`, the characters of the \
              lines with their line feeds; `'lower_chars'`, the same of the lower-cased text, in which `İ` has two. An \
              empty document has one line, without words.",
    params: &[
        Param::text("text", "the document"),
        Param::int("min_words", "words of a line that has enough").at_least(1).default(Literal::Int(3)),
        COUNT_OPTION,
    ],
    returns: Returns::Int64,
    examples: &[
        Example::of(r"lines_with_few_words(E'one two three\nmenu entry\n')", "2"),
        Example::of(r"lines_with_few_words(E'one two three\nmenu entry\n', count => 'chars')", "11"),
        Example::of("lines_with_few_words('')", "1"),
        Example::of("lines_with_few_words(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.75),
    cpu: Cpu::count(
        |_| Needs::LINES,
        |doc, args| {
            let min_words = args.count("min_words");
            sum_lines(doc, args, |line| (line.n_words as usize) < min_words)
        },
    ),
    gpu: Gpu::statistic(include_str!("../../../kernels/web/lines_with_few_words.cu")).and_instructions_per_byte(10.0),
};
