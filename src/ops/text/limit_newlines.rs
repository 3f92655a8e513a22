//! `limit_newlines(text, max => 2)`: not too many line ends in a row, each left as it is written.

use crate::ops::prelude::*;

pub(super) static SPEC: OpSpec = OpSpec {
    name: "limit_newlines",
    family: Family::Text,
    summary: "no more than `max` line feeds, or CR LF pairs, follow each other; the kind of line end is kept",
    details: "First each run of more than `max` line feeds is cut to `max`, then each run of more than `max` CR LF \
              pairs. With the default, this is NeMo Curator's NewlineNormalizer. `normalize_newlines` also makes all \
              line ends alike. An empty document stays empty.",
    params: &[
        Param::text("text", "the document"),
        Param::int("max", "line ends that may follow each other").at_least(1).default(Literal::Int(2)),
    ],
    returns: Returns::Utf8,
    examples: &[
        Example::of(r"limit_newlines(E'a\n\n\n\nb')", r"'a\n\nb'"),
        Example::of(r"limit_newlines(E'a\r\n\r\n\r\nb')", r"'a\r\n\r\nb'"),
        Example::of(r"limit_newlines(E'a\n\nb', max => 1)", r"'a\nb'"),
        Example::of("limit_newlines('')", "''"),
        Example::of("limit_newlines(NULL)", "NULL"),
    ],
    effects: Effects::PURE,
    cost: Cost::ns_per_byte(0.3), // measured on clean text
    cpu: Cpu::Text(|text, args| limit_newlines(text, args.count("max"))),
    gpu: Gpu::NOT_YET,
};

fn limit_newlines(text: &str, max: usize) -> Cow<'_, str> {
    match cut_runs(text, "\n", max) {
        Cow::Borrowed(text) => cut_runs(text, "\r\n", max),
        Cow::Owned(text) => Cow::Owned(cut_runs(&text, "\r\n", max).into_owned()),
    }
}

/// Cuts each run of more than `max` times `unit`, which ends in a line feed, to `max` times.
fn cut_runs<'a>(text: &'a str, unit: &str, max: usize) -> Cow<'a, str> {
    let mut out = String::new();
    let (mut copied, mut n_run, mut run_end) = (0, 0_usize, 0);
    for at in memchr::memmem::find_iter(text.as_bytes(), unit) {
        n_run = if at == run_end && n_run > 0 { n_run + 1 } else { 1 };
        run_end = at + unit.len();
        if n_run > max {
            out.push_str(&text[copied..at]);
            copied = run_end;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_each_kind_are_cut_apart() {
        for (text, expected) in [
            ("\n\n\n", "\n\n"),
            ("\r\n\n\n\n", "\r\n\n"),
            ("\r\n\n\n\r\n\r\n\r\n", "\r\n\n\r\n\r\n"),
            ("\r\r\r\n\n", "\r\r\r\n\n"),
            ("a\n\n\nb\n\n\n\nc", "a\n\nb\n\nc"),
            ("\n\na", "\n\na"),
        ] {
            assert_eq!(limit_newlines(text, 2), expected, "{text:?}");
        }
        assert!(matches!(limit_newlines("a\n\nb", 2), Cow::Borrowed(_)));
    }
}
