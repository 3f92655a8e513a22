//! The values of CSV fields and the columns they go into.

use crate::sources::rejects::RejectKind;
use arrow::array::{ArrayRef, BooleanBuilder, Float64Builder, Int64Builder, StringBuilder};
use arrow::datatypes::{DataType, Field};
use std::sync::Arc;

/// Why a record is no row.
pub(super) type Trouble = (RejectKind, String);

/// A column being built.
pub(super) enum CsvColumn {
    Bool(BooleanBuilder),
    Int(Int64Builder),
    Float(Float64Builder),
    Text(StringBuilder),
}

/// One value.
#[derive(Clone, Copy)]
pub(super) enum Cell<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(&'a str),
}

/// The value of a field. An empty field is null, or for text the empty string.
pub(super) fn parse_cell<'a>(field: &Field, text: &'a str) -> Result<Cell<'a>, Trouble> {
    let parsed = match field.data_type() {
        DataType::Utf8 => Some(Cell::Text(text)),
        _ if text.is_empty() => Some(Cell::Null),
        DataType::Boolean => parse_bool(text).map(Cell::Bool),
        DataType::Int64 => text.parse().ok().map(Cell::Int),
        _ => parse_float(text).map(Cell::Float),
    };
    parsed.ok_or_else(|| {
        let shown: String = text.chars().take(40).collect();
        let reason = format!(
            "column `{}`: `{shown}` does not fit its type; declare the column as text with WITH (columns = '…')",
            field.name()
        );
        (RejectKind::WrongType, reason)
    })
}

pub(super) fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

/// A whole number that prints as it was written: `007` and `+5` are text.
pub(super) fn parse_int(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain = digits == "0" && digits == text || digits.starts_with(|c: char| ('1'..='9').contains(&c));
    if is_plain { text.parse().ok() } else { None }
}

/// A number with digits; `nan`, `inf` and what overflows are text.
pub(super) fn parse_float(text: &str) -> Option<f64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let has_leading_zero = digits.len() > 1 && digits.starts_with('0') && !digits.starts_with("0.");
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') || has_leading_zero {
        return None;
    }
    text.parse::<f64>().ok().filter(|value| value.is_finite())
}

impl CsvColumn {
    pub fn new(data_type: &DataType) -> Self {
        match data_type {
            DataType::Boolean => Self::Bool(BooleanBuilder::new()),
            DataType::Int64 => Self::Int(Int64Builder::new()),
            DataType::Float64 => Self::Float(Float64Builder::new()),
            _ => Self::Text(StringBuilder::new()),
        }
    }

    pub fn append(&mut self, cell: Cell<'_>) {
        match (self, cell) {
            (Self::Bool(column), Cell::Bool(value)) => column.append_value(value),
            (Self::Int(column), Cell::Int(value)) => column.append_value(value),
            (Self::Float(column), Cell::Float(value)) => column.append_value(value),
            (Self::Text(column), Cell::Text(value)) => column.append_value(value),
            (Self::Bool(column), _) => column.append_null(),
            (Self::Int(column), _) => column.append_null(),
            (Self::Float(column), _) => column.append_null(),
            (Self::Text(column), _) => column.append_null(),
        }
    }

    pub fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Bool(column) => Arc::new(column.finish()),
            Self::Int(column) => Arc::new(column.finish()),
            Self::Float(column) => Arc::new(column.finish()),
            Self::Text(column) => Arc::new(column.finish()),
        }
    }
}
