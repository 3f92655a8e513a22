//! Items to lines: where to break, how far to indent.
//!
//! A line breaks where it must (a verb begins, a `--` comment ends) and, if it is longer than [`WIDTH`], at the
//! outermost break points it has. That depends on the tokens alone, not on the lines they came in, so formatting
//! twice is formatting once.

use super::item::{Break, Comment, Item};

/// The longest line that is not broken, in characters. A comment at its end does not count.
const WIDTH: usize = 100;
/// What the verbs of a pipeline are indented by.
const VERB_INDENT: usize = 2;
/// What the rest of a broken line is indented by.
const MORE_INDENT: usize = 4;

/// The lines of a statement.
pub(super) fn statement(items: Vec<Item>) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = items.as_slice();
    let mut indent = 0;
    while !rest.is_empty() {
        // Comments on lines of their own before a verb are indented with the verb.
        let next_verb = rest.iter().enumerate().skip(1).find(|(_, item)| item.starts_verb).map(|(at, _)| at);
        let end = next_verb.map_or(rest.len(), |verb| {
            let above = rest[..verb].iter().rev().take_while(|item| item.comment == Some(Comment::OwnLine)).count();
            (verb - above).max(1)
        });
        let (piece, after) = rest.split_at(end);
        forced_lines(piece, indent, &mut lines);
        rest = after;
        indent = VERB_INDENT;
    }
    lines
}

/// Breaks a piece where comments end lines, then lays out what is between.
fn forced_lines(piece: &[Item], indent: usize, lines: &mut Vec<String>) {
    let mut started = false;
    let mut run: Vec<&Item> = Vec::new();
    for item in piece {
        let here = if started { indent + MORE_INDENT } else { indent };
        match item.comment {
            Some(Comment::OwnLine) => {
                started |= flush(&mut run, here, lines);
                let here = if started { indent + MORE_INDENT } else { indent };
                lines.push(format!("{:here$}{}", "", item.text));
            }
            Some(Comment::Trailing) => {
                if run.is_empty() {
                    // Behind a `;` or another comment: it stays on that line.
                    append(lines, here, &item.text);
                } else {
                    started |= flush(&mut run, here, lines);
                    append(lines, here, &item.text);
                }
            }
            _ => run.push(item),
        }
    }
    let here = if started { indent + MORE_INDENT } else { indent };
    flush(&mut run, here, lines);
}

fn append(lines: &mut Vec<String>, indent: usize, comment: &str) {
    match lines.last_mut() {
        Some(line) => {
            line.push(' ');
            line.push_str(comment);
        }
        None => lines.push(format!("{:indent$}{comment}", "")),
    }
}

fn flush(run: &mut Vec<&Item>, indent: usize, lines: &mut Vec<String>) -> bool {
    if run.is_empty() {
        return false;
    }
    fit(run, indent, lines);
    run.clear();
    true
}

/// One line if it fits, else broken at its outermost break points, each part again.
fn fit(run: &[&Item], indent: usize, lines: &mut Vec<String>) {
    let breaks = run.iter().skip(1).filter_map(|item| item.break_before);
    let outermost: Option<(usize, Break)> = if width(run) + indent > WIDTH { breaks.min() } else { None };
    let Some(outermost) = outermost else {
        lines.push(line(run, indent));
        return;
    };
    let mut start = 0;
    for at in 1..=run.len() {
        if at == run.len() || run[at].break_before == Some(outermost) {
            let here = if start == 0 { indent } else { indent + MORE_INDENT };
            fit(&run[start..at], here, lines);
            start = at;
        }
    }
}

fn width(run: &[&Item]) -> usize {
    run.iter().map(|item| item.text.chars().count() + usize::from(item.space_before)).sum()
}

fn line(run: &[&Item], indent: usize) -> String {
    let mut out = " ".repeat(indent);
    for (at, item) in run.iter().enumerate() {
        if at > 0 && item.space_before {
            out.push(' ');
        }
        out.push_str(&item.text);
    }
    out
}
