//! What a query leaves of the JSON lines that its rows were read from.
//!
//! A row that came from a line of JSON and leaves unchanged is written as that line, byte for byte. A changed row is its line
//! with the changes made in it: values replaced, fields taken out, renamed or added. So nothing is lost that a column cannot
//! hold: the spelling of numbers, values of several types, the difference between `null` and no field at all.
//!
//! Invariant: batches for such an output have a column [`LINE_COLUMN`](crate::sources::LINE_COLUMN), and a column for every
//! value that is not in the line. Where the line of a row is null, its columns are written, so then all of them are there.
//! Not here: finding out what a query changes (`optimizer::KeepSourceLines`), and the writing (`json/line_rows.rs`).

use arrow::datatypes::DataType;
use std::fmt;

/// How rows are made from the lines that they bring along.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd)]
pub struct SourceLines {
    /// The fields that the source has columns for, in the order of the columns, and the columns' types.
    pub fields: Vec<(String, DataType)>,
    /// Whether fields that no column is for are written.
    pub keeps_others: bool,
    /// The fields to write, in the order of the query.
    pub columns: Vec<OutputColumn>,
}

/// One column of the output.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd)]
pub struct OutputColumn {
    /// The name under which it is written.
    pub name: String,
    /// The field of the line whose value it is. `None`: the value is in the batch's column of this name.
    pub field: Option<String>,
}

impl SourceLines {
    /// Whether every line is written as it was.
    pub fn is_unchanged(&self) -> bool {
        let same = |((field, _), column): (&(String, DataType), &OutputColumn)| {
            column.name == *field && column.field.as_ref() == Some(field)
        };
        self.keeps_others && self.fields.len() == self.columns.len() && self.fields.iter().zip(&self.columns).all(same)
    }

    /// Whether fields can stay where they are in the line: the query has them in the order of the source, and what it adds
    /// comes after them.
    pub fn is_in_source_order(&self) -> bool {
        let places: Vec<Option<usize>> = self.columns.iter().map(|column| self.place_of(column)).collect();
        let n_in_line = places.iter().take_while(|place| place.is_some()).count();
        let (in_line, added) = places.split_at(n_in_line);
        in_line.is_sorted_by(|a, b| a < b) && added.iter().all(Option::is_none)
    }

    /// The field that a column takes the place of: the one it is, or the one of its name that the query replaces.
    pub fn place_of(&self, column: &OutputColumn) -> Option<usize> {
        let name = match &column.field {
            Some(field) => field,
            None if self.columns.iter().any(|other| other.field.as_ref() == Some(&column.name)) => return None,
            None => &column.name,
        };
        self.fields.iter().position(|(field, _)| field == name)
    }
}

impl fmt::Display for SourceLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_unchanged() {
            return f.write_str("source lines unchanged");
        }
        let columns = self.columns.iter().filter(|column| column.field.is_none()).map(|column| column.name.as_str());
        let changed: Vec<&str> = columns.collect();
        match changed.as_slice() {
            [] => f.write_str("fields of source lines"),
            changed => write!(f, "fields of source lines and {}", changed.join(", ")),
        }
    }
}
