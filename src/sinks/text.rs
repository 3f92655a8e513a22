//! The text format: the text of each document, then a newline.
//!
//! Text is written as it is, so a document with newlines becomes several lines, and a null an empty one.

use super::lines::EncodeRow;
use crate::{Result, bug};
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::DataType;

/// The one text column of a batch.
pub(super) struct TextRows {
    column: ArrayRef,
}

impl TextRows {
    pub fn new(batch: &RecordBatch) -> Result<TextRows> {
        let Some(column) = batch.columns().first() else { return Err(bug!("the text format got no column")) };
        let column = match column.data_type() {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => column.clone(),
            _ => cast(column, &DataType::Utf8View).map_err(|error| bug!("not a text column: {error}"))?,
        };
        Ok(TextRows { column })
    }
}

impl EncodeRow for TextRows {
    fn encode(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        if self.column.is_valid(row) {
            out.extend_from_slice(string_at(&self.column, row).as_bytes());
        }
        out.push(b'\n');
        Ok(())
    }
}

/// The text in one row of a text column.
fn string_at(column: &ArrayRef, row: usize) -> &str {
    match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().value(row),
        DataType::LargeUtf8 => column.as_string::<i64>().value(row),
        _ => column.as_string_view().value(row),
    }
}
