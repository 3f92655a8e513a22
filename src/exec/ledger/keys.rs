//! Where a dropped document belongs in the ledger: a key of bytes, so that documents sorted by key stand in input order.
//!
//! ```text
//! FROM a |> WHERE …                    (position)
//! FROM a |> UNION ALL (…) |> WHERE …   (position among all branches)
//! FROM a |> JOIN b … |> WHERE …        (position in a, position in b, content)
//! FROM a |> AGGREGATE … |> WHERE …     (content)
//! ```
//! Invariant: equal keys mean equal documents, or documents of one partition, in its order. So the ledger has the same bytes
//! whatever partitions and batches there are.

use crate::sources::is_position;
use arrow::array::{ArrayRef, BinaryArray, RecordBatch};
use arrow::compute::SortOptions;
use arrow::datatypes::Schema;
use arrow::row::{RowConverter, Rows, SortField};
use datafusion::error::Result;
use datafusion::physical_expr::PhysicalSortExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::unnest::UnnestExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_128;

/// A key holds so many bytes of a document's content, by which people find their way; a hash tells longer ones apart.
const CONTENT_BYTES: usize = 64;

/// Whether the rows of each partition of `input` have ascending keys; then no partition waits longer than it must.
///
/// The one position of a row must be its own: what takes rows apart or joins them gives one position to several rows.
pub(in crate::exec) fn ascends(input: &Arc<dyn ExecutionPlan>) -> bool {
    let schema = input.schema();
    let [position] = position_columns(&schema)[..] else { return false };
    let column = Arc::new(Column::new(schema.field(position).name(), position));
    let order = [PhysicalSortExpr::new(column, SortOptions::new(false, false))];
    has_own_positions(input) && input.equivalence_properties().ordering_satisfy(order).unwrap_or(false)
}

fn has_own_positions(plan: &Arc<dyn ExecutionPlan>) -> bool {
    match plan.children().as_slice() {
        [] => true,
        [input] => !plan.is::<UnnestExec>() && has_own_positions(input),
        inputs => plan.is::<UnionExec>() && inputs.iter().all(|input| has_own_positions(input)),
    }
}

/// The columns that tell the order of rows.
pub(in crate::exec) fn position_columns(schema: &Schema) -> Vec<usize> {
    let fields = schema.fields().iter().enumerate();
    fields.filter(|(_, field)| is_position(field.name())).map(|(index, _)| index).collect()
}

/// Makes the keys of the rows of one program.
#[derive(Debug)]
pub(in crate::exec) struct DropKeys {
    positions: Columns,
    /// What else tells rows apart; `None` if each has a position of its own.
    content: Option<Columns>,
}

/// Some columns as bytes that sort as their values do.
#[derive(Debug)]
struct Columns {
    columns: Vec<usize>,
    converter: RowConverter,
}

impl DropKeys {
    /// Keys of rows of this schema, of which the first columns are written. Rows that ascend need no content.
    pub fn new(schema: &Schema, n_written: usize, ascends: bool) -> Result<Self> {
        let content = (!ascends).then(|| Columns::new(schema, (0..n_written).collect())).transpose()?;
        Ok(Self { positions: Columns::new(schema, position_columns(schema))?, content })
    }

    /// A key for each row.
    pub fn of(&self, rows: &RecordBatch) -> Result<BinaryArray> {
        let positions = self.positions.rows(rows)?;
        let content = self.content.as_ref().map(|content| content.rows(rows)).transpose()?.flatten();
        let key = |row: usize| {
            let mut key = positions.as_ref().map_or_else(Vec::new, |positions| positions.row(row).as_ref().to_vec());
            if let Some(content) = &content {
                let content = content.row(row);
                let content = content.as_ref();
                key.extend_from_slice(&content[..content.len().min(CONTENT_BYTES)]);
                key.extend_from_slice(&xxh3_128(content).to_be_bytes());
            }
            key
        };
        Ok(BinaryArray::from_iter_values((0..rows.num_rows()).map(key)))
    }

    /// The key of the last row, if rows ascend: its partition brings none before it any more.
    pub fn last(&self, rows: &RecordBatch) -> Result<Option<Vec<u8>>> {
        match rows.num_rows().checked_sub(1).filter(|_| self.content.is_none()) {
            Some(last) => Ok(Some(self.of(&rows.slice(last, 1))?.value(0).to_vec())),
            None => Ok(None),
        }
    }
}

impl Columns {
    /// Those of the columns that can be sorted by.
    fn new(schema: &Schema, mut columns: Vec<usize>) -> Result<Self> {
        let field = |index: &usize| SortField::new(schema.field(*index).data_type().clone());
        columns.retain(|index| RowConverter::supports_fields(&[field(index)]));
        let converter = RowConverter::new(columns.iter().map(field).collect())?;
        Ok(Self { columns, converter })
    }

    fn rows(&self, rows: &RecordBatch) -> Result<Option<Rows>> {
        if self.columns.is_empty() {
            return Ok(None);
        }
        let columns: Vec<ArrayRef> = self.columns.iter().map(|index| Arc::clone(rows.column(*index))).collect();
        Ok(Some(self.converter.convert_columns(&columns)?))
    }
}
