//! A plan on its way up, with the columns that tell the order of its rows.
//!
//! Invariant: the plan has all columns of the plan that it replaces, under the same names, and perhaps hidden ones.

use crate::sources::POSITION_COLUMN;
use crate::verb::SortColumn;
use arrow::datatypes::FieldRef;
use arrow::row::{RowConverter, SortField};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Column, DFSchema, DFSchemaRef, TableReference};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, LogicalPlan, Projection, Sort, SortExpr};
use std::sync::Arc;

/// One column of an order, by its place in the plan's schema.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Key {
    pub index: usize,
    pub asc: bool,
    pub nulls_first: bool,
}

impl Key {
    pub fn ascending(index: usize) -> Self {
        Self { index, asc: true, nulls_first: false }
    }

    pub fn sort_expr(&self, schema: &DFSchemaRef) -> SortExpr {
        column(schema, self.index).sort(self.asc, self.nulls_first)
    }
}

/// The order of a plan's rows.
#[derive(Debug, Clone)]
pub(super) struct Order {
    pub keys: Vec<Key>,
    /// The rows are in this order already, and nothing above would mix them.
    pub sorted: bool,
    /// The only key is a position: a whole number from 0 to this many times 2⁶⁴.
    pub spans: Option<u64>,
}

impl Order {
    pub fn of(keys: Vec<Key>) -> Self {
        Self { keys, sorted: false, spans: None }
    }

    pub fn of_positions(self, spans: u64) -> Self {
        Self { spans: Some(spans), ..self }
    }

    pub fn already_sorted(self) -> Self {
        Self { sorted: true, ..self }
    }

    pub fn not_sorted(self) -> Self {
        Self { sorted: false, ..self }
    }

    /// The same order above a node that lets only these of its input's columns through; unknown if a key is not
    /// among them.
    pub fn through(mut self, columns: &[usize]) -> Option<Self> {
        for key in &mut self.keys {
            key.index = columns.iter().position(|column| *column == key.index)?;
        }
        Some(self)
    }

    pub fn map_indices(mut self, mut place: impl FnMut(usize) -> usize) -> Self {
        self.keys.iter_mut().for_each(|key| key.index = place(key.index));
        self
    }
}

/// A plan and the order of its rows, if that is known.
pub(super) struct Carried {
    pub plan: LogicalPlan,
    pub order: Option<Order>,
}

impl Carried {
    pub fn known(plan: LogicalPlan, order: Order) -> Self {
        Self { plan, order: Some(order) }
    }

    pub fn unknown(plan: LogicalPlan) -> Self {
        Self { plan, order: None }
    }

    /// A plan whose rows are told apart by their first columns; unknown if some cannot be sorted by.
    pub fn by_columns(plan: LogicalPlan, n_columns: usize) -> Self {
        let fields: Vec<SortField> =
            plan.schema().fields()[..n_columns].iter().map(|field| SortField::new(field.data_type().clone())).collect();
        if !RowConverter::supports_fields(&fields) {
            return Self::unknown(plan);
        }
        Self::known(plan, Order::of((0..n_columns).map(Key::ascending).collect()))
    }

    /// The same rows, in order if it is known.
    pub fn sorted(self) -> Self {
        match self.order {
            Some(order) if !order.sorted => {
                let plan = if order.keys.is_empty() {
                    self.plan
                } else {
                    let expr = order.keys.iter().map(|key| key.sort_expr(self.plan.schema())).collect();
                    LogicalPlan::Sort(Sort { expr, input: Arc::new(self.plan), fetch: None })
                };
                Self::known(plan, order.already_sorted())
            }
            _ => self,
        }
    }

    /// What the rows are sorted by, for a node that must name it.
    pub fn sort_columns(&self) -> Vec<SortColumn> {
        let schema = self.plan.schema();
        let keys = self.order.iter().flat_map(|order| &order.keys);
        keys.map(|key| SortColumn {
            column: Column::from(schema.qualified_field(key.index)),
            descending: !key.asc,
            nulls_first: key.nulls_first,
        })
        .collect()
    }

    /// Without the hidden columns: exactly the columns of `schema`.
    pub fn strip(self, schema: &DFSchemaRef) -> Result<LogicalPlan> {
        if self.plan.schema().columns() == schema.columns() {
            return Ok(self.plan);
        }
        let columns = schema.columns().into_iter().map(Expr::Column).collect();
        Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(self.plan))?))
    }
}

pub(super) fn column(schema: &DFSchemaRef, index: usize) -> Expr {
    Expr::Column(Column::from(schema.qualified_field(index)))
}

/// The keys without those that are decided by an earlier one.
pub(super) fn without_repeats(keys: Vec<Key>) -> Vec<Key> {
    let mut kept: Vec<Key> = vec![];
    for key in keys {
        if kept.iter().all(|earlier| earlier.index != key.index) {
            kept.push(key);
        }
    }
    kept
}

/// The first number that no hidden column of the plan has: a plan may come here a second time (`CREATE TABLE … AS`).
pub(super) fn n_names_taken(plan: &LogicalPlan) -> Result<usize> {
    let mut n_taken = 0;
    plan.apply_with_subqueries(|node| {
        for field in node.schema().fields() {
            let number = field.name().strip_prefix(POSITION_COLUMN).and_then(|rest| rest.strip_prefix('_'));
            if let Some(number) = number.and_then(|number| number.parse::<usize>().ok()) {
                n_taken = n_taken.max(number.saturating_add(1));
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(n_taken)
}

/// Whether a column is one of this rule's.
pub(super) fn is_hidden(name: &str) -> bool {
    name.strip_prefix(POSITION_COLUMN).is_some_and(|rest| rest.starts_with('_'))
}

/// `schema` with more columns at its end.
pub(super) fn with_columns(schema: &DFSchema, more: Vec<(Option<TableReference>, FieldRef)>) -> Result<DFSchemaRef> {
    let fields = schema.iter().map(|(qualifier, field)| (qualifier.cloned(), Arc::clone(field)));
    Ok(Arc::new(DFSchema::new_with_metadata(fields.chain(more).collect(), schema.metadata().clone())?))
}
