//! CSV and TSV: a header line, then one line a row, quoted where needed.
//!
//! Null is an empty field and an empty text is `""`, so that a reader can tell them apart. In a file of one column a
//! null is `""` too: readers skip blank lines. Not here: nested columns, which `validate.rs` refuses.

use super::lines::EncodeRow;
use crate::{Error, Result};
use arrow::array::{Array, RecordBatch};
use arrow::buffer::NullBuffer;
use arrow::datatypes::Schema;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use std::fmt;

/// The columns of a batch, ready to be written row by row.
pub(super) struct CsvRows<'a> {
    columns: Vec<(Option<NullBuffer>, ArrayFormatter<'a>)>,
    delimiter: u8,
}

/// The header line.
pub(super) fn csv_header(schema: &Schema, delimiter: u8) -> Vec<u8> {
    let mut out = Vec::new();
    for (i, field) in schema.fields().iter().enumerate() {
        if i > 0 {
            out.push(delimiter);
        }
        let start = out.len();
        out.extend_from_slice(field.name().as_bytes());
        quote_from(&mut out, start, delimiter);
    }
    out.push(b'\n');
    out
}

impl<'a> CsvRows<'a> {
    pub fn new(batch: &'a RecordBatch, delimiter: u8) -> Result<CsvRows<'a>> {
        let options = FormatOptions::default();
        let columns = batch
            .columns()
            .iter()
            .map(|column| {
                let formatter = ArrayFormatter::try_new(column.as_ref(), &options).map_err(unwritable)?;
                Ok((column.logical_nulls(), formatter))
            })
            .collect::<Result<_>>()?;
        Ok(CsvRows { columns, delimiter })
    }
}

impl EncodeRow for CsvRows<'_> {
    fn encode(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        for (i, (nulls, formatter)) in self.columns.iter().enumerate() {
            if i > 0 {
                out.push(self.delimiter);
            }
            let start = out.len();
            if nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)) {
                formatter.value(row).write(&mut Utf8Buffer(out)).map_err(unwritable)?;
                quote_from(out, start, self.delimiter);
            } else if self.columns.len() == 1 {
                out.extend_from_slice(b"\"\"");
            }
        }
        out.push(b'\n');
        Ok(())
    }
}

/// Quotes the field that begins at `start`, if it must be.
fn quote_from(out: &mut Vec<u8>, start: usize, delimiter: u8) {
    let field = &out[start..];
    if field.is_empty() {
        out.extend_from_slice(b"\"\"");
        return;
    }
    let is_special = |byte: &u8| *byte == delimiter || matches!(byte, b'"' | b'\n' | b'\r');
    if !field.iter().any(is_special) {
        return;
    }
    let plain = out.split_off(start);
    out.push(b'"');
    for piece in plain.split_inclusive(|byte| *byte == b'"') {
        out.extend_from_slice(piece);
        if piece.ends_with(b"\"") {
            out.push(b'"');
        }
    }
    out.push(b'"');
}

fn unwritable(error: arrow::error::ArrowError) -> Error {
    Error::Data(format!("cannot write a value as text: {error}"))
}

/// Lets Arrow's formatters write into a byte buffer.
pub(super) struct Utf8Buffer<'a>(pub &'a mut Vec<u8>);

impl fmt::Write for Utf8Buffer<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_only_where_needed() {
        for (field, delimiter, expected) in [
            ("plain text", b',', "plain text"),
            ("", b',', "\"\""),
            ("a,b", b',', "\"a,b\""),
            ("a,b", b'\t', "a,b"),
            ("a\tb", b'\t', "\"a\tb\""),
            ("say \"hi\"", b',', "\"say \"\"hi\"\"\""),
            ("two\nlines", b',', "\"two\nlines\""),
        ] {
            let mut out = b"x,".to_vec();
            out.extend_from_slice(field.as_bytes());
            quote_from(&mut out, 2, delimiter);
            assert_eq!(String::from_utf8_lossy(&out[2..]), expected);
        }
    }
}
