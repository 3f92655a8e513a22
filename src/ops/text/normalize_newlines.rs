//! `normalize_newlines(text, max => 2)`: one kind of line end, and not too many of them.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "normalize_newlines",
    family: Family::Text,
    summary: "every line end becomes a line feed, and no more than `max` of them follow each other",
    details: "CR LF and a lone CR become LF; then each run of more than `max` line feeds is cut to `max`. With the \
              default, paragraphs stay apart by one blank line.",
    params: &[
        Param::text("text", "the document"),
        Param::int("max", "line feeds that may follow each other").at_least(1).default(Literal::Int(2)),
    ],
    returns: Returns::Utf8,
    examples: &[
        Example::of(r"normalize_newlines(E'a\r\nb\rc')", r"'a\nb\nc'"),
        Example::of(r"normalize_newlines(E'a\n\n\n\nb')", r"'a\n\nb'"),
        Example::of(r"normalize_newlines(E'a\n\nb', max => 1)", r"'a\nb'"),
        Example::of("normalize_newlines(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(1.5), // estimate
    cpu: Cpu::Text(|text, args| normalize_newlines(text, args.count("max"))),
    gpu: Gpu::NOT_YET,
};

fn normalize_newlines(text: &str, max: usize) -> Cow<'_, str> {
    if !needs_change(text, max) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut run = 0;
    let mut rest = text;
    while let Some(at) = memchr::memchr2(b'\n', b'\r', rest.as_bytes()) {
        if at > 0 {
            out.push_str(&rest[..at]);
            run = 0;
        }
        let end = if rest[at..].starts_with("\r\n") { at + 2 } else { at + 1 };
        if run < max {
            out.push('\n');
        }
        run += 1;
        rest = &rest[end..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Whether there is a carriage return or a run of more than `max` line feeds.
fn needs_change(text: &str, max: usize) -> bool {
    let (mut run, mut next) = (0, 0);
    memchr::memchr2_iter(b'\n', b'\r', text.as_bytes()).any(|at| {
        run = if at == next { run + 1 } else { 1 };
        next = at + 1;
        run > max || text.as_bytes()[at] == b'\r'
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clean_text_is_not_copied() {
        assert!(matches!(normalize_newlines("\n\na\n\nb\n", 2), Cow::Borrowed(_)));
        assert!(matches!(normalize_newlines("\n\n\na", 2), Cow::Owned(_)));
    }
}
