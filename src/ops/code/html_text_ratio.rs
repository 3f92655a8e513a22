//! `html_text_ratio(text, min_chars => 0)`: the share of an HTML document that a reader sees.

use super::html;
use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "html_text_ratio",
    family: Family::Code,
    summary: "share of an HTML document that is visible text; 0 if there is less than `min_chars` of it",
    details: "characters of `html_text(text)` / characters; 0 if `html_text` has fewer than `min_chars` characters. An empty \
              document gives 0. NeMo Curator's HTMLBoilerplateFilter has 100 for `min_chars` and keeps a document from \
              0.2 on.",
    params: &[
        Param::text("text", "the document"),
        Param::int("min_chars", "visible characters that a document must have").at_least(0).default(Literal::Int(0)),
    ],
    returns: Returns::Float64,
    examples: &[
        Example::of("html_text_ratio('<b>four</b>')", "0.36363636363636365"),
        Example::of("html_text_ratio('<b>four</b>', min_chars => 100)", "0.0"),
        Example::of("html_text_ratio('')", "0.0"),
        Example::of("html_text_ratio(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(2.0),
    cpu: Cpu::Float(|text, args| {
        let n_visible = html::visible_text(text).chars().count();
        if n_visible < args.count("min_chars") { 0.0 } else { scan::ratio(n_visible, text.chars().count()) }
    }),
    gpu: Gpu::No("elements open and close in order"),
};
