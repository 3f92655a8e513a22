//! `has_curly_bracket(text)`: whether the document may hold program code.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "has_curly_bracket",
    family: Family::Quality,
    summary: "whether the document contains `{`",
    details: "C4 drops such documents. An empty document gives false.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Boolean,
    examples: &[
        Example::of("has_curly_bracket('if (x) { y }')", "true"),
        Example::of("has_curly_bracket('prose }')", "false"),
        Example::of("has_curly_bracket('')", "false"),
        Example::of("has_curly_bracket(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.05),
    cpu: Cpu::test(|_| Needs::TEXT, |doc, _| doc.text().contains('{')),
    gpu: Gpu::statistic(include_str!("../../../kernels/quality/has_curly_bracket.cu")).and_instructions_per_byte(15.0),
};
