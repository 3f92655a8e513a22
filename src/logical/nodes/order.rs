//! The order that a node needs its input in.
//!
//! A node whose result depends on the order of its rows names the columns of that order. So no rule can take the
//! columns away or drop the sort below: the executor asks for the same order (`physical::lower`).
//! Not here: which order that is (`KeepInputOrder`).

use datafusion::common::{Column, DFSchema};

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
