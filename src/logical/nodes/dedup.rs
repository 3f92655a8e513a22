//! `DEDUP … ON …`: rows that repeat earlier ones go, or what they repeat is cut out of them.
//!
//! The binder puts what the executor needs into hidden columns of the input (keys, what `KEEP … BY` orders by), computed
//! where the input is still in parallel; they end here. Needs its input in a defined order (`KeepInputOrder`).
//! No filter passes below by itself (`FilterBeforeDedup` knows when one may).
//! Not here: the finding (`exec::dedup`).

use super::order::indices;
use super::{SortColumn, only_input};
use crate::dedup::{Against, ExtraColumn, Keep, Method};
use arrow::datatypes::{DataType, Field};
use datafusion::common::{Column, DFSchema, DFSchemaRef};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, LogicalPlan, UserDefinedLogicalNodeCore};
use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;
use std::hash::{Hash, Hasher};
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

/// Finds duplicates among its input's rows; keeps the order of the rest.
#[derive(Debug, Clone)]
pub struct Dedup {
    /// The rows, with the hidden columns.
    pub input: LogicalPlan,
    /// What to do.
    pub request: Arc<DedupRequest>,
    /// Whole documents that go are wanted (`KeepDropped`), so no column may be taken from below.
    pub wants_dropped: bool,
    /// What the rows are sorted by (`KeepInputOrder`): which of equal rows is the first depends on it.
    pub order: Vec<SortColumn>,
    schema: DFSchemaRef,
}

impl Dedup {
    /// A node over `input`, whose schema holds the columns that `request` names.
    pub fn new(input: LogicalPlan, request: Arc<DedupRequest>) -> Result<Self> {
        let mut fields: Vec<_> = visible(input.schema(), &request)
            .map(|index| input.schema().qualified_field(index))
            .map(|(qualifier, field)| (qualifier.cloned(), Arc::clone(field)))
            .collect();
        for (column, name) in &request.extra {
            fields.push((None, Arc::new(Field::new(name, extra_type(*column), true))));
        }
        let schema = DFSchema::new_with_metadata(fields, input.schema().metadata().clone())?;
        Ok(Self { input, request, wants_dropped: false, order: vec![], schema: Arc::new(schema) })
    }

    /// The same over another input.
    pub fn over(&self, input: LogicalPlan) -> Result<Self> {
        let node = Self::new(input, Arc::clone(&self.request))?;
        Ok(Self { wants_dropped: self.wants_dropped, order: self.order.clone(), ..node })
    }

    /// The same over an input that is sorted so.
    pub fn sorted_by(self, order: Vec<SortColumn>) -> Self {
        Self { order, ..self }
    }

    /// The same, for a run that wants to see what goes.
    pub fn wanting_dropped(self) -> Self {
        Self { wants_dropped: true, ..self }
    }

    /// The columns of the input that come out, in their order.
    pub fn visible_columns(&self) -> Vec<usize> {
        visible(self.input.schema(), &self.request).collect()
    }
}

/// The type of a column that a `DEDUP` adds.
pub fn extra_type(column: ExtraColumn) -> DataType {
    match column {
        ExtraColumn::ClusterId | ExtraColumn::ClusterSize => DataType::Int64,
        ExtraColumn::KeptId => DataType::Utf8,
        ExtraColumn::Similarity => DataType::Float64,
    }
}

fn visible(schema: &DFSchema, request: &DedupRequest) -> impl Iterator<Item = usize> {
    let hidden: HashSet<usize> =
        request.hidden.iter().filter_map(|column| schema.maybe_index_of_column(column)).collect();
    (0..schema.fields().len()).filter(move |index| !hidden.contains(index))
}

impl PartialEq for Dedup {
    fn eq(&self, other: &Self) -> bool {
        self.request == other.request
            && self.wants_dropped == other.wants_dropped
            && self.order == other.order
            && self.input == other.input
    }
}

impl Eq for Dedup {}

impl Hash for Dedup {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.request.label.hash(state);
        self.input.hash(state);
    }
}

impl PartialOrd for Dedup {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match self.request.label.cmp(&other.request.label) {
            Ordering::Equal => self.input.partial_cmp(&other.input),
            different => Some(different),
        }
    }
}

impl UserDefinedLogicalNodeCore for Dedup {
    fn name(&self) -> &str {
        "Dedup"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        vec![]
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "Dedup: {}", self.request.label)
    }

    fn with_exprs_and_inputs(&self, _exprs: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        self.over(only_input("Dedup", inputs)?)
    }

    fn necessary_children_exprs(&self, output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        if self.wants_dropped {
            return None;
        }
        let schema = self.input.schema();
        let visible = self.visible_columns();
        let mut needed: Vec<usize> = output_columns.iter().filter_map(|index| visible.get(*index).copied()).collect();
        let request = &self.request;
        // A text that nobody wants any more goes when its hash is known.
        let read = request.hidden.iter().chain(&request.key).chain(request.value_read()).chain(request.id_read());
        needed.extend(read.filter_map(|column| schema.maybe_index_of_column(column)));
        needed.extend(indices(&self.order, schema));
        needed.sort_unstable();
        needed.dedup();
        Some(vec![needed])
    }
}
