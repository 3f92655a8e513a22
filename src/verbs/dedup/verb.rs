//! `DEDUP … ON …`: rows that repeat earlier ones go, or what they repeat is cut out of them.
//!
//! The binder puts what the executor needs into hidden columns of the input (keys, what `KEEP … BY` orders by), computed
//! where the input is still in parallel; they end here. Needs its input in a defined order (`KeepInputOrder`).
//! No filter passes below by itself (`FilterBeforeDedup` asks when one may).
//! Not here: the finding (`exec/`).

use super::exec::{DedupColumns, Deduplication};
use crate::dedup::{Against, AgainstMode, ExtraColumn, Keep, KeepWhich, Method};
use crate::verb::{Planning, RowOrder, Verb};
use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, Field};
use datafusion::common::Column;
use datafusion::error::Result;
use datafusion::physical_plan::ExecutionPlan;
use std::sync::Arc;

/// What a `DEDUP` was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct DedupRequest {
    /// The verb as the funnel and the ledger name it: `DEDUP FUZZY ON text`.
    pub label: String,
    /// How duplicates are found.
    pub method: Method,
    /// What rows are compared by. EXACT: a 128-bit hash, null for rows that are never duplicates. FUZZY: the
    /// fingerprints of the bands. SEMANTIC: the vector.
    pub key: Option<Column>,
    /// The text or value itself: what LINES and SUBSTRING cut, what verification compares.
    pub value: Option<Column>,
    /// Which row of a cluster stays.
    pub keep: Keep,
    /// The column that names documents, in the ledger, `kept_id` and an index.
    pub id: Option<Column>,
    /// Duplicates go; otherwise they stay, and the added columns tell which they are.
    pub drops: bool,
    /// Columns to add, with their names.
    pub extra: Vec<(ExtraColumn, String)>,
    /// An index of documents seen before.
    pub against: Option<Against>,
    /// The hidden columns of the input.
    pub hidden: Vec<Column>,
    /// The columns that EXACT compares, if it compares columns as they are.
    pub compared: Vec<Column>,
    /// How many rows the user expects, for EXPLAIN's figures.
    pub documents: Option<u64>,
    /// Nobody is told of clusters (`DISTINCT ON`), so a copy may go as soon as it is read.
    pub forgets_copies: bool,
}

impl DedupRequest {
    /// The value, if the method looks at it.
    pub fn value_read(&self) -> Option<&Column> {
        self.value.as_ref().filter(|_| self.method.reads_value())
    }

    /// The column that names documents, if somebody but the ledger asks for names.
    fn id_read(&self) -> Option<&Column> {
        let is_added = self.extra.iter().any(|(column, _)| *column == ExtraColumn::KeptId);
        self.id.as_ref().filter(|_| is_added || self.against.is_some())
    }
}

/// Finds duplicates among rows; keeps the order of the rest.
#[derive(Debug, Clone, PartialEq)]
pub struct Dedup {
    /// What to do.
    pub request: Arc<DedupRequest>,
    /// Whole documents that go are wanted, so no column may be taken from below.
    pub wants_dropped: bool,
}

impl Dedup {
    /// Where in the rows its columns are.
    fn columns(&self, planning: &Planning<'_>) -> Result<DedupColumns> {
        let schema = planning.node.rows().schema();
        let request = &self.request;
        let index = |column: Option<&Column>| column.map(|column| schema.index_of_column(column)).transpose();
        let keep_by = request.keep.by.iter().map(|(name, descending, nulls_first)| {
            let index = schema.index_of_column(&Column::new_unqualified(name))?;
            Ok((index, SortOptions { descending: *descending, nulls_first: *nulls_first }))
        });
        Ok(DedupColumns {
            key: index(request.key.as_ref())?,
            value: index(request.value_read())?,
            keep_by: keep_by.collect::<Result<_>>()?,
            per: index(request.keep.per.as_ref().map(Column::new_unqualified).as_ref())?,
            // Where nobody asks for names, the column may have gone.
            id: request.id.as_ref().and_then(|column| schema.maybe_index_of_column(column)),
            visible: planning.node.visible_columns(),
            wants_dropped: self.wants_dropped,
        })
    }
}

impl Verb for Dedup {
    fn name(&self) -> &'static str {
        "Dedup"
    }

    fn details(&self) -> String {
        self.request.label.clone()
    }

    fn order(&self) -> RowOrder {
        RowOrder::Keeps
    }

    fn hidden(&self) -> &[Column] {
        &self.request.hidden
    }

    // A text that nobody wants any more goes when its hash is known.
    fn reads(&self) -> Vec<Column> {
        let request = &self.request;
        request.key.iter().chain(request.value_read()).chain(request.id_read()).cloned().collect()
    }

    fn rewrites(&self) -> Option<&Column> {
        self.request.value.as_ref().filter(|_| self.request.method.cuts_text())
    }

    fn adds(&self) -> Vec<Field> {
        self.request.extra.iter().map(|(column, name)| Field::new(name, extra_type(*column), true)).collect()
    }

    fn needs_whole_rows(&self) -> bool {
        self.wants_dropped
    }

    // Copies have the same values in the columns that are compared, so a condition on them drops all copies or none.
    fn lets_filter_pass(&self, columns: &[&Column]) -> bool {
        let appends = self.request.against.as_ref().is_some_and(|against| against.mode == AgainstMode::Append);
        matches!(self.request.method, Method::Exact(_))
            && !appends
            && !self.wants_dropped
            && columns.iter().all(|column| self.request.compared.contains(column))
    }

    fn recording_drops(&self) -> Option<Arc<dyn Verb>> {
        Some(Arc::new(Self { wants_dropped: true, ..self.clone() }))
    }

    fn index(&self) -> Option<&Against> {
        self.request.against.as_ref()
    }

    // What the index remembers is older, so it stays; and nothing is told of whole clusters.
    fn takes_later_rows_alone(&self) -> bool {
        let request = &self.request;
        let appends = request.against.as_ref().is_some_and(|against| against.mode == AgainstMode::Append);
        appends && request.keep.which == KeepWhich::First && request.keep.by.is_empty() && request.extra.is_empty()
    }

    fn plan(&self, planning: &Planning<'_>) -> Result<Arc<dyn ExecutionPlan>> {
        planning.exec(Deduplication::new(Arc::clone(&self.request), self.columns(planning)?))
    }
}

/// The type of a column that a `DEDUP` adds.
fn extra_type(column: ExtraColumn) -> DataType {
    match column {
        ExtraColumn::ClusterId | ExtraColumn::ClusterSize => DataType::Int64,
        ExtraColumn::KeptId => DataType::Utf8,
        ExtraColumn::Similarity => DataType::Float64,
    }
}
