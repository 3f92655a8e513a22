//! Rows as a table that fits its window: long cells are shortened, columns in the middle folded away.
//!
//! Without a window (a pipe, a file) every column is there, and cells are as long as they came.

use unicode_width::UnicodeWidthStr;

/// A column that is to be read needs this much.
const LEAST_CELL: usize = 8;

/// A table as text, and the columns that had no room.
pub struct Table {
    /// The table, with its last line feed.
    pub text: String,
    /// The names of the columns that it leaves out.
    pub folded: Vec<String>,
}

/// Draws a table of `names` over `rows`. A `width` is that of the window.
pub fn draw(names: &[String], rows: &[Vec<String>], width: Option<usize>) -> Table {
    let widest = |column: usize| {
        let cells = rows.iter().map(|row| row.get(column).map_or(0, |cell| cell.width()));
        cells.chain([names[column].width()]).max().unwrap_or(0)
    };
    let wanted: Vec<usize> = (0..names.len()).map(widest).collect();
    let Layout { columns, most } = layout(&wanted, width);
    let widths: Vec<usize> = columns.iter().map(|column| column.map_or(1, |column| wanted[column].min(most))).collect();
    let rule: String = widths.iter().map(|width| format!("+{}", "-".repeat(width + 2))).collect::<String>() + "+\n";
    let line = |cell: &dyn Fn(usize) -> String| {
        let cells = columns.iter().zip(&widths).map(|(column, width)| {
            let cell = column.map_or("…".to_string(), cell);
            let shown = shortened(&cell, *width);
            let blanks = " ".repeat(width.saturating_sub(shown.width()));
            format!("| {shown}{blanks} ")
        });
        cells.collect::<String>() + "|\n"
    };
    let mut text = format!("{rule}{}{rule}", line(&|column| names[column].clone()));
    for row in rows {
        text += &line(&|column| row.get(column).cloned().unwrap_or_default());
    }
    if !rows.is_empty() {
        text += &rule;
    }
    let is_shown = |column: &usize| columns.contains(&Some(*column));
    let folded = (0..names.len()).filter(|column| !is_shown(column)).map(|column| names[column].clone()).collect();
    Table { text, folded }
}

/// Which columns are shown (`None`: here some are left out) and how wide a cell may be.
struct Layout {
    columns: Vec<Option<usize>>,
    most: usize,
}

fn layout(wanted: &[usize], width: Option<usize>) -> Layout {
    let all: Vec<Option<usize>> = (0..wanted.len()).map(Some).collect();
    let Some(width) = width else { return Layout { columns: all, most: usize::MAX } };
    if let Some(most) = fitting(wanted, &all, width) {
        return Layout { columns: all, most };
    }
    // The first columns say which row it is, the last ones what the query computed.
    for n_shown in (1..wanted.len()).rev() {
        let first = n_shown.div_ceil(2);
        let last = wanted.len() - (n_shown - first);
        let columns: Vec<Option<usize>> =
            (0..first).map(Some).chain([None]).chain((last..wanted.len()).map(Some)).collect();
        if let Some(most) = fitting(wanted, &columns, width) {
            return Layout { columns, most };
        }
    }
    Layout { columns: all, most: LEAST_CELL }
}

/// The widest that cells can be for these columns to fit; `None` if they would be too narrow to read.
fn fitting(wanted: &[usize], columns: &[Option<usize>], width: usize) -> Option<usize> {
    let frame = 3 * columns.len() + 1;
    let room = width.checked_sub(frame)?;
    let total =
        |most: usize| columns.iter().map(|column| column.map_or(1, |column| wanted[column].min(most))).sum::<usize>();
    let widest = columns.iter().flatten().map(|column| wanted[*column]).max().unwrap_or(0);
    if total(widest) <= room {
        return Some(widest.max(1));
    }
    (LEAST_CELL..widest).rev().find(|most| total(*most) <= room)
}

/// As much of a text as takes `width` columns, with `…` for the rest.
pub fn shortened(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_string();
    }
    let mut shown = String::new();
    for character in text.chars() {
        shown.push(character);
        if shown.width() + 1 > width {
            shown.pop();
            break;
        }
    }
    shown + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| text.to_string()).collect()
    }

    fn widths(text: &str) -> Vec<usize> {
        text.lines().map(|line| line.width()).collect()
    }

    #[test]
    fn without_a_window_everything_is_shown() {
        let table = draw(&strings(&["id", "text"]), &[strings(&["1", &"x".repeat(100)])], None);
        assert!(table.text.contains(&"x".repeat(100)) && table.folded.is_empty());
        let small = draw(&strings(&["id", "t"]), &[strings(&["1", "日本"]), strings(&["22", "ab"])], None);
        let expected = "+----+------+\n| id | t    |\n+----+------+\n| 1  | 日本 |\n| 22 | ab   |\n+----+------+\n";
        assert_eq!(small.text, expected);
    }

    #[test]
    fn long_cells_are_shortened_until_the_table_fits() {
        let row = strings(&["1", &"long text ".repeat(20), "https://example.org/a/very/long/path/to/a/page"]);
        let table = draw(&strings(&["id", "text", "url"]), &[row], Some(60));
        assert!(widths(&table.text).iter().all(|width| *width <= 60), "{}", table.text);
        // The short column keeps its width, the long ones share what is left.
        assert!(table.text.contains("| 1  | long text") && table.text.contains('…'), "{}", table.text);
        assert!(table.folded.is_empty());
    }

    #[test]
    fn columns_in_the_middle_are_folded_when_cells_would_be_too_narrow() {
        let names: Vec<String> = (0..20).map(|n| format!("column_{n}")).collect();
        let row: Vec<String> = (0..20).map(|n| format!("value number {n}")).collect();
        for width in [40, 80, 120] {
            let table = draw(&names, std::slice::from_ref(&row), Some(width));
            assert!(widths(&table.text).iter().all(|line| *line <= width), "{}", table.text);
            assert!(table.text.contains("| column") && table.text.contains("| … |"), "{}", table.text);
            assert!(
                !table.folded.contains(&"column_0".to_string()) && !table.folded.contains(&"column_19".to_string())
            );
            assert!(table.folded.contains(&"column_10".to_string()), "{:?}", table.folded);
        }
    }

    #[test]
    fn a_shortened_text_never_takes_more_than_its_width() {
        assert_eq!(shortened("abcdef", 6), "abcdef");
        assert_eq!(shortened("abcdef", 4), "abc…");
        assert_eq!(shortened("日本語の", 6), "日本…");
    }
}
