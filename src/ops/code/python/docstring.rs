//! Docstrings without their indentation, as Python's `inspect.cleandoc` gives them.

use crate::ops::scan;

/// The characters of a cleaned docstring.
pub(super) fn cleaned_chars(text: &str) -> usize {
    let expanded = expand_tabs(text);
    let lines: Vec<&str> = expanded.split('\n').collect();
    let trimmed = |line: &str| line.trim_start_matches(scan::is_space).chars().count();
    let n_chars: Vec<usize> = lines.iter().map(|line| line.chars().count()).collect();
    let indents = lines.iter().zip(&n_chars).skip(1).filter_map(|(line, n)| match trimmed(line) {
        0 => None,
        content => Some(n - content),
    });
    let margin = indents.min().unwrap_or(0);
    let mut left: Vec<usize> = n_chars.iter().map(|n| n.saturating_sub(margin)).collect();
    if let (Some(first), Some(line)) = (left.first_mut(), lines.first()) {
        *first = trimmed(line);
    }
    let Some(first) = left.iter().position(|n| *n > 0) else { return 0 };
    let last = left.iter().rposition(|n| *n > 0).unwrap_or(first);
    left[first..=last].iter().sum::<usize>() + (last - first)
}

/// Tabs become spaces up to the next multiple of eight.
fn expand_tabs(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut column = 0;
    for c in text.chars() {
        match c {
            '\t' => {
                let n_spaces = 8 - column % 8;
                out.extend(std::iter::repeat_n(' ', n_spaces));
                column += n_spaces;
            }
            _ => {
                out.push(c);
                column = if matches!(c, '\n' | '\r') { 0 } else { column + 1 };
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indentation_and_blank_ends_do_not_count() {
        for (text, expected) in [
            ("", 0),
            ("  a  ", 3),
            ("a\n\t  b\n\t\tc", "a\nb\n      c".len()),
            ("\n    a\n\n      b\n    ", "a\n\n  b".len()),
            ("a\n  ", "a\n  ".len()),
            ("\n \n", "\n ".len() - 1),
        ] {
            assert_eq!(cleaned_chars(text), expected, "{text:?}");
        }
    }
}
