//! From a model's numbers to the columns that a query sees.

use super::head::{Labels, Reading};
use super::loaded::Numbers;
use arrow::array::{
    ArrayRef, BooleanArray, FixedSizeListArray, Float32Array, Int32Array, ListArray, StringArray, StructArray,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, Fields};
use std::sync::Arc;

/// Vectors of `n_numbers` each.
pub fn vectors_type(n_numbers: usize) -> DataType {
    DataType::new_fixed_size_list(DataType::Float32, n_numbers as i32, true)
}

/// The vectors of rows, with length 1 if wanted.
pub fn vectors(numbers: &Numbers, n_numbers: usize, normalize: bool) -> ArrayRef {
    let mut values = numbers.values.clone();
    if normalize {
        values.chunks_exact_mut(n_numbers).for_each(to_unit_length);
    }
    let field = Arc::new(Field::new_list_field(DataType::Float32, true));
    Arc::new(FixedSizeListArray::new(field, n_numbers as i32, Arc::new(Float32Array::from(values)), None))
}

/// Divides a vector by its length.
pub fn to_unit_length(vector: &mut [f32]) {
    let length = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt().max(1e-12);
    vector.iter_mut().for_each(|x| *x = (f64::from(*x) / length) as f32);
}

fn scored_fields() -> Fields {
    vec![Field::new("label", DataType::Utf8, true), Field::new("score", DataType::Float32, true)].into()
}

fn scores_field() -> Arc<Field> {
    Arc::new(Field::new_list_field(DataType::Struct(scored_fields()), true))
}

fn labelled_fields() -> Fields {
    vec![
        Field::new("label", DataType::Utf8, true),
        Field::new("score", DataType::Float32, true),
        Field::new("scores", DataType::List(scores_field()), true),
        Field::new("n_tokens", DataType::Int32, true),
        Field::new("truncated", DataType::Boolean, true),
    ]
    .into()
}

/// What a classifier gives for a document.
pub fn labelled_type() -> DataType {
    DataType::Struct(labelled_fields())
}

/// The best label of each row, all scores, and how much of the text was read.
pub fn labelled(numbers: &Numbers, labels: &Labels) -> ArrayRef {
    let n_labels = labels.names.len();
    let scores: Vec<f32> = numbers.values.chunks_exact(n_labels).flat_map(|row| labels.reading.scores(row)).collect();
    let best: Vec<usize> = scores.chunks_exact(n_labels).map(best_of).collect();
    let names = |label: &usize| labels.names[*label].as_str();
    let each = StructArray::new(
        scored_fields(),
        vec![
            Arc::new(StringArray::from(vec![labels.names.as_slice(); best.len()].concat())),
            Arc::new(Float32Array::from(scores.clone())),
        ],
        None,
    );
    let ends = OffsetBuffer::from_lengths(best.iter().map(|_| n_labels));
    let best_scores = best.iter().enumerate().map(|(row, label)| scores[row * n_labels + label]);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from_iter_values(best.iter().map(names))),
        Arc::new(Float32Array::from_iter_values(best_scores)),
        Arc::new(ListArray::new(scores_field(), ends, Arc::new(each), None)),
        Arc::new(Int32Array::from_iter_values(numbers.n_tokens.iter().map(|n_tokens| *n_tokens as i32))),
        Arc::new(BooleanArray::from(numbers.truncated.clone())),
    ];
    Arc::new(StructArray::new(labelled_fields(), columns, None))
}

/// The score of one label, or the number that the model gives.
pub fn scores(numbers: &Numbers, labels: &Labels, label: usize) -> ArrayRef {
    let rows = numbers.values.chunks_exact(labels.names.len());
    Arc::new(Float32Array::from_iter_values(rows.map(|row| labels.reading.scores(row)[label])))
}

/// The first of the greatest.
fn best_of(scores: &[f32]) -> usize {
    (0..scores.len()).rev().max_by(|a, b| scores[*a].total_cmp(&scores[*b])).unwrap_or(0)
}

impl Reading {
    /// Scores from logits.
    pub fn scores(self, logits: &[f32]) -> Vec<f32> {
        match self {
            Reading::Number => logits.to_vec(),
            Reading::AnyOf => logits.iter().map(|x| (1.0 / (1.0 + (-f64::from(*x)).exp())) as f32).collect(),
            Reading::OneOf => softmax(logits).into_iter().map(|p| p as f32).collect(),
        }
    }
}

/// Softmax in double precision.
pub fn softmax(logits: &[f32]) -> Vec<f64> {
    let greatest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let powers: Vec<f64> = logits.iter().map(|x| f64::from(x - greatest).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.into_iter().map(|power| power / sum).collect()
}
