//! The bytes of text in rows: what the funnel means by the size of documents.
//!
//! Counts the values of string columns, so that the number depends on the documents alone and not on threads,
//! batches or buffers.

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::DataType;

/// For each row, the bytes in its string columns.
pub(super) fn text_bytes_per_row(batch: &RecordBatch) -> Vec<u64> {
    let mut bytes = vec![0; batch.num_rows()];
    for column in batch.columns() {
        match column.data_type() {
            DataType::Utf8 => add(&mut bytes, column.as_string::<i32>().offsets().lengths()),
            DataType::LargeUtf8 => add(&mut bytes, column.as_string::<i64>().offsets().lengths()),
            // A view's length is the lower half of its 16 bytes.
            DataType::Utf8View => {
                add(&mut bytes, column.as_string_view().views().iter().map(|view| *view as u32 as usize))
            }
            _ => {}
        }
    }
    bytes
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
}
