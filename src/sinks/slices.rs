//! Cuts a sequence of rows into slices of a fixed size, whatever batches they came in.
//!
//! A slice ends with the first row that brings it to the size or number of rows wanted. The size of a row is that of
//! its values (text length, fixed widths), not of the buffers they happen to lie in.
//! Invariant: the slices of the same rows are the same. Not here: encoding them (`columns.rs`).

use crate::{Result, bug};
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};
use std::sync::Arc;

/// A slice is cut at this many rows even if they are small.
const SLICE_ROWS: usize = 8192;

/// Rows that do not fill a slice yet.
pub(super) struct Slicer {
    schema: SchemaRef,
    slice_bytes: usize,
    held: Vec<RecordBatch>,
    held_rows: usize,
    held_bytes: usize,
}

/// Rows to be encoded together.
pub(super) struct Slice {
    pub batch: RecordBatch,
    pub n_bytes: usize,
}

impl Slicer {
    pub fn new(schema: &Schema, slice_bytes: usize) -> Slicer {
        Slicer { schema: plain_schema(schema), slice_bytes, held: Vec::new(), held_rows: 0, held_bytes: 0 }
    }

    /// The schema of the slices: plain arrays only.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Adds rows; gives the slices that are full.
    pub fn push(&mut self, batch: &RecordBatch) -> Result<Vec<Slice>> {
        let batch = self.plain_batch(batch)?;
        let mut row_bytes = vec![0; batch.num_rows()];
        for column in batch.columns() {
            add_row_bytes(column.as_ref(), &mut row_bytes);
        }
        let mut full = Vec::new();
        let mut start = 0;
        for (row, n_bytes) in row_bytes.into_iter().enumerate() {
            self.held_rows += 1;
            self.held_bytes += n_bytes;
            if self.held_rows >= SLICE_ROWS || self.held_bytes >= self.slice_bytes {
                self.held.push(batch.slice(start, row + 1 - start));
                start = row + 1;
                full.extend(self.take()?);
            }
        }
        if start < batch.num_rows() {
            self.held.push(batch.slice(start, batch.num_rows() - start));
        }
        Ok(full)
    }

    /// The rows held, as the last slice.
    pub fn take(&mut self) -> Result<Option<Slice>> {
        if self.held.is_empty() {
            return Ok(None);
        }
        let batch = concat_batches(&self.schema, &self.held).map_err(|error| bug!("cannot join rows: {error}"))?;
        self.held.clear();
        self.held_rows = 0;
        Ok(Some(Slice { batch, n_bytes: std::mem::take(&mut self.held_bytes) }))
    }

    fn plain_batch(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let columns = self.schema.fields().iter().zip(batch.columns());
        let columns: Vec<ArrayRef> = columns
            .map(|(field, column)| cast(column, field.data_type()))
            .collect::<Result<_, _>>()
            .map_err(|error| bug!("cannot unpack a column: {error}"))?;
        RecordBatch::try_new(self.schema.clone(), columns).map_err(|error| bug!("cannot unpack a batch: {error}"))
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
