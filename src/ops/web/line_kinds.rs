//! The ways to cut a document into lines that the recipes use, as one option of the operators that count lines.

use crate::ops::Line;
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
pub(super) fn for_each_line(doc: &Doc, args: &Args, mut visit: impl FnMut(Line)) -> usize {
    let mut n_lines = 0;
    let mut count = |line: Line| {
        n_lines += 1;
        visit(line);
    };
    match args.text("lines") {
        "any_break" => doc.split_lines().iter().copied().for_each(count),
        "merged" => {
            let lines = &doc.lines().all;
            let is_end = |i: usize| i == 0 || i + 1 == lines.len();
            // Only at the ends of the document can a run leave an empty piece.
            let pieces = lines.iter().enumerate().filter(|(i, line)| line.start < line.end || is_end(*i));
            pieces.for_each(|(_, line)| count(*line));
        }
        "solid" => doc.lines().full().for_each(count),
        "crlf" => {
            let lines = doc.lines().all.iter().map(|line| without_carriage_return(doc.text(), *line));
            lines.filter(|line| line.start < line.end).for_each(count);
        }
        _ => doc.lines().all.iter().copied().for_each(count),
    }
    n_lines
}

fn without_carriage_return(text: &str, line: Line) -> Line {
    if line.of(text).ends_with('\r') { Line { end: line.end - 1, n_chars: line.n_chars - 1, ..line } } else { line }
}
