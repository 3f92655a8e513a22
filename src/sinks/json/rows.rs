//! The rows of a batch as JSON objects, with the members of `_extra` back in their places.
//!
//! Not here: values inside a column (`value.rs`), strings (`escape.rs`).

use super::escape::write_string;
use super::value::Column;
use crate::sinks::lines::EncodeRow;
use crate::{Error, Result};
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::DataType;
use std::collections::HashMap;

/// The column whose members are fields of the document.
const EXTRA: &str = crate::sources::EXTRA_COLUMN;

/// The columns of a batch, ready to be written row by row.
pub(in crate::sinks) struct JsonRows<'a> {
    /// `"name":` and the values.
    columns: Vec<(Vec<u8>, Column<'a>)>,
    extra: Option<Extra<'a>>,
}

/// The `_extra` column, and where its members' columns are.
struct Extra<'a> {
    array: &'a ArrayRef,
    column_of: HashMap<&'a str, usize>,
}

/// One member of an `_extra` object: its name, and its value as it was in the source.
type Member<'a> = (String, sonic_rs::LazyValue<'a>);

impl<'a> JsonRows<'a> {
    pub fn new(batch: &'a RecordBatch) -> Result<JsonRows<'a>> {
        Self::of(batch, true)
    }

    /// The same without one column.
    pub fn without(batch: &'a RecordBatch, hidden: &str) -> Result<JsonRows<'a>> {
        let mut rows = Self::of(batch, true)?;
        let key = object_key(hidden);
        if let Some(place) = rows.columns.iter().position(|(other, _)| *other == key) {
            rows.columns.remove(place);
            if let Some(extra) = &mut rows.extra {
                extra.column_of.remove(hidden);
                extra.column_of.values_mut().filter(|column| **column > place).for_each(|column| *column -= 1);
            }
        }
        Ok(rows)
    }

    /// `opens_extra`: the members of `_extra` become fields.
    fn of(batch: &'a RecordBatch, opens_extra: bool) -> Result<JsonRows<'a>> {
        let schema = batch.schema_ref();
        let is_extra = |i: usize| {
            let field = schema.field(i);
            opens_extra
                && field.name() == EXTRA
                && matches!(field.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
        };
        let mut columns = Vec::with_capacity(batch.num_columns());
        let mut column_of = HashMap::new();
        let mut extra = None;
        for (i, array) in batch.columns().iter().enumerate() {
            if is_extra(i) {
                extra = Some(array);
                continue;
            }
            let name = schema.field(i).name();
            column_of.insert(name.as_str(), columns.len());
            columns.push((object_key(name), Column::new(array.as_ref()).map_err(|error| unwritable(name, &error))?));
        }
        let extra = extra.map(|array| Extra { array, column_of });
        Ok(JsonRows { columns, extra })
    }

    fn encode_columns(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        for (key, column) in &self.columns {
            start_field(out, key);
            column.write(row, out)?;
        }
        Ok(())
    }
}

/// Appends the rows of a batch as lines, each column as it is, `_extra` too.
pub(crate) fn write_json_lines(batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
    let rows = JsonRows::of(batch, false)?;
    (0..batch.num_rows()).try_for_each(|row| rows.encode(row, out))
}

impl EncodeRow for JsonRows<'_> {
    fn encode(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        out.push(b'{');
        match self.extra.as_ref().and_then(|extra| Some((extra, extra.text(row)?))) {
            None => self.encode_columns(row, out)?,
            Some((extra, text)) => match members(text) {
                Some(members) => self.encode_with(extra, &members, row, out)?,
                None => {
                    self.encode_columns(row, out)?;
                    start_field(out, b"\"_extra\":");
                    write_string(text, out);
                }
            },
        }
        out.extend_from_slice(b"}\n");
        Ok(())
    }
}

impl JsonRows<'_> {
    /// A row with members from `_extra`.
    fn encode_with(&self, extra: &Extra, members: &[Member], row: usize, out: &mut Vec<u8>) -> Result<()> {
        let mut in_place: HashMap<usize, &Member> = HashMap::new();
        let mut at_end = Vec::new();
        for member in members {
            match extra.column_of.get(member.0.as_str()) {
                Some(&i) => drop(in_place.insert(i, member)),
                None => at_end.push(member),
            }
        }
        for (i, (key, column)) in self.columns.iter().enumerate() {
            start_field(out, key);
            match in_place.get(&i) {
                Some((_, value)) if column.is_null(row) => write_raw(value.as_raw_str(), out),
                Some((_, value)) => {
                    let mut own = Vec::new();
                    column.write(row, &mut own)?;
                    merge(&String::from_utf8_lossy(&own), value.as_raw_str(), out);
                }
                None => column.write(row, out)?,
            }
        }
        for (name, value) in at_end {
            start_field(out, &object_key(name));
            write_raw(value.as_raw_str(), out);
        }
        Ok(())
    }
}

impl<'a> Extra<'a> {
    fn text(&self, row: usize) -> Option<&'a str> {
        let array = self.array;
        if array.is_null(row) {
            return None;
        }
        Some(match array.data_type() {
            DataType::Utf8 => array.as_string::<i32>().value(row),
            DataType::LargeUtf8 => array.as_string::<i64>().value(row),
            _ => array.as_string_view().value(row),
        })
    }
}

/// The members of a JSON object, or `None` if the text is not one.
fn members(text: &str) -> Option<Vec<Member<'_>>> {
    // The iterator stops at the closing brace; what follows must be nothing, or the line would change.
    if !text.trim_end().ends_with('}') || sonic_rs::from_str::<sonic_rs::LazyValue>(text).is_err() {
        return None;
    }
    sonic_rs::to_object_iter(text).map(|member| member.map(|(key, value)| (key.to_string(), value)).ok()).collect()
}

/// A value with what its column could not hold: an object's further members. Anything else stays as the column has it.
fn merge(own: &str, rest: &str, out: &mut Vec<u8>) {
    let (Some(own_members), Some(rest_members)) = (members(own), members(rest)) else {
        return out.extend_from_slice(own.as_bytes());
    };
    out.push(b'{');
    for (name, value) in &own_members {
        start_field(out, &object_key(name));
        let own_value = value.as_raw_str();
        match rest_members.iter().find(|(rest_name, _)| rest_name == name).map(|(_, value)| value.as_raw_str()) {
            Some(rest_value) if own_value == "null" => write_raw(rest_value, out),
            Some(rest_value) => merge(own_value, rest_value, out),
            None => out.extend_from_slice(own_value.as_bytes()),
        }
    }
    for (name, value) in rest_members.iter().filter(|(name, _)| !own_members.iter().any(|(own, _)| own == name)) {
        start_field(out, &object_key(name));
        write_raw(value.as_raw_str(), out);
    }
    out.push(b'}');
}

/// A value as it was read; line ends between its parts, which would break the line, become spaces.
fn write_raw(raw: &str, out: &mut Vec<u8>) {
    // Inside of strings JSON has no raw line ends, so each is white space between tokens.
    out.extend(raw.bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte }));
}

/// `"name":`
pub(super) fn object_key(name: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(name.len() + 3);
    write_string(name, &mut key);
    key.push(b':');
    key
}

/// A comma if another field came before, and the key.
pub(super) fn start_field(out: &mut Vec<u8>, key: &[u8]) {
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
    out.extend_from_slice(key);
}

fn unwritable(name: &str, error: &arrow::error::ArrowError) -> Error {
    Error::Data(format!("column `{name}` cannot be written as JSON: {error}"))
}
