//! Texts that a program changes: columns given out under the name of a column that came in.

use super::program::Program;
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Schema};

/// A column of text and what becomes of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Change {
    /// Its place in the input.
    pub input: usize,
    /// Its place in the output.
    pub output: usize,
}

impl Change {
    /// `text = normalize_newlines(text)`
    pub fn label(&self, program: &Program) -> String {
        let name = program.schema.field(self.input).name();
        let written = program.output_labels.get(self.output).map_or("", String::as_str);
        let value = written.strip_suffix(&format!(" AS {name}")).unwrap_or(written);
        if value == name { name.clone() } else { format!("{name} = {value}") }
    }
}

/// The changes of a program that gives out columns of `outputs`.
pub(super) fn of_program(program: &Program, outputs: &Schema) -> Vec<Change> {
    let inputs = program.schema.fields().iter().take(program.n_inputs);
    let changes = program.outputs.iter().zip(outputs.fields()).enumerate().filter_map(|(output, (expr, field))| {
        let (input, from) = inputs.clone().enumerate().find(|(_, from)| from.name() == field.name())?;
        let is_changed = expr.as_column() != Some(input) && is_text(from.data_type()) && is_text(field.data_type());
        is_changed.then_some(Change { input, output })
    });
    changes.collect()
}

fn is_text(kind: &DataType) -> bool {
    matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

/// How many texts differ. Both columns are of text, for the same rows.
pub(super) fn n_differing(before: &ArrayRef, after: &ArrayRef) -> usize {
    (0..before.len().min(after.len())).filter(|row| text(before, *row) != text(after, *row)).count()
}

fn text(column: &ArrayRef, row: usize) -> Option<&str> {
    if column.is_null(row) {
        return None;
    }
    match column.data_type() {
        DataType::Utf8 => Some(column.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => Some(column.as_string::<i64>().value(row)),
        DataType::Utf8View => Some(column.as_string_view().value(row)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{StringArray, StringViewArray};
    use std::sync::Arc;

    #[test]
    fn texts_are_compared_by_what_they_say_whatever_their_layout() {
        let before: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), Some("b"), None, None, Some("")]));
        let after: ArrayRef = Arc::new(StringViewArray::from(vec![Some("a"), Some("B"), None, Some("x"), None]));
        assert_eq!(n_differing(&before, &after), 3);
    }
}
