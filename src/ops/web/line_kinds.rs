//! The ways to cut a document into lines that the recipes use, as one option of the operators that count lines.

use crate::ops::prelude::*;

/// The option `lines`; `default` is one of [`KINDS`].
pub(super) const fn lines_option(default: &'static str) -> Param {
    Param::choice("lines", "how the document is cut into lines", KINDS).default(Literal::Text(default))
}

/// What `details` say about the option.
macro_rules! about_lines {
    () => {
        "\n\n`lines` is how the document is cut: `all` at each line feed; `merged` at each run of line feeds; `solid` at \
         line feeds, without lines of white space; `crlf` at LF or CR LF, without empty lines; `any_break` at every \
         Unicode line break, as Python's `splitlines()`."
    };
}
pub(super) use about_lines;

const KINDS: &[&str] = &["all", "merged", "solid", "crlf", "any_break"];

/// The parts of a document that the option asks for.
pub(super) fn needs(args: &Args) -> Needs {
    if args.text("lines") == "any_break" { Needs::SPLIT_LINES } else { Needs::LINES }
}

/// Calls `visit` with each line, and gives the number of lines.
pub(super) fn for_each_line<'t>(doc: &Doc<'t>, args: &Args, mut visit: impl FnMut(&'t str)) -> usize {
    let text = doc.text();
    let mut n_lines = 0;
    let mut count = |line| {
        n_lines += 1;
        visit(line);
    };
    match args.text("lines") {
        "any_break" => doc.split_lines().iter(text).for_each(count),
        "merged" => {
            let last = doc.lines().spans.len().saturating_sub(1);
            let lines = doc.lines().iter(text).enumerate();
            // Only at the ends of the document can a run leave an empty piece.
            lines.filter(|(i, line)| !line.is_empty() || *i == 0 || *i == last).for_each(|(_, line)| count(line));
        }
        "solid" => doc.lines().iter(text).filter(|line| !is_blank(line)).for_each(count),
        "crlf" => {
            let lines = doc.lines().iter(text).map(|line| line.strip_suffix('\r').unwrap_or(line));
            lines.filter(|line| !line.is_empty()).for_each(count);
        }
        _ => doc.lines().iter(text).for_each(count),
    }
    n_lines
}

/// Whether a line is empty or white space.
pub(super) fn is_blank(line: &str) -> bool {
    match line.as_bytes().first() {
        None => true,
        // Most lines begin with a letter.
        Some(first) if first.is_ascii_graphic() => false,
        Some(_) => line.chars().all(scan::is_space),
    }
}

/// The line without white space at its ends.
pub(super) fn trim(line: &str) -> &str {
    line.trim_matches(scan::is_space)
}
