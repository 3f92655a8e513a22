//! What an [`AnnotateExec`](super::AnnotateExec) does to a batch: columns to compute, rules that drop rows, columns to
//! give out.
//!
//! ```text
//! columns  0 … n−1: the input's        n, n+1, …: computed, each by one step, from columns before it
//! steps    one pass over `text`: words(text), alpha_ratio(text)   |   one pass over `text`: top_ngram_char_ratio(text)
//! rules    words(text) >= 50   |   top_ngram_char_ratio(text) < 0.2
//! ```
//! A step runs when a rule, another step or the output first asks for one of its columns, on the rows still alive then.
//! Invariant: no column is computed twice for a row, and none that nobody asks for.
//! Not here: making a program from a plan (`physical::OnePass`), running it (`rows.rs`).

use crate::logical::{Hint, OperatorCall};
use crate::ops::{Gate, Needs, PassStage, Range};
use arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::compute::prep_null_mask_filter;
use arrow::datatypes::SchemaRef;
use datafusion::common::ScalarValue;
use datafusion::common::cast::as_boolean_array;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{Column, LambdaExpr};
use datafusion::physical_expr::utils::collect_columns;
use std::sync::Arc;

/// What the names of computed columns begin with that one node hands on to the next.
pub const COMPUTED: &str = "__computed ";

/// The whole computation of a node. See the module's text.
#[derive(Debug)]
pub struct Program {
    /// How many columns the input has.
    pub n_inputs: usize,
    /// The input's columns, then the computed ones.
    pub schema: SchemaRef,
    /// For each computed column what it is, over the columns before it.
    pub computed: Vec<Arc<dyn PhysicalExpr>>,
    /// The same as a user would write it.
    pub computed_labels: Vec<String>,
    /// What the query says about where each of them is computed.
    pub hints: Vec<Option<Hint>>,
    /// The steps; each computes columns from the input's and those of earlier steps.
    pub steps: Vec<Step>,
    /// For each computed column, the step that computes it.
    pub step_of: Vec<usize>,
    /// The rules, in the order in which they run at first.
    pub rules: Vec<Rule>,
    /// The columns given out.
    pub outputs: Vec<ProjectedExpr>,
    /// The columns given out as a user would write them.
    pub output_labels: Vec<String>,
}

/// One unit of computation.
#[derive(Debug)]
pub struct Step {
    /// What it computes.
    pub work: StepKind,
    /// The steps whose columns it reads, those that they need first.
    pub needs: Vec<usize>,
    /// An estimate for one row.
    pub ns_per_row: f64,
}

/// The kinds of computation.
#[derive(Debug)]
pub enum StepKind {
    /// Statistics that are read off one walk over each document.
    Pass {
        /// The column of documents.
        document: usize,
        /// That column as a user would write it.
        document_label: String,
        /// How expensive the walk is.
        stage: PassStage,
        /// What the walk finds.
        needs: Needs,
        /// The column that each statistic fills.
        statistics: Vec<(usize, OperatorCall)>,
        /// Each statistic as a user would write it.
        labels: Vec<String>,
    },
    /// One call of an operator that is no statistic.
    Call {
        /// The column of documents.
        document: usize,
        /// The column that it fills.
        column: usize,
        /// The call.
        call: OperatorCall,
        /// The fields of its records that are read; `None`: the records as they are.
        fields: Option<Vec<String>>,
        /// As a user would write it.
        label: String,
    },
    /// Any other expression.
    Expr {
        /// The column that it fills.
        column: usize,
        /// The expression.
        expr: ProjectedExpr,
        /// As a user would write it.
        label: String,
    },
}

/// A condition that a row must satisfy to go on.
#[derive(Debug)]
pub struct Rule {
    /// The condition over the input's and the computed columns.
    pub condition: ProjectedExpr,
    /// As a user would write it.
    pub label: String,
    /// The steps whose columns it reads, those that they need first.
    pub needs: Vec<usize>,
    /// Whether it can end in an error: then it runs after all rules that were written before it.
    pub can_fail: bool,
    /// Its place as written, from 0.
    pub written: usize,
    /// An estimate for one row, without the steps it needs.
    pub ns_per_row: f64,
    /// What the statistics that it reads add to their passes, for one row: what is saved if another rule drops the row
    /// before.
    pub in_pass_ns: f64,
    /// The column whose values it keeps if they are in a range, and the range, if it is such a rule.
    pub keeps: Option<(usize, Range)>,
    /// What the condition compares and with what, if it compares with a constant: for the ledger.
    pub compared: Option<Compared>,
}

/// The two sides of a condition such as `words(text) >= 50`.
#[derive(Debug)]
pub struct Compared {
    /// The left side.
    pub value: ProjectedExpr,
    /// The constant.
    pub threshold: ScalarValue,
}

/// An expression that reads few of many columns, ready to run on just those.
#[derive(Debug, Clone)]
pub struct ProjectedExpr {
    /// The columns it reads, ascending.
    pub columns: Vec<usize>,
    schema: SchemaRef,
    expr: Arc<dyn PhysicalExpr>,
}

impl ProjectedExpr {
    /// Prepares `expr` over the columns of `schema`, of which the first `n_inputs` are the input's.
    pub fn new(expr: Arc<dyn PhysicalExpr>, schema: &SchemaRef, n_inputs: usize) -> Result<Self> {
        let mut columns: Vec<usize> = collect_columns(&expr).iter().map(Column::index).collect();
        columns.sort_unstable();
        columns.dedup();
        // A lambda's variables are numbered after the input's columns, so those must stay where they are.
        if expr.exists(|node| Ok(node.is::<LambdaExpr>()))? {
            columns = (0..n_inputs).collect();
        }
        let narrowed = expr
            .transform(|node| {
                let Some(column) = node.downcast_ref::<Column>() else { return Ok(Transformed::no(node)) };
                let Ok(place) = columns.binary_search(&column.index()) else {
                    return Err(crate::bug!("column {column} was not collected").into());
                };
                Ok(Transformed::yes(Arc::new(Column::new(column.name(), place)) as Arc<dyn PhysicalExpr>))
            })?
            .data;
        let schema = Arc::new(schema.project(&columns)?);
        Ok(Self { columns, schema, expr: narrowed })
    }

    /// The expression over all columns again.
    pub fn widened(&self) -> Result<Arc<dyn PhysicalExpr>> {
        let wide = Arc::clone(&self.expr).transform(|node| {
            let Some(column) = node.downcast_ref::<Column>() else { return Ok(Transformed::no(node)) };
            let Some(&place) = self.columns.get(column.index()) else {
                return Err(crate::bug!("column {column} is not among those collected").into());
            };
            Ok(Transformed::yes(Arc::new(Column::new(column.name(), place)) as Arc<dyn PhysicalExpr>))
        })?;
        Ok(wide.data)
    }

    /// The single column that it is, if it computes nothing.
    pub fn as_column(&self) -> Option<usize> {
        let column = self.expr.downcast_ref::<Column>()?;
        self.columns.get(column.index()).copied()
    }

    /// The value for each row; `columns` are those that [`ProjectedExpr::columns`] names.
    pub fn evaluate(&self, columns: Vec<ArrayRef>, n_rows: usize) -> Result<ColumnarValue> {
        let options = RecordBatchOptions::new().with_row_count(Some(n_rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?;
        self.expr.evaluate(&batch)
    }

    /// Which rows satisfy it; false and NULL both do not. `None`: all do.
    pub fn holds(&self, columns: Vec<ArrayRef>, n_rows: usize) -> Result<Option<BooleanArray>> {
        let keep = match self.evaluate(columns, n_rows)? {
            ColumnarValue::Scalar(ScalarValue::Boolean(Some(true))) => return Ok(None),
            ColumnarValue::Scalar(_) => BooleanArray::from(vec![false; n_rows]),
            ColumnarValue::Array(array) => as_boolean_array(&array)?.clone(),
        };
        let keep = if keep.null_count() > 0 { prep_null_mask_filter(&keep) } else { keep };
        Ok((keep.true_count() < n_rows).then_some(keep))
    }
}

impl Program {
    /// What a pass can know of rules that run in this order from now on, so that it stops at a document that one of
    /// them drops.
    ///
    /// A rule that reads more of the pass than one value ends the list: it may come to see only values that were computed.
    pub fn gates(&self, step: usize, rules: &[usize]) -> Vec<Gate> {
        let StepKind::Pass { statistics, .. } = &self.steps[step].work else { return vec![] };
        let readers = rules.iter().map(|&rule| &self.rules[rule]).filter(|rule| rule.needs.contains(&step));
        readers
            .map_while(|rule| {
                let (column, range) = rule.keeps?;
                let statistic = statistics.iter().position(|(made, _)| *made == column)?;
                Some(Gate { statistic, range, is_only_reader: self.n_readers(column) == 1 })
            })
            .collect()
    }

    /// How many rules, steps and outputs read a column.
    fn n_readers(&self, column: usize) -> usize {
        let rules = self.rules.iter().map(|rule| &rule.condition);
        let steps = self.steps.iter().filter(|step| match &step.work {
            StepKind::Pass { document, .. } | StepKind::Call { document, .. } => *document == column,
            StepKind::Expr { expr, .. } => expr.columns.contains(&column),
        });
        rules.chain(&self.outputs).filter(|expr| expr.columns.contains(&column)).count() + steps.count()
    }

    /// The steps that column `index` needs, in the order in which they can run. None for an input's column.
    pub fn steps_for(&self, index: usize) -> impl Iterator<Item = usize> + '_ {
        let step = index.checked_sub(self.n_inputs).and_then(|slot| self.step_of.get(slot)).copied();
        step.into_iter().flat_map(|step| self.steps[step].needs.iter().copied().chain([step]))
    }
}
