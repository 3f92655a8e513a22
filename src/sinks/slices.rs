//! Cuts a sequence of rows into slices of a fixed size, whatever batches they came in.
//!
//! A slice ends with the first row that brings it to the size or number of rows wanted. The size of a row is that of
//! its values (text length, fixed widths), not of the buffers they happen to lie in. No row is copied here: one thread cuts,
//! and many encode.
//! Invariant: the slices of the same rows are the same. Not here: encoding them (`lines.rs`, `columns.rs`).

use crate::{Result, bug};
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};
use std::sync::Arc;

/// Where slices end.
#[derive(Clone, Copy, Debug)]
pub(super) struct SliceSize {
    pub bytes: usize,
    pub rows: usize,
}

/// Rows that do not fill a slice yet.
pub(super) struct Slicer {
    size: SliceSize,
    held: Slice,
}

/// Rows to be encoded together, in the batches that they came in.
#[derive(Debug, Default)]
pub(super) struct Slice {
    pub batches: Vec<RecordBatch>,
    pub n_rows: usize,
    pub n_bytes: usize,
}

impl Slicer {
    pub fn new(size: SliceSize) -> Slicer {
        Slicer { size, held: Slice::default() }
    }

    /// Adds rows; gives the slices that are full.
    pub fn push(&mut self, batch: &RecordBatch) -> Vec<Slice> {
        let mut row_bytes = vec![0; batch.num_rows()];
        for column in batch.columns() {
            add_row_bytes(column.as_ref(), &mut row_bytes);
        }
        let mut full = Vec::new();
        let mut start = 0;
        for (row, n_bytes) in row_bytes.into_iter().enumerate() {
            self.held.n_rows += 1;
            self.held.n_bytes += n_bytes;
            if self.held.n_rows >= self.size.rows || self.held.n_bytes >= self.size.bytes {
                self.held.batches.push(batch.slice(start, row + 1 - start));
                start = row + 1;
                full.extend(self.take());
            }
        }
        if start < batch.num_rows() {
            self.held.batches.push(batch.slice(start, batch.num_rows() - start));
        }
        full
    }

    /// The rows held, as the last slice.
    pub fn take(&mut self) -> Option<Slice> {
        (self.held.n_rows > 0).then(|| std::mem::take(&mut self.held))
    }
}

impl Slice {
    /// The rows in one batch of plain arrays, as [`plain_schema`] has them. Copies.
    pub fn to_plain(&self, schema: &SchemaRef) -> Result<RecordBatch> {
        // Piece by piece: a whole batch may be too large for 32-bit offsets.
        let pieces = self.batches.iter().map(|piece| {
            let columns = schema.fields().iter().zip(piece.columns());
            let columns: Vec<ArrayRef> = columns
                .map(|(field, column)| cast(column, field.data_type()))
                .collect::<Result<_, _>>()
                .map_err(|error| bug!("cannot unpack a column: {error}"))?;
            RecordBatch::try_new(schema.clone(), columns).map_err(|error| bug!("cannot unpack a batch: {error}"))
        });
        let pieces = pieces.collect::<Result<Vec<_>>>()?;
        concat_batches(schema, &pieces).map_err(|error| bug!("cannot join rows: {error}"))
    }
}

/// The schema with every dictionary, run and view replaced by the plain array of its values.
///
/// Older readers do not know views; the dictionaries of an Arrow file may not change between its batches; and what a
/// view's buffers hold beyond its rows depends on where the rows came from.
pub(super) fn plain_schema(schema: &Schema) -> SchemaRef {
    Arc::new(Schema::new(schema.fields().iter().map(plain_field).collect::<Fields>()))
}

fn plain_field(field: &Arc<Field>) -> Arc<Field> {
    Arc::new(field.as_ref().clone().with_data_type(plain_type(field.data_type())))
}

fn plain_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::Dictionary(_, values) => plain_type(values),
        DataType::RunEndEncoded(_, values) => plain_type(values.data_type()),
        DataType::List(field) | DataType::ListView(field) => DataType::List(plain_field(field)),
        DataType::LargeList(field) | DataType::LargeListView(field) => DataType::LargeList(plain_field(field)),
        DataType::FixedSizeList(field, n) => DataType::FixedSizeList(plain_field(field), *n),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(plain_field).collect()),
        DataType::Map(field, sorted) => DataType::Map(plain_field(field), *sorted),
        other => other.clone(),
    }
}

/// Adds the size of each row's value. A null is counted as nothing, whatever its slot holds.
fn add_row_bytes(array: &dyn Array, row_bytes: &mut [usize]) {
    let mut add = |bytes_of: &dyn Fn(usize) -> usize| {
        for (row, total) in row_bytes.iter_mut().enumerate() {
            if array.is_valid(row) {
                *total += bytes_of(row);
            }
        }
    };
    match array.data_type() {
        DataType::Utf8 => add(&|row| 4 + array.as_string::<i32>().value_length(row) as usize),
        DataType::LargeUtf8 => add(&|row| 8 + array.as_string::<i64>().value_length(row) as usize),
        DataType::Binary => add(&|row| 4 + array.as_binary::<i32>().value_length(row) as usize),
        DataType::LargeBinary => add(&|row| 8 + array.as_binary::<i64>().value_length(row) as usize),
        DataType::Utf8View => add(&|row| 4 + array.as_string_view().value(row).len()),
        DataType::BinaryView => add(&|row| 4 + array.as_binary_view().value(row).len()),
        DataType::Dictionary(_, _) => {
            let dictionary = array.as_any_dictionary();
            let mut sizes = vec![0; dictionary.values().len()];
            add_row_bytes(dictionary.values().as_ref(), &mut sizes);
            if !sizes.is_empty() {
                let keys = dictionary.normalized_keys();
                add(&|row| sizes[keys[row]]);
            }
        }
        DataType::FixedSizeBinary(n) => add(&|_| *n as usize),
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let sums = prefix_sums(list.values().as_ref());
            add(&|row| 4 + sums[list.offsets()[row + 1] as usize] - sums[list.offsets()[row] as usize]);
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            let sums = prefix_sums(list.values().as_ref());
            add(&|row| 8 + sums[list.offsets()[row + 1] as usize] - sums[list.offsets()[row] as usize]);
        }
        DataType::Map(_, _) => {
            let map = array.as_map();
            let sums = prefix_sums(map.entries());
            add(&|row| 4 + sums[map.offsets()[row + 1] as usize] - sums[map.offsets()[row] as usize]);
        }
        DataType::FixedSizeList(_, n) => {
            let list = array.as_fixed_size_list();
            let sums = prefix_sums(list.values().as_ref());
            let n = *n as usize;
            add(&|row| sums[(row + 1) * n] - sums[row * n]);
        }
        DataType::Struct(_) => {
            let mut members = vec![0; array.len()];
            for member in array.as_struct().columns() {
                add_row_bytes(member.as_ref(), &mut members);
            }
            add(&|row| members[row]);
        }
        other => {
            let width = other.primitive_width().unwrap_or(1);
            add(&|_| width);
        }
    }
}

/// `sums[i]`: the size of the first `i` values.
fn prefix_sums(values: &dyn Array) -> Vec<usize> {
    let mut sizes = vec![0; values.len()];
    add_row_bytes(values, &mut sizes);
    let mut total = 0;
    let mut sums = Vec::with_capacity(sizes.len() + 1);
    sums.push(0);
    sums.extend(sizes.into_iter().map(|size| {
        total += size;
        total
    }));
    sums
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use arrow::array::{DictionaryArray, Int64Array, StringArray, StringViewArray, types::Int32Type};

    /// Rows and bytes of each slice.
    fn slices(rows: &RecordBatch, batch_rows: usize, slice_bytes: usize) -> Vec<(usize, usize)> {
        let mut slicer = Slicer::new(SliceSize { bytes: slice_bytes, rows: 8192 });
        let mut slices = Vec::new();
        for start in (0..rows.num_rows()).step_by(batch_rows) {
            let batch = rows.slice(start, batch_rows.min(rows.num_rows() - start));
            slices.extend(slicer.push(&batch));
        }
        slices.extend(slicer.take());
        let plain = plain_schema(&rows.schema());
        for slice in &slices {
            assert_eq!(slice.to_plain(&plain).unwrap().num_rows(), slice.n_rows);
        }
        slices.iter().map(|slice| (slice.n_rows, slice.n_bytes)).collect()
    }

    #[test]
    fn slices_end_at_the_same_rows_whatever_the_batches() {
        let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..20_000));
        let rows = RecordBatch::try_from_iter(vec![("id", ids)]).unwrap();
        for batch_rows in [1, 7, 8192, 20_000] {
            assert_eq!(slices(&rows, batch_rows, 1 << 20), [(8192, 65_536), (8192, 65_536), (3616, 28_928)]);
            assert_eq!(slices(&rows, batch_rows, 80_000)[2], (3616, 28_928));
            assert!(slices(&rows, batch_rows, 80).iter().all(|slice| *slice == (10, 80)));
        }
    }

    #[test]
    fn a_text_counts_the_same_in_every_kind_of_array() {
        let texts = [Some("four"), None, Some("fourteen bytes")];
        let arrays: [ArrayRef; 3] = [
            Arc::new(StringArray::from_iter(texts)),
            Arc::new(StringViewArray::from_iter(texts)),
            Arc::new(DictionaryArray::<Int32Type>::from_iter(texts)),
        ];
        for array in arrays {
            let rows = RecordBatch::try_from_iter_with_nullable(vec![("t", array, true)]).unwrap();
            assert_eq!(slices(&rows, 3, 1), [(1, 8), (2, 18)]);
        }
    }
}
