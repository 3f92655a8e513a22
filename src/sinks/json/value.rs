//! One column of a batch as JSON values.
//!
//! The array's type is looked at once, when the column is made; writing a value is then one `match`.

use super::escape::write_string;
use super::rows::{object_key, start_field};
use crate::sinks::csv::Utf8Buffer;
use crate::{Error, Result, bug};
use arrow::array::types::*;
use arrow::array::*;
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};

/// An array, ready to be written value by value.
pub(super) struct Column<'a> {
    nulls: Option<NullBuffer>,
    values: Values<'a>,
}

enum Values<'a> {
    Null,
    Bool(&'a BooleanArray),
    Int8(&'a Int8Array),
    Int16(&'a Int16Array),
    Int32(&'a Int32Array),
    Int64(&'a Int64Array),
    UInt8(&'a UInt8Array),
    UInt16(&'a UInt16Array),
    UInt32(&'a UInt32Array),
    UInt64(&'a UInt64Array),
    Float16(&'a Float16Array),
    Float32(&'a Float32Array),
    Float64(&'a Float64Array),
    Utf8(&'a StringArray),
    LargeUtf8(&'a LargeStringArray),
    Utf8View(&'a StringViewArray),
    /// Text of Arrow's making that is a JSON number.
    Number(ArrayFormatter<'a>),
    /// Text of Arrow's making.
    Text(ArrayFormatter<'a>),
    List(&'a OffsetBuffer<i32>, Box<Column<'a>>),
    LargeList(&'a OffsetBuffer<i64>, Box<Column<'a>>),
    FixedSizeList(usize, Box<Column<'a>>),
    /// `"name":` and the member's values.
    Struct(Vec<(Vec<u8>, Column<'a>)>),
    Map(&'a OffsetBuffer<i32>, Box<Column<'a>>, Box<Column<'a>>),
    Dictionary(Vec<usize>, Box<Column<'a>>),
}

impl<'a> Column<'a> {
    pub fn new(array: &'a dyn Array) -> Result<Column<'a>, ArrowError> {
        let child = |array: &'a ArrayRef| Column::new(array.as_ref()).map(Box::new);
        let values = match array.data_type() {
            DataType::Null => Values::Null,
            DataType::Boolean => Values::Bool(array.as_boolean()),
            DataType::Int8 => Values::Int8(array.as_primitive::<Int8Type>()),
            DataType::Int16 => Values::Int16(array.as_primitive::<Int16Type>()),
            DataType::Int32 => Values::Int32(array.as_primitive::<Int32Type>()),
            DataType::Int64 => Values::Int64(array.as_primitive::<Int64Type>()),
            DataType::UInt8 => Values::UInt8(array.as_primitive::<UInt8Type>()),
            DataType::UInt16 => Values::UInt16(array.as_primitive::<UInt16Type>()),
            DataType::UInt32 => Values::UInt32(array.as_primitive::<UInt32Type>()),
            DataType::UInt64 => Values::UInt64(array.as_primitive::<UInt64Type>()),
            DataType::Float16 => Values::Float16(array.as_primitive::<Float16Type>()),
            DataType::Float32 => Values::Float32(array.as_primitive::<Float32Type>()),
            DataType::Float64 => Values::Float64(array.as_primitive::<Float64Type>()),
            DataType::Utf8 => Values::Utf8(array.as_string()),
            DataType::LargeUtf8 => Values::LargeUtf8(array.as_string()),
            DataType::Utf8View => Values::Utf8View(array.as_string_view()),
            data_type if data_type.is_decimal() => Values::Number(formatter(array)?),
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                Values::List(list.offsets(), child(list.values())?)
            }
            DataType::LargeList(_) => {
                let list = array.as_list::<i64>();
                Values::LargeList(list.offsets(), child(list.values())?)
            }
            DataType::FixedSizeList(_, n) => {
                Values::FixedSizeList(*n as usize, child(array.as_fixed_size_list().values())?)
            }
            DataType::Struct(fields) => {
                let members = fields.iter().zip(array.as_struct().columns());
                let members =
                    members.map(|(field, member)| Ok((object_key(field.name()), Column::new(member.as_ref())?)));
                Values::Struct(members.collect::<Result<_, ArrowError>>()?)
            }
            DataType::Map(_, _) => {
                let map = array.as_map();
                Values::Map(map.offsets(), child(map.keys())?, child(map.values())?)
            }
            DataType::Dictionary(_, _) => {
                let dictionary = array.as_any_dictionary();
                // With no values at all every key is null, and there is nothing to point to.
                let keys = match dictionary.values().len() {
                    0 => Vec::new(),
                    _ => dictionary.normalized_keys(),
                };
                Values::Dictionary(keys, child(dictionary.values())?)
            }
            _ => Values::Text(formatter(array)?),
        };
        Ok(Column { nulls: array.logical_nulls(), values })
    }

    pub fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }

    /// The text of one row, if the column is one of text and has a value there.
    pub fn text(&self, row: usize) -> Option<&'a str> {
        match &self.values {
            _ if self.is_null(row) => None,
            Values::Utf8(array) => Some(array.value(row)),
            Values::LargeUtf8(array) => Some(array.value(row)),
            Values::Utf8View(array) => Some(array.value(row)),
            _ => None,
        }
    }

    /// Appends the value of one row.
    pub fn write(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        if self.is_null(row) {
            out.extend_from_slice(b"null");
            return Ok(());
        }
        match &self.values {
            Values::Null => out.extend_from_slice(b"null"),
            Values::Bool(array) => out.extend_from_slice(if array.value(row) { b"true" } else { b"false" }),
            Values::Int8(array) => write_number(array.value(row), out)?,
            Values::Int16(array) => write_number(array.value(row), out)?,
            Values::Int32(array) => write_number(array.value(row), out)?,
            Values::Int64(array) => write_number(array.value(row), out)?,
            Values::UInt8(array) => write_number(array.value(row), out)?,
            Values::UInt16(array) => write_number(array.value(row), out)?,
            Values::UInt32(array) => write_number(array.value(row), out)?,
            Values::UInt64(array) => write_number(array.value(row), out)?,
            Values::Float16(array) => write_float(array.value(row).to_f32(), out)?,
            Values::Float32(array) => write_float(array.value(row), out)?,
            Values::Float64(array) => write_float(array.value(row), out)?,
            Values::Utf8(array) => write_string(array.value(row), out),
            Values::LargeUtf8(array) => write_string(array.value(row), out),
            Values::Utf8View(array) => write_string(array.value(row), out),
            Values::Number(formatter) => {
                formatter.value(row).write(&mut Utf8Buffer(out)).map_err(unwritable)?;
            }
            Values::Text(formatter) => write_string(&formatter.value(row).try_to_string().map_err(unwritable)?, out),
            Values::List(offsets, child) => {
                child.write_array(offsets[row] as usize..offsets[row + 1] as usize, out)?;
            }
            Values::LargeList(offsets, child) => {
                child.write_array(offsets[row] as usize..offsets[row + 1] as usize, out)?;
            }
            Values::FixedSizeList(n, child) => child.write_array(row * n..(row + 1) * n, out)?,
            Values::Struct(members) => {
                out.push(b'{');
                for (key, member) in members {
                    start_field(out, key);
                    member.write(row, out)?;
                }
                out.push(b'}');
            }
            Values::Map(offsets, keys, values) => {
                out.push(b'{');
                for entry in offsets[row] as usize..offsets[row + 1] as usize {
                    if out.last() != Some(&b'{') {
                        out.push(b',');
                    }
                    keys.write_key(entry, out)?;
                    out.push(b':');
                    values.write(entry, out)?;
                }
                out.push(b'}');
            }
            Values::Dictionary(keys, values) => values.write(keys[row], out)?,
        }
        Ok(())
    }

    fn write_array(&self, elements: std::ops::Range<usize>, out: &mut Vec<u8>) -> Result<()> {
        out.push(b'[');
        let first = elements.start;
        for element in elements {
            if element > first {
                out.push(b',');
            }
            self.write(element, out)?;
        }
        out.push(b']');
        Ok(())
    }

    /// A map's key: text as it is, anything else as the text of its JSON.
    fn write_key(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        let mut key = Vec::new();
        self.write(row, &mut key)?;
        if key.starts_with(b"\"") {
            out.extend_from_slice(&key);
        } else {
            write_string(&String::from_utf8_lossy(&key), out);
        }
        Ok(())
    }
}

/// A number, or the name of what JSON has no number for.
fn write_float(number: impl serde::Serialize + Into<f64> + Copy, out: &mut Vec<u8>) -> Result<()> {
    let value: f64 = number.into();
    match value {
        _ if value.is_finite() => return write_number(number, out),
        _ if value.is_nan() => out.extend_from_slice(b"\"NaN\""),
        f64::INFINITY => out.extend_from_slice(b"\"Infinity\""),
        _ => out.extend_from_slice(b"\"-Infinity\""),
    }
    Ok(())
}

/// The values of an array, each as JSON; nothing for null.
pub(crate) fn json_values(array: &dyn Array) -> Result<Vec<Vec<u8>>> {
    let column = Column::new(array).map_err(unwritable)?;
    let value = |row| {
        let mut value = vec![];
        if !column.is_null(row) {
            column.write(row, &mut value)?;
        }
        Ok(value)
    };
    (0..array.len()).map(value).collect()
}

/// Shortest exact form.
fn write_number(number: impl serde::Serialize, out: &mut Vec<u8>) -> Result<()> {
    serde_json::to_writer(out, &number).map_err(|error| bug!("a number was not written: {error}"))
}

fn formatter(array: &dyn Array) -> Result<ArrayFormatter<'_>, ArrowError> {
    ArrayFormatter::try_new(array, &FormatOptions::default())
}

fn unwritable(error: ArrowError) -> Error {
    Error::Data(format!("a value cannot be written as JSON: {error}"))
}
