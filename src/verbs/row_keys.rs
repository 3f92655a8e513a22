//! The numbers by which verbs choose among rows: `hash(seed, position)`, the same whatever the threads and batches.
//!
//! Where rows come in an order that is no position (after `ORDER BY`, a join), the place of a row in that order counts.

use crate::sources::is_position;
use crate::verb::Start;
use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::{DataType, UInt64Type};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// What decides about a row: its number, and what tells it from others with the same number.
pub(super) type Key = (u64, Row);

/// The position of a row, and which of the rows with that position it is: `UNNEST` makes several.
pub(super) type Row = (u64, u64);

fn number(seed: u64, (position, repeat): Row) -> u64 {
    match repeat {
        0 => xxh3_64_with_seed(&position.to_le_bytes(), seed),
        _ => xxh3_64_with_seed([position.to_le_bytes(), repeat.to_le_bytes()].as_flattened(), seed),
    }
}

/// The keys of the rows of one partition.
pub(super) struct RowKeys {
    seed: u64,
    /// The column with the positions. Without one, there is one partition, and rows are counted.
    position: Option<usize>,
    /// The row that came last.
    last: Option<Row>,
}

impl RowKeys {
    pub fn new(start: &Start<'_>, seed: u64) -> Self {
        // What decides is the order that was asked for, not whether rows come in partitions: it must be the same for all threads.
        let position = match start.layout.orders.first().map(Vec::as_slice) {
            Some([(index, options)]) if !options.descending => Some(*index),
            _ => None,
        };
        let schema = start.rows_schema();
        let position = position.filter(|index| {
            let field = schema.field(*index);
            is_position(field.name()) && *field.data_type() == DataType::UInt64 && !field.is_nullable()
        });
        Self { seed, position, last: None }
    }

    /// The keys of the next rows.
    pub fn next(&mut self, batch: &RecordBatch) -> Vec<Key> {
        let positions = self.position.and_then(|index| batch.column(index).as_primitive_opt::<UInt64Type>());
        let mut next = |place: usize| {
            let row = match (positions, self.last) {
                (Some(positions), Some((last, repeat))) if positions.value(place) == last => (last, repeat + 1),
                (Some(positions), _) => (positions.value(place), 0),
                (None, last) => (last.map_or(0, |(last, _)| last + 1), 0),
            };
            self.last = Some(row);
            (number(self.seed, row), row)
        };
        (0..batch.num_rows()).map(&mut next).collect()
    }
}
