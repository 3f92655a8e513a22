//! `collapse_whitespace(text, keep_newlines => false)`: single spaces.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "collapse_whitespace",
    family: Family::Text,
    summary: "each run of white space becomes one space; none is left at either end",
    details: "With `keep_newlines`, a run that holds a line feed becomes one line feed instead.",
    params: &[
        Param::text("text", "the document"),
        Param::bool("keep_newlines", "keep the document's lines apart").default(Literal::Bool(false)),
    ],
    returns: Returns::Utf8,
    examples: &[
        Example::of(r"collapse_whitespace(E'  a \t b\n\nc ')", "'a b c'"),
        Example::of(r"collapse_whitespace(E'a  b \n\n c', keep_newlines => true)", r"'a b\nc'"),
        Example::of("collapse_whitespace('   ')", "''"),
        Example::of("collapse_whitespace(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(2.0), // estimate
    cpu: Cpu::Text(|text, args| Cow::Owned(collapse_whitespace(text, args.bool("keep_newlines")))),
    gpu: Gpu::NOT_YET,
};

fn collapse_whitespace(text: &str, keep_newlines: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.trim_matches(scan::is_space);
    while let Some(space) = rest.find(scan::is_space) {
        out.push_str(&rest[..space]);
        let after = rest[space..].trim_start_matches(scan::is_space);
        let run = &rest[space..rest.len() - after.len()];
        out.push(if keep_newlines && run.contains('\n') { '\n' } else { ' ' });
        rest = after;
    }
    out.push_str(rest);
    out
}
