//! Rows as text: table, vertical, JSON Lines, CSV, Markdown, raw.
//!
//! JSON, CSV and raw are data: complete, streamed batch by batch. Tables and Markdown are for people: long values are
//! cut, line ends and control characters are shown as one visible character (a document must not move the
//! cursor). A table needs the widths of its columns, so it holds its rows, up to a limit; drawing it is in `table.rs`.
//! Vertical shows a document as a whole, with its lines.

use super::table;
use super::terminal::stdout_error;
use crate::diag::is_obeyed;
use crate::sinks::{json_values, write_json_lines};
use crate::sources::EXTRA_COLUMN;
use crate::{Result, bug};
use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::datatypes::{Field, FieldRef, SchemaRef};
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use std::fmt::Write as _;
use std::io::Write;
use unicode_width::UnicodeWidthStr;

/// How rows are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Format {
    /// Aligned columns, for people: long values are cut, and a table fits its window.
    #[default]
    Table,
    /// One value a line, whole documents with their lines.
    Vertical,
    /// One JSON object a line.
    Json,
    /// Comma-separated, with a header; nested values as JSON.
    Csv,
    /// A Markdown table: long values are cut.
    Markdown,
    /// The values as they are, with tabs between them and no header.
    Raw,
}

/// The longest value shown in a table, in characters.
const CELL_CHARS: usize = 80;

/// Prints the batches of one result to `out`.
pub struct Printer<W: Write> {
    format: Format,
    schema: SchemaRef,
    out: W,
    max_rows: usize,
    /// The columns of the window that a table has to fit in.
    window: Option<usize>,
    /// Table rows, already as text.
    held: Vec<Vec<String>>,
    n_rows: usize,
    header_written: bool,
}

/// What a printer did.
#[derive(Debug, PartialEq)]
pub struct Printed {
    /// Rows of the result.
    pub n_rows: usize,
    /// Those of them that the table left out.
    pub n_hidden: usize,
    /// Columns that the window had no room for.
    pub folded: Vec<String>,
}

impl<W: Write> Printer<W> {
    /// A printer for rows of `schema`. `max_rows` limits what is for people; a table fits a `window` of so many columns.
    pub fn new(format: Format, schema: SchemaRef, out: W, max_rows: usize, window: Option<usize>) -> Self {
        Self { format, schema, out, max_rows, window, held: vec![], n_rows: 0, header_written: false }
    }

    fn is_limited(&self) -> bool {
        matches!(self.format, Format::Table | Format::Vertical)
    }

    /// Takes the next rows; prints them, unless it is a table.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let shown = self.max_rows.saturating_sub(self.n_rows).min(batch.num_rows());
        self.n_rows += batch.num_rows();
        if self.format == Format::Table {
            let batch = batch.slice(0, shown);
            let most = self.window.map_or(CELL_CHARS, |columns| columns.max(CELL_CHARS));
            let columns = batch.columns().iter().map(|column| shown_values(column, "NULL", most));
            let columns = columns.collect::<Result<Vec<_>>>()?;
            self.held.extend((0..shown).map(|row| columns.iter().map(|column| column[row].clone()).collect()));
            return Ok(());
        }
        let mut text = self.header();
        match self.format {
            Format::Json => write_json_lines(batch, &mut text)?,
            Format::Csv => write_csv(batch, &mut text)?,
            Format::Markdown => write_markdown(batch, &mut text)?,
            Format::Vertical => write_vertical(&batch.slice(0, shown), self.n_rows - batch.num_rows(), &mut text)?,
            Format::Raw => write_raw(batch, &mut text)?,
            Format::Table => {}
        }
        self.emit(&text)
    }

    /// Prints what is left: the table, or the header of an empty result.
    pub fn finish(mut self) -> Result<Printed> {
        let (text, folded) = if self.format == Format::Table { self.table() } else { (self.header(), vec![]) };
        self.emit(&text)?;
        let n_hidden = if self.is_limited() { self.n_rows.saturating_sub(self.max_rows) } else { 0 };
        Ok(Printed { n_rows: self.n_rows, n_hidden, folded })
    }

    fn emit(&mut self, text: &[u8]) -> Result<()> {
        self.out.write_all(text).and_then(|()| self.out.flush()).map_err(stdout_error)
    }

    fn header(&mut self) -> Vec<u8> {
        if std::mem::replace(&mut self.header_written, true) || self.schema.fields().is_empty() {
            return vec![];
        }
        let names = self.schema.fields().iter().map(|field| field.name().as_str());
        match self.format {
            Format::Csv => csv_line(names.map(|name| Some(name.as_bytes()))),
            Format::Markdown => {
                let rule = self.schema.fields().iter().map(|field| if is_number(field) { "---:" } else { "---" });
                let names: Vec<String> = names.map(|name| cut(name).replace('|', "\\|")).collect();
                let rule: Vec<&str> = rule.collect();
                format!("| {} |\n| {} |\n", names.join(" | "), rule.join(" | ")).into_bytes()
            }
            Format::Table | Format::Json | Format::Vertical | Format::Raw => vec![],
        }
    }

    fn table(&self) -> (Vec<u8>, Vec<String>) {
        if self.schema.fields().is_empty() {
            return (vec![], vec![]);
        }
        let mut names: Vec<String> = self.schema.fields().iter().map(|field| cut(field.name())).collect();
        let is_empty = |at: usize| self.held.iter().all(|row| row[at] == "NULL");
        if names.len() > 1 && names.last().is_some_and(|name| name == EXTRA_COLUMN) && is_empty(names.len() - 1) {
            // The reader gives it where it has not looked at all of a source; nothing was in it.
            names.pop();
        }
        let table = table::draw(&names, &self.held, self.window);
        (table.text.into_bytes(), table.folded)
    }
}

fn failed(error: ArrowError) -> crate::Error {
    bug!("printing rows: {error}")
}

fn shown_values(column: &ArrayRef, null: &str, most_chars: usize) -> Result<Vec<String>> {
    let options = FormatOptions::new().with_null(null);
    let formatter = ArrayFormatter::try_new(column.as_ref(), &options).map_err(failed)?;
    let values = (0..column.len()).map(|row| {
        let mut cell = Cell::of(most_chars);
        // A full cell refuses to take more, which ends the formatting early: not a failure.
        match formatter.value(row).write(&mut cell) {
            Err(error) if !cell.is_cut => Err(failed(error)),
            _ => Ok(cell.text),
        }
    });
    values.collect()
}

/// A name as a table shows it.
fn cut(text: &str) -> String {
    let mut cell = Cell::of(CELL_CHARS);
    let _ = cell.write_str(text);
    cell.text
}

/// Text of not too many characters, all of them visible.
struct Cell {
    most_chars: usize,
    text: String,
    n_chars: usize,
    is_cut: bool,
}

impl Cell {
    fn of(most_chars: usize) -> Self {
        Self { most_chars, text: String::new(), n_chars: 0, is_cut: false }
    }
}

impl std::fmt::Write for Cell {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for character in text.chars() {
            if self.n_chars == self.most_chars {
                self.text.pop();
                self.text.push('…');
                self.is_cut = true;
                return Err(std::fmt::Error);
            }
            self.text.push(match character {
                '\n' => '⏎',
                '\t' => '⇥',
                '\r' => '␍',
                other if is_obeyed(other) => '\u{fffd}',
                other => other,
            });
            self.n_chars += 1;
        }
        Ok(())
    }
}

fn is_number(field: &Field) -> bool {
    field.data_type().is_numeric()
}

fn write_markdown(batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
    let columns =
        batch.columns().iter().map(|column| shown_values(column, "", CELL_CHARS)).collect::<Result<Vec<_>>>()?;
    for row in 0..batch.num_rows() {
        let cells: Vec<String> = columns.iter().map(|column| column[row].replace('|', "\\|")).collect();
        out.extend_from_slice(format!("| {} |\n", cells.join(" | ")).as_bytes());
    }
    Ok(())
}

/// Each row as a block of its columns, whole values with their lines; `n_before` rows came before.
fn write_vertical(batch: &RecordBatch, n_before: usize, out: &mut Vec<u8>) -> Result<()> {
    let schema = batch.schema();
    let names: Vec<String> = schema.fields().iter().map(|field| cut(field.name())).collect();
    let width = names.iter().map(|name| name.width()).max().unwrap_or(0);
    let columns = batch.columns().iter().map(whole_values).collect::<Result<Vec<_>>>()?;
    for row in 0..batch.num_rows() {
        let title = format!("─[ row {} ]", n_before + row + 1);
        let rule = "─".repeat(40usize.saturating_sub(title.width()));
        out.extend_from_slice(format!("{title}{rule}\n").as_bytes());
        for (name, column) in names.iter().zip(&columns) {
            let blanks = " ".repeat(width - name.width());
            let mut lines = column[row].split('\n');
            out.extend_from_slice(format!("{name}{blanks}  {}\n", lines.next().unwrap_or_default()).as_bytes());
            for line in lines {
                out.extend_from_slice(format!("{}  {line}\n", " ".repeat(width)).as_bytes());
            }
        }
    }
    Ok(())
}

/// Values as they are, but for what would move the cursor.
fn whole_values(column: &ArrayRef) -> Result<Vec<String>> {
    let options = FormatOptions::new().with_null("NULL");
    let formatter = ArrayFormatter::try_new(column.as_ref(), &options).map_err(failed)?;
    let is_hidden = |character: char| is_obeyed(character) && !matches!(character, '\n' | '\t');
    let values = (0..column.len()).map(|row| {
        let value = formatter.value(row).try_to_string().map_err(failed)?;
        Ok(value.replace("\r\n", "\n").replace(is_hidden, "\u{fffd}"))
    });
    values.collect()
}

/// The values as they are: for other programs, or to see a document byte by byte.
fn write_raw(batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
    let schema = batch.schema();
    let columns = schema.fields().iter().zip(batch.columns()).map(|(field, column)| csv_values(field, column));
    let columns = columns.collect::<Result<Vec<_>>>()?;
    for row in 0..batch.num_rows() {
        for (index, column) in columns.iter().enumerate() {
            if index > 0 {
                out.push(b'\t');
            }
            out.extend_from_slice(column[row].as_deref().unwrap_or_default());
        }
        out.push(b'\n');
    }
    Ok(())
}

fn write_csv(batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
    let schema = batch.schema();
    let columns = schema.fields().iter().zip(batch.columns()).map(|(field, column)| csv_values(field, column));
    let columns = columns.collect::<Result<Vec<_>>>()?;
    for row in 0..batch.num_rows() {
        out.extend_from_slice(&csv_line(columns.iter().map(|column| column[row].as_deref())));
    }
    Ok(())
}

/// Flat values as they are, nested ones as JSON.
fn csv_values(field: &FieldRef, column: &ArrayRef) -> Result<Vec<Option<Vec<u8>>>> {
    let nulls = column.logical_nulls();
    let is_valid = |row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
    let values = if field.data_type().is_nested() { json_values(column.as_ref())? } else { flat_values(column)? };
    Ok(values.into_iter().enumerate().map(|(row, value)| Some(value).filter(|_| is_valid(row))).collect())
}

fn flat_values(column: &ArrayRef) -> Result<Vec<Vec<u8>>> {
    let options = FormatOptions::new();
    let formatter = ArrayFormatter::try_new(column.as_ref(), &options).map_err(failed)?;
    (0..column.len()).map(|row| formatter.value(row).try_to_string().map(String::into_bytes).map_err(failed)).collect()
}

/// As `sinks::csv` writes it: null is an empty field, and `""` if it is the only one; an empty text is `""`.
fn csv_line<'a>(values: impl ExactSizeIterator<Item = Option<&'a [u8]>>) -> Vec<u8> {
    let mut line = vec![];
    let is_only_one = values.len() == 1;
    for (index, value) in values.enumerate() {
        if index > 0 {
            line.push(b',');
        }
        let Some(value) = value.or_else(|| is_only_one.then_some(&[])) else { continue };
        let is_special = |byte: &u8| matches!(byte, b',' | b'"' | b'\n' | b'\r');
        let needs_quotes = value.is_empty() || value.iter().any(is_special);
        if !needs_quotes {
            line.extend_from_slice(value);
            continue;
        }
        line.push(b'"');
        for &byte in value {
            line.push(byte);
            if byte == b'"' {
                line.push(byte);
            }
        }
        line.push(b'"');
    }
    line.push(b'\n');
    line
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use arrow::array::{Float64Array, Float64Builder, Int64Array, Int64Builder, MapBuilder, StringArray, StructArray};
    use arrow::datatypes::DataType;
    use std::sync::Arc;

    fn batch() -> RecordBatch {
        let x: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
        let pair = StructArray::from(vec![(Arc::new(Field::new("x", DataType::Int64, true)), x)]);
        RecordBatch::try_from_iter([
            ("id", Arc::new(Int64Array::from(vec![Some(1), None])) as ArrayRef),
            ("text", Arc::new(StringArray::from(vec!["one, \"two\"\nthree", "a|b"])) as ArrayRef),
            ("score", Arc::new(Float64Array::from(vec![0.5, 2.0])) as ArrayRef),
            ("pair", Arc::new(pair) as ArrayRef),
        ])
        .unwrap()
    }

    fn printed(format: Format, batches: &[RecordBatch], max_rows: usize) -> (String, Printed) {
        let mut out = vec![];
        let mut printer = Printer::new(format, batch().schema(), &mut out, max_rows, None);
        for batch in batches {
            printer.write(batch).unwrap();
        }
        let printed = printer.finish().unwrap();
        (String::from_utf8(out).unwrap(), printed)
    }

    #[test]
    fn json_is_one_complete_object_a_line() {
        let (text, _) = printed(Format::Json, &[batch()], 1);
        let expected = "{\"id\":1,\"text\":\"one, \\\"two\\\"\\nthree\",\"score\":0.5,\"pair\":{\"x\":1}}\n\
                        {\"id\":null,\"text\":\"a|b\",\"score\":2.0,\"pair\":{\"x\":null}}\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn keys_of_maps_are_text_in_json_and_in_csv() {
        let mut map = MapBuilder::new(None, Int64Builder::new(), Float64Builder::new());
        map.keys().append_value(7);
        map.values().append_value(0.5);
        map.append(true).unwrap();
        map.append(false).unwrap();
        let batch = RecordBatch::try_from_iter([("m", Arc::new(map.finish()) as ArrayRef)]).unwrap();
        let mut text = vec![];
        write_json_lines(&batch, &mut text).unwrap();
        write_csv(&batch, &mut text).unwrap();
        let expected = "{\"m\":{\"7\":0.5}}\n{\"m\":null}\n\"{\"\"7\"\":0.5}\"\n\"\"\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    #[test]
    fn csv_quotes_what_needs_it_and_has_one_header() {
        let (text, _) = printed(Format::Csv, &[batch(), batch()], 1);
        let rows = "1,\"one, \"\"two\"\"\nthree\",0.5,\"{\"\"x\"\":1}\"\n,a|b,2.0,\"{\"\"x\"\":null}\"\n";
        assert_eq!(text, format!("id,text,score,pair\n{rows}{rows}"));
        assert_eq!(printed(Format::Csv, &[], 1).0, "id,text,score,pair\n");
    }

    #[test]
    fn csv_tells_null_from_an_empty_text() {
        let texts = StringArray::from(vec![Some(""), None]);
        let numbers = Int64Array::from(vec![1, 2]);
        let columns = [("s", Arc::new(texts) as ArrayRef), ("n", Arc::new(numbers) as ArrayRef)];
        let mut text = vec![];
        write_csv(&RecordBatch::try_from_iter(columns).unwrap(), &mut text).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), "\"\",1\n,2\n");
    }

    #[test]
    fn markdown_keeps_a_row_on_one_line() {
        let (text, _) = printed(Format::Markdown, &[batch()], 1);
        let expected = "| id | text | score | pair |\n| ---: | --- | ---: | --- |\n\
                        | 1 | one, \"two\"⏎three | 0.5 | {x: 1} |\n|  | a\\|b | 2.0 | {x: } |\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn tables_stop_at_the_limit_and_count_the_rest() {
        let (text, counted) = printed(Format::Table, &[batch(), batch()], 3);
        assert_eq!(counted, Printed { n_rows: 4, n_hidden: 1, folded: vec![] });
        assert_eq!(text.lines().count(), 3 + 3 + 1);
        assert!(text.contains("| NULL | a|b "), "{text}");
        assert!(text.contains("one, \"two\"⏎three"), "{text}");
    }

    #[test]
    fn vertical_shows_whole_values_with_their_lines() {
        let (text, counted) = printed(Format::Vertical, &[batch(), batch()], 3);
        let expected = "─[ row 1 ]──────────────────────────────\nid     1\ntext   one, \"two\"\n       three\nscore  0.5\n\
                        pair   {x: 1}\n";
        assert!(text.starts_with(expected), "{text}");
        assert_eq!((text.matches("─[ row").count(), counted.n_hidden), (3, 1), "{text}");
    }

    #[test]
    fn raw_is_the_values_and_nothing_else() {
        let (text, _) = printed(Format::Raw, &[batch()], 1);
        assert_eq!(text, "1\tone, \"two\"\nthree\t0.5\t{\"x\":1}\n\ta|b\t2.0\t{\"x\":null}\n");
    }

    #[test]
    fn long_and_dangerous_text_is_cut_and_made_visible() {
        assert_eq!(cut("a\u{1b}[31mb\tc"), "a\u{fffd}[31mb⇥c");
        let long = cut(&"ä".repeat(CELL_CHARS + 1));
        assert_eq!(long.chars().count(), CELL_CHARS);
        assert!(long.ends_with("ä…"));
        assert_eq!(cut(&"ä".repeat(CELL_CHARS)), "ä".repeat(CELL_CHARS));
    }
}
