//! `has_javascript(text)`: whether the document speaks of JavaScript.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "has_javascript",
    family: Family::Quality,
    summary: "whether the document contains \"javascript\" in any case",
    details: "C4 drops the lines that do, most of which ask to switch it on. An empty document gives false.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Boolean,
    examples: &[
        Example::of("has_javascript('Please enable JavaScript.')", "true"),
        Example::of("has_javascript('a java script')", "false"),
        Example::of("has_javascript('')", "false"),
        Example::of("has_javascript(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.05),
    cpu: Cpu::test(|_| Needs::TEXT, |doc, _| scan::contains_ignoring_ascii_case(doc.text(), "javascript")),
    gpu: Gpu::statistic(include_str!("../../../kernels/quality/has_javascript.cu")).and_instructions_per_byte(25.0),
};
