//! `has_lorem_ipsum(text)`: whether the document holds filler text.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "has_lorem_ipsum",
    family: Family::Quality,
    summary: "whether the document contains \"lorem ipsum\" in any case",
    details: "One space between the two words. C4 drops such documents. An empty document gives false.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Boolean,
    examples: &[
        Example::of("has_lorem_ipsum('Lorem ipsum dolor')", "true"),
        Example::of("has_lorem_ipsum('real prose')", "false"),
        Example::of("has_lorem_ipsum('')", "false"),
        Example::of("has_lorem_ipsum(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.05),
    cpu: Cpu::test(|_| Needs::TEXT, |doc, _| scan::contains_ignoring_ascii_case(doc.text(), "lorem ipsum")),
    gpu: Gpu::statistic(include_str!("../../../kernels/quality/has_lorem_ipsum.cu")).and_instructions_per_byte(30.0),
};
