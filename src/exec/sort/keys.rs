//! The keys of rows as bytes that compare as the rows do, and how many bytes a row has.

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Schema};
use arrow::row::{RowConverter, Rows, SortField};
use datafusion::error::Result;
use datafusion::physical_expr::LexOrdering;

/// Makes the keys of batches.
pub(super) struct SortKeys {
    order: LexOrdering,
    converter: RowConverter,
}

impl SortKeys {
    pub fn new(order: &LexOrdering, schema: &Schema) -> Result<Self> {
        Ok(Self { order: order.clone(), converter: RowConverter::new(fields(order, schema)?)? })
    }

    /// Whether rows can be compared by such keys.
    pub fn can_compare(order: &LexOrdering, schema: &Schema) -> Result<bool> {
        Ok(RowConverter::supports_fields(&fields(order, schema)?))
    }

    /// The key of each row.
    pub fn of(&self, batch: &RecordBatch) -> Result<Rows> {
        let columns = self.order.iter().map(|key| key.expr.evaluate(batch)?.into_array(batch.num_rows()));
        Ok(self.converter.convert_columns(&columns.collect::<Result<Vec<_>>>()?)?)
    }
}

fn fields(order: &LexOrdering, schema: &Schema) -> Result<Vec<SortField>> {
    order.iter().map(|key| Ok(SortField::new_with_options(key.expr.data_type(schema)?, key.options))).collect()
}

/// How many bytes each row has: its texts are counted, of other columns it has an equal share.
pub(super) fn bytes_per_row(batch: &RecordBatch) -> Vec<u32> {
    let mut bytes = vec![0_u32; batch.num_rows()];
    let mut shared_bytes = 0;
    let mut add = |lengths: &mut dyn Iterator<Item = usize>| {
        bytes.iter_mut().zip(lengths).for_each(|(bytes, n)| *bytes = bytes.saturating_add(n as u32).saturating_add(4));
    };
    for column in batch.columns() {
        match column.data_type() {
            DataType::Utf8 => add(&mut column.as_string::<i32>().offsets().lengths()),
            DataType::LargeUtf8 => add(&mut column.as_string::<i64>().offsets().lengths()),
            DataType::Binary => add(&mut column.as_binary::<i32>().offsets().lengths()),
            DataType::LargeBinary => add(&mut column.as_binary::<i64>().offsets().lengths()),
            // A view's length is the lower half of its 16 bytes.
            DataType::Utf8View => {
                add(&mut column.as_string_view().views().iter().map(|view| 16 + *view as u32 as usize));
            }
            _ => shared_bytes += column.to_data().get_slice_memory_size().unwrap_or_default(),
        }
    }
    let share = (shared_bytes / batch.num_rows().max(1)) as u32;
    bytes.iter_mut().for_each(|bytes| *bytes = bytes.saturating_add(share));
    bytes
}
