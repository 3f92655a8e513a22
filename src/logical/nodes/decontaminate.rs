//! `DECONTAMINATE … AGAINST 'files'`: documents that hold texts of an evaluation go, or the texts are cut out of them.
//!
//! Two inputs: the documents, and the evaluations, which the binder projects to texts, the answer if one is named, and
//! the task. Needs both in a defined order (`KeepInputOrder`), and sees all documents: an n-gram that many of them hold
//! is no evidence, so no filter passes below.
//! Not here: finding the texts (`exec::dedup::decontaminate`).

use super::SortColumn;
use super::order::indices;
use crate::dedup::{Decontaminate as Options, DecontaminateMode};
use arrow::datatypes::{DataType, Field};
use datafusion::common::{Column, DFSchema, DFSchemaRef};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, LogicalPlan, UserDefinedLogicalNodeCore};
use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// What a `DECONTAMINATE` was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct DecontaminateRequest {
    /// The verb as the funnel and the ledger name it: `DECONTAMINATE ON text AGAINST 'evals/*.jsonl'`.
    pub label: String,
    /// The text: only read, or cut in its place.
    pub text: Column,
    /// The evaluations: a file, glob or folder.
    pub evals: String,
    /// What counts as a match, and what follows from it.
    pub options: Options,
    /// The hidden columns of the input.
    pub hidden: Vec<Column>,
}

/// Looks for texts of evaluations in its input's rows; keeps the order of the rest.
#[derive(Debug, Clone)]
pub struct Decontaminate {
    /// The rows, with the hidden columns.
    pub input: LogicalPlan,
    /// The evaluations: their texts, the answer if `label` names it, the task or the file it is in; perhaps positions.
    pub evals: LogicalPlan,
    /// What to do.
    pub request: Arc<DecontaminateRequest>,
    /// Whole documents that go are wanted (`KeepDropped`), so no column may be taken from below.
    pub wants_dropped: bool,
    /// What the documents are sorted by (`KeepInputOrder`).
    pub order: Vec<SortColumn>,
    /// What the evaluations are sorted by.
    pub evals_order: Vec<SortColumn>,
    /// The name of a last column that numbers the pieces of each document. Together with `order`, which no two documents
    /// have in common, it tells the order of the rows.
    pub piece: Option<String>,
    schema: DFSchemaRef,
}

impl Decontaminate {
    /// A node over `input`, whose schema holds the columns that `request` names.
    pub fn new(input: LogicalPlan, evals: LogicalPlan, request: Arc<DecontaminateRequest>) -> Result<Self> {
        let schema = Arc::clone(input.schema());
        let (order, evals_order) = (vec![], vec![]);
        Self { input, evals, request, wants_dropped: false, order, evals_order, piece: None, schema }.laid_out()
    }

    /// The same, for a run that wants to see what goes.
    pub fn wanting_dropped(self) -> Self {
        Self { wants_dropped: true, ..self }
    }

    /// The same over other inputs.
    pub fn over(&self, input: LogicalPlan, evals: LogicalPlan) -> Result<Self> {
        Self { input, evals, ..self.clone() }.laid_out()
    }

    /// The same over inputs that are sorted so; where documents fall into pieces, with their numbers in a last column.
    pub fn sorted_by(
        self,
        order: Vec<SortColumn>,
        evals_order: Vec<SortColumn>,
        piece: Option<String>,
    ) -> Result<Self> {
        Self { order, evals_order, piece, ..self }.laid_out()
    }

    /// Whether one document may become several.
    pub fn cuts(&self) -> bool {
        self.request.options.mode == DecontaminateMode::Cut
    }

    fn laid_out(self) -> Result<Self> {
        let mut fields: Vec<_> = visible(self.input.schema(), &self.request)
            .map(|index| self.input.schema().qualified_field(index))
            .map(|(qualifier, field)| (qualifier.cloned(), Arc::clone(field)))
            .collect();
        if let Some(piece) = &self.piece {
            fields.push((None, Arc::new(Field::new(piece, DataType::UInt64, false))));
        }
        let schema = DFSchema::new_with_metadata(fields, self.input.schema().metadata().clone())?;
        Ok(Self { schema: Arc::new(schema), ..self })
    }

    /// The columns of the input that come out, in their order.
    pub fn visible_columns(&self) -> Vec<usize> {
        visible(self.input.schema(), &self.request).collect()
    }
}

fn visible(schema: &DFSchema, request: &DecontaminateRequest) -> impl Iterator<Item = usize> {
    let hidden: HashSet<usize> =
        request.hidden.iter().filter_map(|column| schema.maybe_index_of_column(column)).collect();
    (0..schema.fields().len()).filter(move |index| !hidden.contains(index))
}

impl PartialEq for Decontaminate {
    fn eq(&self, other: &Self) -> bool {
        self.request == other.request
            && self.wants_dropped == other.wants_dropped
            && self.order == other.order
            && self.evals_order == other.evals_order
            && self.piece == other.piece
            && self.input == other.input
            && self.evals == other.evals
    }
}

impl Eq for Decontaminate {}

impl Hash for Decontaminate {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.request.label.hash(state);
        self.input.hash(state);
        self.evals.hash(state);
    }
}

impl PartialOrd for Decontaminate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match self.request.label.cmp(&other.request.label) {
            Ordering::Equal => self.input.partial_cmp(&other.input),
            different => Some(different),
        }
    }
}

impl UserDefinedLogicalNodeCore for Decontaminate {
    fn name(&self) -> &str {
        "Decontaminate"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input, &self.evals]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        vec![]
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "Decontaminate: {}", self.request.label)
    }

    fn with_exprs_and_inputs(&self, _exprs: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        let n_inputs = inputs.len();
        match <[LogicalPlan; 2]>::try_from(inputs) {
            // DataFusion moves a condition that reads no column, as `random() < 0.5`, into every input; it is about the
            // documents. The binder puts no filter on the evaluations.
            Ok([input, LogicalPlan::Filter(moved)]) => self.over(input, Arc::unwrap_or_clone(moved.input)),
            Ok([input, evals]) => self.over(input, evals),
            Err(_) => Err(crate::bug!("Decontaminate takes two inputs, a rule gave it {n_inputs}").into()),
        }
    }

    fn necessary_children_exprs(&self, output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        if self.wants_dropped {
            return None;
        }
        let schema = self.input.schema();
        let visible = self.visible_columns();
        let mut needed: Vec<usize> = output_columns.iter().filter_map(|index| visible.get(*index).copied()).collect();
        let request = &self.request;
        let read = request.hidden.iter().chain([&request.text]);
        needed.extend(read.filter_map(|column| schema.maybe_index_of_column(column)));
        needed.extend(indices(&self.order, schema));
        needed.sort_unstable();
        needed.dedup();
        Some(vec![needed, (0..self.evals.schema().fields().len()).collect()])
    }
}
