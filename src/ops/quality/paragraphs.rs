//! `paragraphs(text)`: the number of paragraphs.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "paragraphs",
    family: Family::Quality,
    summary: "number of paragraphs: lines that no blank line separates",
    details: "A paragraph is a longest run of lines with something else than white space in them. A document of \
              white space has 0.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Int64,
    examples: &[
        Example::of(r"paragraphs(E'a\nb\n\nc\n \n\n')", "2"),
        Example::of("paragraphs('a')", "1"),
        Example::of("paragraphs('')", "0"),
        Example::of("paragraphs(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.75),
    cpu: Cpu::count(|_| Needs::LINES, paragraphs),
    gpu: Gpu::statistic(include_str!("../../../kernels/quality/paragraphs.cu")).and_instructions_per_byte(5.0),
};

fn paragraphs(doc: &Doc, _: &Args) -> i64 {
    let mut n = 0;
    let mut in_paragraph = false;
    for line in &doc.lines().all {
        n += i64::from(!line.is_blank() && !in_paragraph);
        in_paragraph = !line.is_blank();
    }
    n
}
