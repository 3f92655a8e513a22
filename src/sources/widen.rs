//! One type for a column whose files disagree, and the values of each file in that type.
//!
//! Invariant: every value of both types has its place in the common one, exactly. Where there is no such type, there is
//! none at all, and the files are refused. The one exception are times of day, dates and timestamps far outside of what
//! a finer unit can count: those are errors when they are read, never nulls.

use arrow::array::{
    Array, ArrayRef, AsArray, FixedSizeListArray, GenericListArray, MapArray, OffsetSizeTrait, StructArray,
    new_null_array,
};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType, Field, FieldRef, Fields, TimeUnit,
};
use arrow::error::ArrowError;
use std::sync::Arc;

/// The type that holds every value of both, if there is one.
pub(super) fn widened(a: &DataType, b: &DataType) -> Option<DataType> {
    use DataType::*;
    if a == b {
        return Some(a.clone());
    }
    if let (Some(a), Some(b)) = (whole(a), whole(b)) {
        return widened_whole(a, b);
    }
    match (a, b) {
        (Null, other) | (other, Null) => Some(other.clone()),
        (Float16 | Float32 | Float64, Float16 | Float32 | Float64) => {
            Some(if *a == Float64 || *b == Float64 { Float64 } else { Float32 })
        }
        // A float of 64 bits has 53 for a whole number.
        (Float64, other) | (other, Float64) => whole(other).filter(|(_, bits)| *bits <= 32).map(|_| Float64),
        (Binary, FixedSizeBinary(_)) | (FixedSizeBinary(_), Binary | FixedSizeBinary(_)) => Some(Binary),
        (Date32, Date64) | (Date64, Date32) => Some(Date64),
        (Date32, Timestamp(unit, None)) | (Timestamp(unit, None), Date32) => Some(Timestamp(*unit, None)),
        // Both are instants; the zone says how they are shown.
        (Timestamp(one, Some(zone)), Timestamp(other, Some(_))) => {
            Some(Timestamp(finer(*one, *other), Some(zone.clone())))
        }
        (Timestamp(one, None), Timestamp(other, None)) => Some(Timestamp(finer(*one, *other), None)),
        (Duration(one), Duration(other)) => Some(Duration(finer(*one, *other))),
        (Time32(one) | Time64(one), Time32(other) | Time64(other)) => Some(match finer(*one, *other) {
            unit @ (TimeUnit::Second | TimeUnit::Millisecond) => Time32(unit),
            unit => Time64(unit),
        }),
        (
            List(one) | FixedSizeList(one, _) | LargeList(one),
            List(other) | FixedSizeList(other, _) | LargeList(other),
        ) => {
            let item = widened_field(one, other)?;
            let is_large = matches!(a, LargeList(_)) || matches!(b, LargeList(_));
            Some(if is_large { LargeList(item) } else { List(item) })
        }
        (Map(one, sorted), Map(other, also_sorted)) => {
            // Entries keep their names: a map's are matched by place.
            let (Struct(fields), Struct(others)) = (one.data_type(), other.data_type()) else { return None };
            let [(key, value), (other_key, other_value)] =
                [fields, others].map(|fields| (fields.first(), fields.get(1)));
            let key = widened_field(key?, other_key?)?.as_ref().clone().with_nullable(false);
            let entries = Struct(Fields::from(vec![Arc::new(key), widened_field(value?, other_value?)?]));
            Some(Map(Arc::new(one.as_ref().clone().with_data_type(entries)), *sorted && *also_sorted))
        }
        (Struct(fields), Struct(others)) => {
            let by_name = |fields: &Fields, name: &str| fields.iter().find(|field| field.name() == name).cloned();
            let mut all: Vec<FieldRef> = Vec::with_capacity(fields.len());
            for field in fields {
                all.push(match by_name(others, field.name()) {
                    Some(other) => widened_field(field, &other)?,
                    None => nullable(field),
                });
            }
            all.extend(others.iter().filter(|other| by_name(fields, other.name()).is_none()).map(nullable));
            Some(Struct(all.into()))
        }
        _ => widened_decimal(a, b),
    }
}

fn widened_field(one: &FieldRef, other: &FieldRef) -> Option<FieldRef> {
    Some(Arc::new(Field::new(one.name(), widened(one.data_type(), other.data_type())?, true)))
}

fn nullable(field: &FieldRef) -> FieldRef {
    Arc::new(field.as_ref().clone().with_nullable(true))
}

/// Whether a whole number has a sign, and its bits.
fn whole(data_type: &DataType) -> Option<(bool, u8)> {
    let bits = data_type.primitive_width().unwrap_or_default() as u8 * 8;
    data_type.is_integer().then_some((data_type.is_signed_integer(), bits))
}

fn widened_whole((signed, bits): (bool, u8), (also_signed, other_bits): (bool, u8)) -> Option<DataType> {
    let (is_signed, bits) = match (signed, also_signed) {
        (true, false) => (true, bits.max(other_bits.saturating_mul(2))),
        (false, true) => (true, other_bits.max(bits.saturating_mul(2))),
        _ => (signed, bits.max(other_bits)),
    };
    Some(match (is_signed, bits) {
        (true, 8) => DataType::Int8,
        (true, 16) => DataType::Int16,
        (true, 32) => DataType::Int32,
        (true, 64) => DataType::Int64,
        (false, 8) => DataType::UInt8,
        (false, 16) => DataType::UInt16,
        (false, 32) => DataType::UInt32,
        (false, 64) => DataType::UInt64,
        // Those without a sign need one bit more than there is.
        _ => DataType::Decimal128(20, 0),
    })
}

fn finer(one: TimeUnit, other: TimeUnit) -> TimeUnit {
    one.max(other)
}

/// Digits before and after the point are as many as either has.
fn widened_decimal(a: &DataType, b: &DataType) -> Option<DataType> {
    let digits = |data_type: &DataType| match data_type {
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => Some((i16::from(*precision) - i16::from(*scale), *scale)),
        // 2^63 has 19 digits and 2^64 has 20.
        whole_number => whole(whole_number).map(|(is_signed, _)| (if is_signed { 19 } else { 20 }, 0)),
    };
    let ((before, scale), (other_before, other_scale)) = (digits(a)?, digits(b)?);
    let scale = scale.max(other_scale);
    let precision = u8::try_from(before.max(other_before) + i16::from(scale)).ok()?;
    match precision {
        _ if precision <= DECIMAL128_MAX_PRECISION => Some(DataType::Decimal128(precision, scale)),
        _ if precision <= DECIMAL256_MAX_PRECISION => Some(DataType::Decimal256(precision, scale)),
        _ => None,
    }
}

/// The values in a type that [`widened`] gave for theirs. Fields of structs are matched by name.
pub(super) fn fit(array: &ArrayRef, wanted: &DataType) -> Result<ArrayRef, ArrowError> {
    use DataType::*;
    if array.data_type() == wanted {
        return Ok(Arc::clone(array));
    }
    match (array.data_type(), wanted) {
        (Struct(_), Struct(fields)) => {
            let from = array.as_struct();
            let column = |field: &FieldRef| match from.column_by_name(field.name()) {
                Some(column) => fit(column, field.data_type()),
                None => Ok(new_null_array(field.data_type(), from.len())),
            };
            let columns = fields.iter().map(column).collect::<Result<Vec<_>, _>>()?;
            Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), columns, from.nulls().cloned(), from.len())?))
        }
        (List(_), List(item)) => fit_list(array.as_list::<i32>(), item),
        (LargeList(_), LargeList(item)) => fit_list(array.as_list::<i64>(), item),
        // First the items, then the layout: a cast of both at once would match the fields of structs by place.
        (List(_), LargeList(item)) => cast_exactly(&fit_list(array.as_list::<i32>(), item)?, wanted),
        (FixedSizeList(_, n), List(item) | LargeList(item)) => {
            let from = array.as_fixed_size_list();
            let items = fit(from.values(), item.data_type())?;
            let fitted = FixedSizeListArray::try_new(item.clone(), *n, items, from.nulls().cloned())?;
            cast_exactly(&(Arc::new(fitted) as ArrayRef), wanted)
        }
        (Map(..), Map(entries, sorted)) => {
            let Struct(fields) = entries.data_type() else { return cast_exactly(array, wanted) };
            let from = array.as_map();
            let columns = vec![fit(from.keys(), fields[0].data_type())?, fit(from.values(), fields[1].data_type())?];
            let fitted = StructArray::try_new(fields.clone(), columns, None)?;
            let offsets = from.offsets().clone();
            Ok(Arc::new(MapArray::try_new(entries.clone(), offsets, fitted, from.nulls().cloned(), *sorted)?))
        }
        _ => cast_exactly(array, wanted),
    }
}

fn fit_list<O: OffsetSizeTrait>(from: &GenericListArray<O>, item: &FieldRef) -> Result<ArrayRef, ArrowError> {
    let items = fit(from.values(), item.data_type())?;
    let offsets: OffsetBuffer<O> = from.offsets().clone();
    Ok(Arc::new(GenericListArray::try_new(item.clone(), offsets, items, from.nulls().cloned())?))
}

/// What has no place in the type is an error, not a null.
fn cast_exactly(array: &ArrayRef, wanted: &DataType) -> Result<ArrayRef, ArrowError> {
    cast_with_options(array, wanted, &CastOptions { safe: false, ..CastOptions::default() })
}
