//! Rows as text: table, JSON Lines, CSV, Markdown.
//!
//! JSON and CSV are data: complete, streamed batch by batch. Tables and Markdown are for people: long values are
//! cut, line ends and control characters are shown as one visible character (a document must not move the
//! cursor). A table needs the widths of its columns, so it holds its rows, up to a limit.

use super::terminal::stdout_error;
use crate::diag::is_obeyed;
use crate::sinks::{json_values, write_json_lines};
use crate::{Result, bug};
use arrow::array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use std::fmt::Write as _;
use std::io::Write;
use std::sync::Arc;

/// How rows are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Format {
    /// Aligned columns, for people: long values are cut.
    #[default]
    Table,
    /// One JSON object a line.
    Json,
    /// Comma-separated, with a header; nested values as JSON.
    Csv,
    /// A Markdown table: long values are cut.
    Markdown,
}

/// The longest value shown in a table, in characters.
const CELL_CHARS: usize = 80;

/// Prints the batches of one result to `out`.
pub struct Printer<W: Write> {
    format: Format,
    schema: SchemaRef,
    out: W,
    max_rows: usize,
    /// Table rows, already as text.
    held: Vec<RecordBatch>,
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
}

impl<W: Write> Printer<W> {
    /// A printer for rows of `schema`. `max_rows` limits tables only.
    pub fn new(format: Format, schema: SchemaRef, out: W, max_rows: usize) -> Self {
        Self { format, schema, out, max_rows, held: vec![], n_rows: 0, header_written: false }
    }

    /// Takes the next rows; prints them, unless it is a table.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let shown = self.max_rows.saturating_sub(self.n_rows).min(batch.num_rows());
        self.n_rows += batch.num_rows();
        if self.format == Format::Table {
            if shown > 0 {
                self.held.push(cells(&batch.slice(0, shown))?);
            }
            return Ok(());
        }
        let mut text = self.header();
        match self.format {
            Format::Json => write_json_lines(batch, &mut text)?,
            Format::Csv => write_csv(batch, &mut text)?,
            Format::Markdown => write_markdown(batch, &mut text)?,
            Format::Table => {}
        }
        self.emit(&text)
    }

    /// Prints what is left: the table, or the header of an empty result.
    pub fn finish(mut self) -> Result<Printed> {
        let text = if self.format == Format::Table { self.table()? } else { self.header() };
        self.emit(&text)?;
        let n_hidden = if self.format == Format::Table { self.n_rows.saturating_sub(self.max_rows) } else { 0 };
        Ok(Printed { n_rows: self.n_rows, n_hidden })
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
            Format::Table | Format::Json => vec![],
        }
    }

    fn table(&self) -> Result<Vec<u8>> {
        if self.schema.fields().is_empty() {
            return Ok(vec![]);
        }
        let schema = text_schema(&self.schema);
        let table = arrow::util::pretty::pretty_format_batches_with_schema(schema, &self.held);
        Ok(format!("{}\n", table.map_err(failed)?).into_bytes())
    }
}

fn failed(error: ArrowError) -> crate::Error {
    bug!("printing rows: {error}")
}

/// The same columns, all text, with names that fit a table.
fn text_schema(schema: &Schema) -> SchemaRef {
    let fields: Vec<Field> =
        schema.fields().iter().map(|field| Field::new(cut(field.name()), DataType::Utf8, true)).collect();
    Arc::new(Schema::new(fields))
}

/// Each value as the table shows it.
fn cells(batch: &RecordBatch) -> Result<RecordBatch> {
    let columns = batch.columns().iter().map(|column| {
        let texts = shown_values(column, "NULL")?;
        Ok(Arc::new(StringArray::from_iter_values(texts)) as ArrayRef)
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    RecordBatch::try_new(text_schema(&batch.schema()), columns).map_err(failed)
}

fn shown_values(column: &ArrayRef, null: &str) -> Result<Vec<String>> {
    let options = FormatOptions::new().with_null(null);
    let formatter = ArrayFormatter::try_new(column.as_ref(), &options).map_err(failed)?;
    let values = (0..column.len()).map(|row| {
        let mut cell = Cell::default();
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
    let mut cell = Cell::default();
    let _ = cell.write_str(text);
    cell.text
}

/// Text that takes at most `CELL_CHARS` characters, all of them visible.
#[derive(Default)]
struct Cell {
    text: String,
    n_chars: usize,
    is_cut: bool,
}

impl std::fmt::Write for Cell {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for character in text.chars() {
            if self.n_chars == CELL_CHARS {
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
    let columns = batch.columns().iter().map(|column| shown_values(column, "")).collect::<Result<Vec<_>>>()?;
    for row in 0..batch.num_rows() {
        let cells: Vec<String> = columns.iter().map(|column| column[row].replace('|', "\\|")).collect();
        out.extend_from_slice(format!("| {} |\n", cells.join(" | ")).as_bytes());
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
    use arrow::array::{Float64Array, Float64Builder, Int64Array, Int64Builder, MapBuilder, StructArray};

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
        let mut printer = Printer::new(format, batch().schema(), &mut out, max_rows);
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
        assert_eq!(counted, Printed { n_rows: 4, n_hidden: 1 });
        assert_eq!(text.lines().count(), 3 + 3 + 1);
        assert!(text.contains("| NULL | a|b "), "{text}");
        assert!(text.contains("one, \"two\"⏎three"), "{text}");
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
