//! The options that the operators on lines share: which lines there are, and what their characters are divided by.

use crate::ops::Repeats;
use crate::ops::prelude::*;

/// Which lines a document has.
pub(super) const fn line_option(default: &'static str) -> Param {
    let doc = "which lines there are: all, with runs of line feeds merged, not empty, or not blank";
    Param::choice("lines", doc, &["all", "merged", "filled", "solid"]).default(Literal::Text(default))
}

/// The lines chosen. Needs [`Needs::LINE_REPEATS`].
pub(super) fn lines_of(doc: &Doc, args: &Args) -> Repeats {
    let lines = doc.line_repeats();
    match args.text("lines") {
        "solid" => lines.solid,
        "filled" => lines.filled(),
        "merged" => lines.merged(doc.text()),
        _ => lines.all(),
    }
}

/// What the characters of lines are divided by.
pub(super) const fn per_option(default: &'static str) -> Param {
    let doc = "whose characters to divide by: the text's, those that are no line feeds, the lines', or the words'";
    Param::choice("per", doc, &["text", "unbroken", "lines", "words"]).default(Literal::Text(default))
}

/// The parts that [`per_of`] and [`lines_of`] read.
pub(super) fn per_needs(args: &Args) -> Needs {
    match args.text("per") {
        "words" => Needs::LINE_REPEATS.and(Needs::WORDS),
        _ => Needs::LINE_REPEATS,
    }
}

/// The number chosen; `lines` are the lines chosen.
pub(super) fn per_of(doc: &Doc, args: &Args, lines: Repeats) -> usize {
    match args.text("per") {
        "unbroken" => doc.line_repeats().all().chars,
        "lines" => lines.chars,
        "words" => doc.words().n_chars.max(1),
        _ => doc.n_chars(),
    }
}
