//! `has_url_with(text, part)`: whether an address holds a string.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "has_url_with",
    family: Family::Quality,
    summary: "whether one of the web addresses in the document contains a string",
    details: "Addresses are those of `url_ratio`; case matters. NeMo's PornographicUrlsFilter drops documents with \
              `porn` in one. An empty document gives false.",
    params: &[Param::text("text", "the document"), Param::text("part", "the string")],
    returns: Returns::Boolean,
    examples: &[
        Example::of("has_url_with('go to https://spam.com/x', 'spam')", "true"),
        Example::of("has_url_with('spam https://a.com', 'spam')", "false"),
        Example::of("has_url_with('', 'spam')", "false"),
        Example::of("has_url_with(NULL, 'spam')", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.05),
    cpu: Cpu::test(|_| Needs::TEXT, |doc, args| scan::urls(doc.text()).any(|url| url.contains(args.text("part")))),
    gpu: Gpu::statistic(include_str!("../../../kernels/quality/has_url_with.cu")).and_instructions_per_byte(30.0),
};
