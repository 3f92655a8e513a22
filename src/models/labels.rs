//! Columns of labels with their scores.

use arrow::array::{ArrayRef, Float64Array, ListArray, StringArray, StructArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, Fields};
use std::sync::Arc;

fn fields(label: &str) -> Fields {
    Fields::from(vec![Field::new(label, DataType::Utf8, true), Field::new("score", DataType::Float64, true)])
}

/// The type of a list of labels, each a struct of `label` and `score`.
pub(super) fn list_type(label: &str) -> DataType {
    DataType::new_list(DataType::Struct(fields(label)), true)
}

/// For each row the labels found, best first.
pub(super) fn lists(label: &str, rows: &[Vec<(&str, f32)>]) -> ArrayRef {
    let all = || rows.iter().flatten();
    let labels: StringArray = all().map(|(label, _)| Some(*label)).collect();
    let scores: Float64Array = all().map(|(_, score)| Some(f64::from(*score))).collect();
    let items = StructArray::new(fields(label), vec![Arc::new(labels), Arc::new(scores)], None);
    let item = Arc::new(Field::new_list_field(DataType::Struct(fields(label)), true));
    let ends = OffsetBuffer::from_lengths(rows.iter().map(Vec::len));
    Arc::new(ListArray::new(item, ends, Arc::new(items), None))
}

/// For each row the first label; null where there is none.
pub(super) fn first_labels(rows: &[Vec<(&str, f32)>]) -> ArrayRef {
    Arc::new(rows.iter().map(|labels| labels.first().map(|(label, _)| *label)).collect::<StringArray>())
}

/// For each row the score of the first label; null where there is none.
pub(super) fn first_scores(rows: &[Vec<(&str, f32)>]) -> ArrayRef {
    Arc::new(rows.iter().map(|labels| labels.first().map(|(_, score)| f64::from(*score))).collect::<Float64Array>())
}
