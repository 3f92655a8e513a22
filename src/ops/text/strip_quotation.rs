//! `strip_quotation(text)`: the quotation marks around a whole document are deleted.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "strip_quotation",
    family: Family::Text,
    summary: "the double quotation marks around a whole document are deleted",
    details: "The document must be longer than two characters and begin and end with `\"`. If it has several lines and \
              the first one ends with `\"`, then the marks are taken for those of single lines, and the document stays \
              as it is. As NeMo Curator's QuotationRemover, which models that write training data call for. An empty \
              document stays empty.",
    params: &[Param::text("text", "the document")],
    returns: Returns::Utf8,
    examples: &[
        Example::of(r#"strip_quotation('"Sure."')"#, "'Sure.'"),
        Example::of(r#"strip_quotation(E'"a"\n"b"')"#, r#"'"a"\n"b"'"#),
        Example::of(r#"strip_quotation(E'"a\nb"')"#, r"'a\nb'"),
        Example::of(r#"strip_quotation('""')"#, r#"'""'"#),
        Example::of("strip_quotation('')", "''"),
        Example::of("strip_quotation(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.1), // a copy
    cpu: Cpu::Text(|text, _| Cow::Borrowed(strip_quotation(text))),
    gpu: Gpu::NOT_YET,
};

fn strip_quotation(text: &str) -> &str {
    let Some(inside) = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) else { return text };
    let first_line = text.split_once('\n').map(|(first_line, _)| first_line);
    match first_line {
        Some(line) if line.ends_with('"') => text,
        _ if inside.is_empty() => text,
        _ => inside,
    }
}
