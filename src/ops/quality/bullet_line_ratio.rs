//! `bullet_line_ratio(text)`: the share of lines that are list items.

use crate::ops::Line;
use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "bullet_line_ratio",
    family: Family::Quality,
    summary: "share of lines that begin with a bullet",
    details: "(lines that begin with one of `bullets`) / lines, over the lines that are not blank, each with the \
              white space at its ends removed. The default bullets are NeMo's, whose BulletsFilter keeps documents \
              up to 0.9; `-` and `*` are not among them. A document without such lines gives 0; NeMo raises an \
              error.",
    params: &[
        Param::text("text", "the document"),
        Param::text_list("bullets", "the bullets")
            .default(Literal::TextList(&["•", "‣", "⁃", "⁌", "⁍", "∙", "○", "●", "◘", "◦", "⦾", "⦿"])),
    ],
    returns: Returns::Float64,
    examples: &[
        Example::of(r"bullet_line_ratio(E' • one\ntwo')", "0.5"),
        Example::of("bullet_line_ratio('- one', bullets => ['-', '*'])", "1.0"),
        Example::of("bullet_line_ratio('')", "0.0"),
        Example::of("bullet_line_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.77),
    cpu: Cpu::measure(|_| Needs::LINES, bullet_line_ratio),
    gpu: Gpu::statistic(include_str!("../../../kernels/quality/bullet_line_ratio.cu")).and_instructions_per_byte(30.0),
};

fn bullet_line_ratio(doc: &Doc, args: &Args) -> f64 {
    let bullets = args.set("bullets");
    let has_bullet = |line: &Line| bullets.begins(line.trimmed_bytes(doc.text()));
    scan::ratio(doc.lines().full().filter(has_bullet).count(), doc.lines().n_full())
}
