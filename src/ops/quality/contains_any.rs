//! `contains_any(text, patterns)`: whether one of several strings occurs.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "contains_any",
    family: Family::Quality,
    summary: "whether the document contains one of the given strings",
    details: "Plain strings, not regular expressions. `ignore_case` is about the letters A to Z. An empty list gives \
              false; an empty string is in every document.",
    params: &[
        Param::text("text", "the document"),
        Param::text_list("patterns", "the strings to look for"),
        Param::bool("ignore_case", "take A for a").default(Literal::Bool(true)),
    ],
    returns: Returns::Boolean,
    examples: &[
        Example::of("contains_any('We use Cookies', ['privacy policy', 'use cookies'])", "true"),
        Example::of("contains_any('We use Cookies', ['use cookies'], ignore_case => false)", "false"),
        Example::of("contains_any('', ['a'])", "false"),
        Example::of("contains_any(NULL, ['a'])", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.3), // for three patterns
    cpu: Cpu::test(
        |_| Needs::TEXT,
        |doc, args| {
            let ignore_case = args.bool("ignore_case");
            args.texts("patterns").iter().any(|pattern| {
                if ignore_case {
                    scan::contains_ignoring_ascii_case(doc.text(), pattern)
                } else {
                    doc.text().contains(pattern.as_str())
                }
            })
        },
    ),
    gpu: Gpu::statistic(include_str!("../../../kernels/quality/contains_any.cu")).and_instructions_per_byte(190.0),
};
