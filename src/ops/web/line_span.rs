//! Adding up lines that a rule marks: their number, or the characters they take with their line feeds.

use crate::ops::Line;
use crate::ops::prelude::*;

/// What is added up.
pub(super) const COUNT_OPTION: Param =
    Param::choice("count", "what is added up", &["lines", "chars", "lower_chars"]).default(Literal::Text("lines"));

/// The sum over the lines, cut at line feeds, that satisfy `is_marked`.
pub(super) fn sum_lines(doc: &Doc, args: &Args, is_marked: impl Fn(Line) -> bool) -> i64 {
    let text = doc.text();
    let size: fn(&str, Line) -> usize = match args.text("count") {
        "chars" => |_, line| line.n_chars as usize,
        // The only character that `lower()` makes longer.
        "lower_chars" => |text, line| line.n_chars as usize + line.of(text).matches('İ').count(),
        _ => |_, _| 1,
    };
    let with_line_feed = usize::from(args.text("count") != "lines");
    let lines = &doc.lines().all;
    let last = lines.len().saturating_sub(1);
    let marked = lines.iter().enumerate().filter(|(_, line)| is_marked(**line));
    marked.map(|(i, line)| size(text, *line) + if i == last { 0 } else { with_line_feed }).sum::<usize>() as i64
}
