//! Adding up lines that a rule marks: their number, or the characters they take with their line feeds.

use crate::ops::Line;
use crate::ops::prelude::*;

/// What is added up.
pub(super) const COUNT_OPTION: Param =
    Param::choice("count", "what is added up", &["lines", "chars", "lower_chars"]).default(Literal::Text("lines"));

/// The sum over the lines, cut at line feeds, that satisfy `is_marked`.
pub(super) fn sum_lines(doc: &Doc, args: &Args, is_marked: impl Fn(Line) -> bool) -> i64 {
    let lines = &doc.lines().all;
    if args.text("count") == "lines" {
        return lines.iter().map(|line| i64::from(is_marked(*line))).sum();
    }
    // The only character that `lower()` makes longer.
    let n_longer = |line: &Line| match args.text("count") {
        "lower_chars" => line.of(doc.text()).matches('İ').count(),
        _ => 0,
    };
    let last = lines.len().saturating_sub(1);
    let marked = lines.iter().enumerate().filter(|(_, line)| is_marked(**line));
    marked.map(|(i, line)| line.n_chars as usize + n_longer(line) + usize::from(i != last)).sum::<usize>() as i64
}
