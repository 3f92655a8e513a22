//! Arrow columns as bytes for the device: widened numbers, one byte a truth value, texts as offsets and bytes.
//!
//! Invariant: every byte of a column's place is written, padding too; a slice of a column packs as a column of its own.

use super::layout::{ColumnPlace, Layout};
use super::program::Type;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type,
};

/// What the size of a column on the device depends on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ColumnShape {
    /// Bytes of all texts.
    pub text_bytes: usize,
    /// Whether a row is null.
    pub has_nulls: bool,
}

/// The shape of a column, if it is one that goes to the device as `ty`.
pub(super) fn column_shape(column: &ArrayRef, ty: Type) -> Result<ColumnShape, String> {
    if Type::of(column.data_type()) != Some(ty) {
        return Err(format!("a column of type {} where the kernel reads {}", column.data_type(), ty.name()));
    }
    let text_bytes = text_bytes(column);
    if text_bytes > u32::MAX as usize {
        return Err("more than 4 GiB of text in one batch".to_string());
    }
    Ok(ColumnShape { text_bytes, has_nulls: column.null_count() > 0 })
}

/// Bytes of all texts of a column, as they are packed; 0 for other columns.
pub fn text_bytes(column: &ArrayRef) -> usize {
    match column.data_type() {
        DataType::Utf8 => span(column.as_string::<i32>().value_offsets(), |offset| offset as usize),
        DataType::LargeUtf8 => span(column.as_string::<i64>().value_offsets(), |offset| offset as usize),
        DataType::Utf8View => {
            let views = column.as_string_view();
            views.lengths().enumerate().filter(|(row, _)| views.is_valid(*row)).map(|(_, bytes)| bytes as usize).sum()
        }
        _ => 0,
    }
}

fn span<O: Copy>(offsets: &[O], as_usize: impl Fn(O) -> usize) -> usize {
    match (offsets.first(), offsets.last()) {
        (Some(first), Some(last)) => as_usize(*last) - as_usize(*first),
        _ => 0,
    }
}

impl Layout {
    /// Writes the input columns.
    pub(super) fn pack(&self, bytes: &mut [u8], columns: &[ArrayRef]) -> Result<(), String> {
        if columns.len() != self.types.len() {
            return Err(format!("{} columns for a program over {}", columns.len(), self.types.len()));
        }
        for (number, column) in columns.iter().enumerate() {
            // A slab is made for the columns that it was planned for; others would not fit.
            if column.len() != self.n_rows || column_shape(column, self.types[number])? != self.shapes[number] {
                return Err(format!("column {number} is not the one that the layout was made for"));
            }
            let place = &self.columns[number];
            if let Some(validity) = place.validity {
                fill(bytes, validity, (0..column.len()).map(|row| [u8::from(column.is_valid(row))]));
            }
            match column.data_type() {
                DataType::Boolean => pack_bools(bytes, place, column.as_boolean()),
                DataType::Int8 => pack_numbers::<Int8Type, 8>(bytes, place, column, |n| i64::from(n).to_le_bytes()),
                DataType::Int16 => pack_numbers::<Int16Type, 8>(bytes, place, column, |n| i64::from(n).to_le_bytes()),
                DataType::Int32 => pack_numbers::<Int32Type, 8>(bytes, place, column, |n| i64::from(n).to_le_bytes()),
                DataType::Int64 => pack_numbers::<Int64Type, 8>(bytes, place, column, |n| n.to_le_bytes()),
                DataType::UInt8 => pack_numbers::<UInt8Type, 8>(bytes, place, column, |n| i64::from(n).to_le_bytes()),
                DataType::UInt16 => pack_numbers::<UInt16Type, 8>(bytes, place, column, |n| i64::from(n).to_le_bytes()),
                DataType::UInt32 => pack_numbers::<UInt32Type, 8>(bytes, place, column, |n| i64::from(n).to_le_bytes()),
                DataType::Float32 => {
                    pack_numbers::<Float32Type, 8>(bytes, place, column, |n| f64::from(n).to_le_bytes());
                }
                DataType::Float64 => pack_numbers::<Float64Type, 8>(bytes, place, column, |n| n.to_le_bytes()),
                DataType::Utf8 => {
                    let texts = column.as_string::<i32>();
                    pack_text(bytes, place, texts.value_offsets(), texts.value_data(), |offset| offset as usize);
                }
                DataType::LargeUtf8 => {
                    let texts = column.as_string::<i64>();
                    pack_text(bytes, place, texts.value_offsets(), texts.value_data(), |offset| offset as usize);
                }
                DataType::Utf8View => pack_views(bytes, place, column),
                other => return Err(format!("a column of type {other} cannot go to a device")),
            }
        }
        Ok(())
    }
}

/// Writes pieces one after the other, and zeros up to the next place.
fn fill<const N: usize>(bytes: &mut [u8], place: usize, pieces: impl Iterator<Item = [u8; N]>) {
    let mut at = place;
    for piece in pieces {
        bytes[at..at + N].copy_from_slice(&piece);
        at += N;
    }
    pad(bytes, at);
}

fn pad(bytes: &mut [u8], at: usize) {
    let end = at.next_multiple_of(16).min(bytes.len());
    bytes[at..end].fill(0);
}

fn pack_bools(bytes: &mut [u8], place: &ColumnPlace, column: &BooleanArray) {
    fill(bytes, place.values, column.values().iter().map(|value| [u8::from(value)]));
}

fn pack_numbers<T: ArrowPrimitiveType, const N: usize>(
    bytes: &mut [u8],
    place: &ColumnPlace,
    column: &ArrayRef,
    widened: impl Fn(T::Native) -> [u8; N],
) {
    fill(bytes, place.values, column.as_primitive::<T>().values().iter().map(|value| widened(*value)));
}

/// Texts that lie one after the other: offsets from the first, and the bytes as they are.
fn pack_text<O: Copy>(
    bytes: &mut [u8],
    place: &ColumnPlace,
    offsets: &[O],
    data: &[u8],
    as_usize: impl Fn(O) -> usize,
) {
    let first = offsets.first().map_or(0, |offset| as_usize(*offset));
    let last = offsets.last().map_or(0, |offset| as_usize(*offset));
    if let Some(at) = place.offsets {
        fill(bytes, at, offsets.iter().map(|offset| ((as_usize(*offset) - first) as u32).to_le_bytes()));
    }
    bytes[place.values..place.values + last - first].copy_from_slice(&data[first..last]);
    pad(bytes, place.values + last - first);
}

/// Texts that lie anywhere: gathered; a null is empty.
fn pack_views(bytes: &mut [u8], place: &ColumnPlace, column: &ArrayRef) {
    let texts = column.as_string_view();
    let mut end = 0;
    let mut offsets = vec![0; texts.len() + 1];
    for row in 0..texts.len() {
        if texts.is_valid(row) {
            let text = texts.value(row).as_bytes();
            bytes[place.values + end..place.values + end + text.len()].copy_from_slice(text);
            end += text.len();
        }
        offsets[row + 1] = end as u32;
    }
    pad(bytes, place.values + end);
    if let Some(at) = place.offsets {
        fill(bytes, at, offsets.iter().map(|offset| offset.to_le_bytes()));
    }
}
