//! Puts a batch together: the decoded columns, the folders' values, and where each row came from.

use super::format::{DecodedRows, Input, Origin};
use super::table::{FileTable, SourceColumn};
use crate::Error;
use arrow::array::{
    ArrayRef, BooleanArray, Int64Array, RecordBatch, RecordBatchOptions, StringArray, StringBuilder, UInt64Array,
};
use arrow::datatypes::{DataType, SchemaRef};
use std::sync::Arc;

/// The position of a row keeps its piece above this many bits.
const ROW_BITS: u32 = 40;

/// The number of the piece that a position is in, and the row there, from 1.
pub(super) fn origin_of(position: u64) -> (u32, u64) {
    ((position >> ROW_BITS) as u32, (position & ((1 << ROW_BITS) - 1)) + 1)
}

/// Makes batches of a scan's schema.
pub(crate) struct Assembler {
    input: Arc<Input>,
    schema: SchemaRef,
    columns: Vec<SourceColumn>,
}

impl Assembler {
    pub fn new(table: &FileTable, projection: &[usize], schema: SchemaRef) -> Self {
        let columns = projection.iter().filter_map(|index| table.columns().get(*index)).cloned().collect();
        Self { input: table.input.clone(), schema, columns }
    }

    /// The batch of decoded rows. Their columns come in the order of the projection.
    pub fn assemble(&self, rows: DecodedRows) -> Result<RecordBatch, Error> {
        let DecodedRows { columns: decoded, mut lines, origins } = rows;
        let mut decoded = decoded.into_iter();
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(self.columns.len());
        for (column, field) in self.columns.iter().zip(self.schema.fields()) {
            columns.push(match column {
                SourceColumn::Data(_) => {
                    decoded.next().ok_or_else(|| crate::bug!("column `{}` was not decoded", field.name()))?
                }
                SourceColumn::Partition(key) => self.partition_column(key, field.data_type(), &origins),
                SourceColumn::File => self.file_column(&origins),
                SourceColumn::Row => self.row_column(&origins)?,
                SourceColumn::Line => lines.take().ok_or_else(|| crate::bug!("the lines of the rows were not kept"))?,
                SourceColumn::Position => {
                    Arc::new(UInt64Array::from_iter_values(origins.iter().map(|at| self.position(*at))))
                }
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(origins.len()));
        RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)
            .map_err(|error| crate::bug!("a decoded batch does not fit its schema: {error}"))
    }

    /// The place of a row in the whole source: piece first, then row.
    fn position(&self, origin: Origin) -> u64 {
        let piece = &self.input.splits.pieces[origin.piece as usize];
        (u64::from(piece.number) << ROW_BITS) | origin.row.saturating_sub(1)
    }

    fn file_column(&self, origins: &[Origin]) -> ArrayRef {
        let mut column = StringBuilder::new();
        for origin in origins {
            column.append_value(&self.input.file_of(origin.piece as usize).name);
        }
        Arc::new(column.finish())
    }

    /// Rows are numbered within their piece; here they get their numbers in the file.
    fn row_column(&self, origins: &[Origin]) -> Result<ArrayRef, Error> {
        let mut column = Vec::with_capacity(origins.len());
        let mut before = None;
        for Origin { piece, row } in origins {
            let rows_before = match before {
                Some((known, rows)) if known == *piece => rows,
                _ => self.input.counts.before(&self.input, *piece as usize)?.lines,
            };
            before = Some((*piece, rows_before));
            column.push((rows_before + row) as i64);
        }
        Ok(Arc::new(Int64Array::from(column)))
    }

    fn partition_column(&self, key: &str, data_type: &DataType, origins: &[Origin]) -> ArrayRef {
        let value = |origin: &Origin| {
            let partitions = &self.input.file_of(origin.piece as usize).partitions;
            partitions.iter().find(|(known, _)| known == key).and_then(|(_, value)| value.as_deref())
        };
        let values = origins.iter().map(value);
        match data_type {
            DataType::Int64 => Arc::new(Int64Array::from_iter(values.map(|text| text?.parse::<i64>().ok()))),
            DataType::Boolean => Arc::new(BooleanArray::from_iter(values.map(|text| text?.parse::<bool>().ok()))),
            _ => Arc::new(StringArray::from_iter(values)),
        }
    }
}
