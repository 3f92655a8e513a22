//! The bytes of text in rows: what the funnel means by the size of documents.
//!
//! Counts the line that a row brings along, else the values of its string columns, so that the number depends on the
//! documents alone and not on threads, batches or buffers.

use super::table::LINE_COLUMN;
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::DataType;

/// For each row, the bytes of its line or in its string columns.
pub fn text_bytes_per_row(batch: &RecordBatch) -> Vec<u64> {
    let mut bytes = vec![0; batch.num_rows()];
    let lines = batch.column_by_name(LINE_COLUMN).and_then(|column| column.as_string_opt::<i32>());
    if let Some(lines) = lines {
        add(&mut bytes, lines.offsets().lengths());
        if lines.null_count() == 0 {
            return bytes;
        }
    }
    let mut of_columns = vec![0; batch.num_rows()];
    for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        if field.name() != LINE_COLUMN {
            add_column(&mut of_columns, column);
        }
    }
    let lacks_line = |row: usize| lines.is_none_or(|lines| lines.is_null(row));
    for (row, (bytes, of_columns)) in bytes.iter_mut().zip(of_columns).enumerate() {
        if lacks_line(row) {
            *bytes = of_columns;
        }
    }
    bytes
}

fn add_column(bytes: &mut [u64], column: &ArrayRef) {
    match column.data_type() {
        DataType::Utf8 => add(bytes, column.as_string::<i32>().offsets().lengths()),
        DataType::LargeUtf8 => add(bytes, column.as_string::<i64>().offsets().lengths()),
        // A view's length is the lower half of its 16 bytes.
        DataType::Utf8View => add(bytes, column.as_string_view().views().iter().map(|view| *view as u32 as usize)),
        _ => {}
    }
}

fn add(bytes: &mut [u64], lengths: impl Iterator<Item = usize>) {
    bytes.iter_mut().zip(lengths).for_each(|(bytes, length)| *bytes += length as u64);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use arrow::array::{Int64Array, StringArray, StringViewArray};
    use std::sync::Arc;

    #[test]
    fn counts_the_text_of_each_row_also_in_a_slice() {
        let batch = RecordBatch::try_from_iter([
            ("n", Arc::new(Int64Array::from(vec![1, 2, 3])) as Arc<dyn Array>),
            ("a", Arc::new(StringArray::from(vec![Some("x"), None, Some("é")]))),
            ("b", Arc::new(StringViewArray::from(vec!["", "short", "longer than twelve bytes"]))),
        ])
        .unwrap();
        assert_eq!(text_bytes_per_row(&batch), [1, 5, 26]);
        assert_eq!(text_bytes_per_row(&batch.slice(1, 2)), [5, 26]);
    }

    #[test]
    fn a_row_with_its_line_is_as_large_as_the_line() {
        let batch = RecordBatch::try_from_iter([
            ("a", Arc::new(StringArray::from(vec!["x", "yz"])) as Arc<dyn Array>),
            (LINE_COLUMN, Arc::new(StringArray::from(vec![Some("{\"a\":\"x\"}"), None]))),
        ])
        .unwrap();
        assert_eq!(text_bytes_per_row(&batch), [9, 2]);
        assert_eq!(text_bytes_per_row(&batch.slice(0, 1)), [9]);
    }
}
