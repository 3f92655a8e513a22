//! The values of CSV fields and the columns they go into.

use crate::sources::rejects::RejectKind;
use arrow::array::{ArrayRef, BooleanBuilder, Float64Builder, Int64Builder, StringBuilder, UInt64Builder};
use arrow::datatypes::{DataType, Field};
use std::sync::Arc;

/// Why a record is no row.
pub(super) type Trouble = (RejectKind, String);

/// A column being built.
pub(super) enum CsvColumn {
    Bool(BooleanBuilder),
    Int(Int64Builder),
    UInt(UInt64Builder),
    Float(Float64Builder),
    Text(StringBuilder),
}

/// One value.
#[derive(Clone, Copy)]
pub(super) enum Cell<'a> {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Float(f64),
    Text(&'a str),
}

/// The value of a field. An empty one is null, or an empty text if it is quoted in a column of text.
pub(super) fn parse_cell<'a>(field: &Field, text: &'a str, is_quoted: bool) -> Result<Cell<'a>, Trouble> {
    let parsed = match field.data_type() {
        DataType::Utf8 if is_quoted || !text.is_empty() => Some(Cell::Text(text)),
        _ if text.is_empty() => Some(Cell::Null),
        DataType::Boolean => parse_bool(text).map(Cell::Bool),
        DataType::Int64 => text.parse().ok().map(Cell::Int),
        DataType::UInt64 => text.parse().ok().map(Cell::UInt),
        _ => parse_float(text).filter(|value| is_exact(text, *value)).map(Cell::Float),
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

/// Whether a text is a whole number that prints as it was written, of any size: `007` and `+5` are text.
pub(super) fn is_whole_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    text == "0" || digits.starts_with(|c: char| ('1'..='9').contains(&c)) && digits.bytes().all(|c| c.is_ascii_digit())
}

/// A number with digits, or one of the names that programs print for what is none. What overflows is text.
pub(super) fn parse_float(text: &str) -> Option<f64> {
    match text {
        "NaN" | "nan" => return Some(f64::NAN),
        "inf" | "Infinity" => return Some(f64::INFINITY),
        "-inf" | "-Infinity" => return Some(f64::NEG_INFINITY),
        _ => {}
    }
    let digits = text.strip_prefix('-').unwrap_or(text);
    let has_leading_zero = digits.len() > 1 && digits.starts_with('0') && !digits.starts_with("0.");
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') || has_leading_zero {
        return None;
    }
    text.parse::<f64>().ok().filter(|value| value.is_finite())
}

/// Whether a whole number is still itself as floating point. A fraction is rounded, as everywhere.
fn is_exact(text: &str, value: f64) -> bool {
    const ALWAYS_EXACT_DIGITS: usize = 15;
    text.len() <= ALWAYS_EXACT_DIGITS || !is_whole_number(text) || format!("{value:.0}") == text
}

impl CsvColumn {
    pub fn new(data_type: &DataType) -> Self {
        match data_type {
            DataType::Boolean => Self::Bool(BooleanBuilder::new()),
            DataType::Int64 => Self::Int(Int64Builder::new()),
            DataType::UInt64 => Self::UInt(UInt64Builder::new()),
            DataType::Float64 => Self::Float(Float64Builder::new()),
            _ => Self::Text(StringBuilder::new()),
        }
    }

    pub fn append(&mut self, cell: Cell<'_>) {
        match (self, cell) {
            (Self::Bool(column), Cell::Bool(value)) => column.append_value(value),
            (Self::Int(column), Cell::Int(value)) => column.append_value(value),
            (Self::UInt(column), Cell::UInt(value)) => column.append_value(value),
            (Self::Float(column), Cell::Float(value)) => column.append_value(value),
            (Self::Text(column), Cell::Text(value)) => column.append_value(value),
            (Self::Bool(column), _) => column.append_null(),
            (Self::Int(column), _) => column.append_null(),
            (Self::UInt(column), _) => column.append_null(),
            (Self::Float(column), _) => column.append_null(),
            (Self::Text(column), _) => column.append_null(),
        }
    }

    pub fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Bool(column) => Arc::new(column.finish()),
            Self::Int(column) => Arc::new(column.finish()),
            Self::UInt(column) => Arc::new(column.finish()),
            Self::Float(column) => Arc::new(column.finish()),
            Self::Text(column) => Arc::new(column.finish()),
        }
    }
}
