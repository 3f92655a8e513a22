//! Small tables with nulls, repeated keys and shared column names, and the files that hold them.

use super::columns::Column;
use super::query::Name;
use super::values::{Chance, Kind, Row, Value};
use arrow::array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use std::fs;
use std::path::Path;
use std::sync::Arc;

#[derive(Debug, Clone)]
pub struct Table {
    pub columns: Vec<Column>,
    pub rows: Vec<Row>,
}

/// How a table lies on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    pub parquet: bool,
    /// In one file, or in several that a pattern names.
    pub n_files: usize,
}

/// Columns of the same name have the same kind, so that tables can be joined by most of them.
const COLUMNS: [(&str, Kind); 6] =
    [("id", Kind::Int), ("k", Kind::Text), ("v", Kind::Int), ("w", Kind::Int), ("s", Kind::Text), ("b", Kind::Bool)];

pub fn tables(chance: &mut Chance) -> Vec<Table> {
    (0..3).map(|_| table(chance)).collect()
}

fn table(chance: &mut Chance) -> Table {
    let chosen = loop {
        let chosen = chance.some(&COLUMNS, 5);
        if chosen.len() > 1 {
            break chosen;
        }
    };
    let n_rows = if chance.percent(8) { 0 } else { 1 + chance.below(12) };
    let nulls = *chance.pick(&[0, 15, 40]);
    let cell = |chance: &mut Chance, name: &str, row: usize| match name {
        "id" => Value::Int(row as i64),
        _ if chance.percent(nulls) => Value::Null,
        "k" => Value::text(chance.pick::<&str>(&["p", "q", "r", "R", ""])),
        "s" => Value::text(chance.pick::<&str>(&["7", "12", "x", "3", "q"])),
        "b" => Value::Bool(chance.percent(50)),
        _ => Value::Int(*chance.pick(&[-1, 0, 1, 2, 3, 7])),
    };
    let rows = (0..n_rows).map(|row| chosen.iter().map(|(name, _)| cell(chance, name, row)).collect()).collect();
    let columns = chosen.iter().map(|(name, kind)| Column { name: Name::bare(name), kind: *kind }).collect();
    Table { columns, rows }
}

impl Table {
    /// Whether JSON shows the kind of each column: one without a value does not.
    fn shows_its_columns(&self) -> bool {
        (0..self.columns.len()).all(|index| self.rows.iter().any(|row| !row[index].is_null()))
    }

    /// Writes the files. Gives what stands after FROM, and the `LET` that it needs.
    pub fn write(&self, folder: &Path, name: &str, layout: Layout) -> (String, String) {
        let ending = if layout.parquet { "parquet" } else { "jsonl" };
        let files = if layout.n_files == 1 {
            fs::write(folder.join(format!("{name}.{ending}")), self.bytes(&self.rows, layout)).unwrap();
            folder.join(format!("{name}.{ending}"))
        } else {
            fs::create_dir(folder.join(name)).unwrap();
            for file in 0..layout.n_files {
                let (start, end) = (file * self.rows.len(), (file + 1) * self.rows.len());
                let rows = &self.rows[start / layout.n_files..end / layout.n_files];
                fs::write(folder.join(name).join(format!("{file}.{ending}")), self.bytes(rows, layout)).unwrap();
            }
            folder.join(name).join(format!("*.{ending}"))
        };
        let files = format!("'{}'", files.display());
        if layout.parquet || self.shows_its_columns() {
            return (files, String::new());
        }
        (name.to_string(), format!("LET {name} = FROM {files} WITH (columns = '{}');\n", self.declared()))
    }

    fn declared(&self) -> String {
        let column = |column: &Column| {
            let kind = match column.kind {
                Kind::Bool => "BOOLEAN",
                Kind::Int => "BIGINT",
                Kind::Text => "TEXT",
            };
            format!("{} {kind}", column.name.name)
        };
        self.columns.iter().map(column).collect::<Vec<_>>().join(", ")
    }

    fn bytes(&self, rows: &[Row], layout: Layout) -> Vec<u8> {
        if layout.parquet { self.parquet(rows) } else { self.json_lines(rows).into_bytes() }
    }

    pub fn json_lines(&self, rows: &[Row]) -> String {
        let line = |row: &Row| {
            let cells = self.columns.iter().zip(row).map(|(column, value)| (column.name.name.clone(), value.json()));
            format!("{}\n", serde_json::Value::Object(cells.collect()))
        };
        rows.iter().map(line).collect()
    }

    fn parquet(&self, rows: &[Row]) -> Vec<u8> {
        let column = |(index, column): (usize, &Column)| -> (Field, ArrayRef) {
            let values = rows.iter().map(|row| &row[index]);
            let (kind, array): (DataType, ArrayRef) = match column.kind {
                Kind::Bool => (DataType::Boolean, Arc::new(values.map(as_bool).collect::<BooleanArray>())),
                Kind::Int => (DataType::Int64, Arc::new(values.map(as_int).collect::<Int64Array>())),
                Kind::Text => (DataType::Utf8, Arc::new(values.map(as_text).collect::<StringArray>())),
            };
            (Field::new(&column.name.name, kind, true), array)
        };
        let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = self.columns.iter().enumerate().map(column).unzip();
        let schema = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new(Arc::clone(&schema), arrays).unwrap();
        let mut bytes = vec![];
        let mut writer = ArrowWriter::try_new(&mut bytes, schema, None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        bytes
    }
}

fn as_bool(value: &Value) -> Option<bool> {
    if let Value::Bool(value) = value { Some(*value) } else { None }
}

fn as_int(value: &Value) -> Option<i64> {
    if let Value::Int(value) = value { Some(*value) } else { None }
}

fn as_text(value: &Value) -> Option<&str> {
    if let Value::Text(value) = value { Some(value) } else { None }
}
