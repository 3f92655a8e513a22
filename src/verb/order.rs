//! What a verb needs and makes of the order of its rows.
//!
//! A verb whose result depends on the order of its rows names the columns of that order. So no rule can take the
//! columns away or drop the sort below: the executor asks for the same order.
//! Not here: which order that is (`KeepInputOrder`).

use arrow::compute::SortOptions;
use datafusion::common::{Column, DFSchema};
use datafusion::error::Result;

/// What becomes of the order of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowOrder {
    /// The order decides nothing, and rows stay in it.
    Indifferent,
    /// The order decides, and rows stay in it. They may come in partitions that ascend in one position, and stay in them.
    Keeps,
    /// The same; a row may become several, which come one after the other in its place, and are numbered.
    Splits,
    /// The order decides; rows come in another one, in one stream, and are numbered. They may come in partitions.
    Makes,
    /// The order is that of what is written; no rows come out, only the columns that the verb adds.
    Ends,
}

impl RowOrder {
    /// The verb numbers the rows that come out, in a last column.
    pub fn numbers_rows(self) -> bool {
        matches!(self, RowOrder::Splits | RowOrder::Makes)
    }

    /// The verb works in stages: rows may come in partitions that ascend in one position.
    pub fn takes_partitions(self) -> bool {
        self.keeps_partitions() || self == RowOrder::Makes
    }

    /// Rows that come in partitions stay in them.
    pub fn keeps_partitions(self) -> bool {
        matches!(self, RowOrder::Keeps | RowOrder::Splits)
    }

    /// Rows of the input come out.
    pub fn passes_rows(self) -> bool {
        self != RowOrder::Ends
    }
}

/// One column of an order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SortColumn {
    /// The column of the input.
    pub column: Column,
    /// The greatest value comes first.
    pub descending: bool,
    /// Nulls come before all values.
    pub nulls_first: bool,
}

/// Where the columns of an order are in the input; those that are not there are left out.
pub(super) fn indices<'o>(order: &'o [SortColumn], schema: &'o DFSchema) -> impl Iterator<Item = usize> + 'o {
    order.iter().filter_map(|key| schema.maybe_index_of_column(&key.column))
}

/// The columns of an order by their indices in the input.
pub(super) fn sort_keys(order: &[SortColumn], schema: &DFSchema) -> Result<Vec<(usize, SortOptions)>> {
    let key = |key: &SortColumn| {
        let options = SortOptions { descending: key.descending, nulls_first: key.nulls_first };
        Ok((schema.index_of_column(&key.column)?, options))
    };
    order.iter().map(key).collect()
}
