//! `trim_lines(text, drop_empty => false)`: no white space at the ends of lines.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "trim_lines",
    family: Family::Text,
    summary: "white space at both ends of every line is deleted",
    details: "Lines are what line feeds separate; a carriage return is white space. With `drop_empty`, lines of which \
              nothing is left are deleted too. An empty document stays empty.",
    params: &[
        Param::text("text", "the document"),
        Param::bool("drop_empty", "delete lines that are empty or white space").default(Literal::Bool(false)),
    ],
    returns: Returns::Utf8,
    examples: &[
        Example::of(r"trim_lines(E'  a b \r\n\n\tc')", r"'a b\n\nc'"),
        Example::of(r"trim_lines(E'a\n \n\nb\n', drop_empty => true)", r"'a\nb'"),
        Example::of("trim_lines('')", "''"),
        Example::of("trim_lines(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.7), // measured on mixed documents
    cpu: Cpu::Text(|text, args| Cow::Owned(trim_lines(text, args.bool("drop_empty")))),
    gpu: Gpu::NOT_YET,
};

fn trim_lines(text: &str, drop_empty: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let lines = text.split('\n').map(|line| line.trim_matches(scan::is_space));
    let mut is_first = true;
    for line in lines.filter(|line| !drop_empty || !line.is_empty()) {
        if !is_first {
            out.push('\n');
        }
        is_first = false;
        out.push_str(line);
    }
    out
}
