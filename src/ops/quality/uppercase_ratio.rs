//! `uppercase_ratio(text)`: the share of letters that are capitals.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "uppercase_ratio",
    family: Family::Quality,
    summary: "share of letters that are upper-case",
    details: "(characters with the Unicode property `Uppercase`) / (characters with `Alphabetic`). A document without \
              letters gives 0. Scripts without case count as letters that are not upper-case.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Float64,
    examples: &[
        Example::of("uppercase_ratio('BUY now!')", "0.5"),
        Example::of("uppercase_ratio('123')", "0.0"),
        Example::of("uppercase_ratio('')", "0.0"),
        Example::of("uppercase_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(1.0), // estimate
    cpu: Cpu::Float(|text, _| {
        let n_letters = text.chars().filter(|c| c.is_alphabetic()).count();
        let n_capitals = text.chars().filter(|c| c.is_uppercase()).count();
        if n_letters == 0 { 0.0 } else { n_capitals as f64 / n_letters as f64 }
    }),
    gpu: Gpu::NOT_YET,
};
