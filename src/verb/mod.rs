//! The frame of a verb that looks at all rows together: `SAMPLE`, `DEDUP`, `INTO`, ….
//!
//! ```text
//!  Room ──bind──► Verb in a VerbNode ──plan──► SetOperator in a VerbExec ──start──► rows
//!  logical/       logical plan                 physical plan
//! ```
//! There is one node and one executor for all of them. What rules, EXPLAIN and the funnel ask, a [`Verb`] and its
//! [`SetOperator`] answer; nobody asks which verb it is. A verb itself is one folder in `src/verbs/`.
//!
//! Invariant: a verb must say what it does to the order of rows; there is no default that could be forgotten.

mod exec;
mod node;
mod order;
mod recorded_filter;
mod replay;

#[cfg(test)]
pub use exec::Layout;
pub use exec::{BufferSizes, SetOperator, Start, VerbExec, counter};
pub use node::VerbNode;
pub use order::{RowOrder, SortColumn};
pub use recorded_filter::RecordedFilter;
pub use replay::{REPLAYED_ROWS, Replay, ReplayFrom, only_scan, own_splits, with_config};

use crate::dedup::Against;
use crate::sinks::SourceLines;
use arrow::datatypes::Field;
use datafusion::common::Column;
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// A verb in the logical plan: what was asked for, checked and with all defaults filled in.
///
/// Columns are those of its first input, the rows; a second input is at the verb's service (texts to compare with).
pub trait Verb: AnyVerb + fmt::Debug + Send + Sync {
    /// What EXPLAIN calls the node: `Sample`.
    fn name(&self) -> &'static str;

    /// What EXPLAIN says after the name; the same for equal requests.
    fn details(&self) -> String;

    /// What becomes of the order of the rows.
    fn order(&self) -> RowOrder;

    /// Columns that were made for this verb and end here.
    fn hidden(&self) -> &[Column] {
        &[]
    }

    /// Other columns that it reads.
    fn reads(&self) -> Vec<Column> {
        vec![]
    }

    /// The column whose values it changes.
    fn rewrites(&self) -> Option<&Column> {
        None
    }

    /// Columns that it adds after those of its input.
    fn adds(&self) -> Vec<Field> {
        vec![]
    }

    /// It sees whole rows: no rule may take columns from below it.
    fn needs_whole_rows(&self) -> bool {
        false
    }

    /// Its expressions, for rules that rewrite them.
    fn expressions(&self) -> Vec<Expr> {
        vec![]
    }

    /// The same with other expressions, as many as there were. Only called where there are any.
    fn with_expressions(&self, _exprs: Vec<Expr>) -> Result<Arc<dyn Verb>> {
        Err(crate::bug!("{} has no expressions", self.name()).into())
    }

    /// Whether a condition that reads these columns, and gives the same answer each time, may as well be asked before.
    fn lets_filter_pass(&self, _columns: &[&Column]) -> bool {
        false
    }

    /// The rows that rules drop are wanted, for the drop ledger.
    fn wants_ledger(&self) -> bool {
        false
    }

    /// The same, for a run that wants to see which rows go here. `None` if the verb has none to show.
    fn recording_drops(&self) -> Option<Arc<dyn Verb>> {
        None
    }

    /// The columns that do not go into the lines, if it writes rows as the lines that they were read from.
    fn writes_lines(&self) -> Option<Vec<String>> {
        None
    }

    /// The same for rows that bring their lines. Only called if `writes_lines` says so.
    fn with_lines(&self, _lines: SourceLines) -> Result<Arc<dyn Verb>> {
        Err(crate::bug!("{} writes no lines", self.name()).into())
    }

    /// The index that its rows are compared with.
    fn index(&self) -> Option<&Against> {
        None
    }

    /// Whether rows that come in a later run can be given to it alone: what it says of a row does not depend on earlier
    /// ones, or it remembers those itself.
    fn takes_later_rows_alone(&self) -> bool {
        false
    }

    /// Whether it takes positions for numbers: then what it gives depends on where its sources are cut.
    fn depends_on_cuts(&self) -> bool {
        false
    }

    /// The executor over planned inputs.
    fn plan(&self, planning: &Planning<'_>) -> Result<Arc<dyn ExecutionPlan>>;
}

/// What a verb is planned from.
pub struct Planning<'a> {
    /// The node in the logical plan.
    pub node: &'a VerbNode,
    /// Its inputs, planned.
    pub inputs: &'a [Arc<dyn ExecutionPlan>],
    /// The verb's expressions, planned.
    pub expressions: Vec<Arc<dyn PhysicalExpr>>,
    /// Makes a filter that writes what it drops into the ledger.
    pub recorded_filter: &'a FilterMaker,
}

/// Makes an executor of a condition and its input.
pub type FilterMaker =
    dyn Fn(Arc<dyn PhysicalExpr>, &Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> + Send + Sync;

impl Planning<'_> {
    /// The one executor around what this verb does.
    pub fn exec(&self, operator: impl SetOperator + 'static) -> Result<Arc<dyn ExecutionPlan>> {
        let layout = self.node.layout()?;
        Ok(Arc::new(VerbExec::new(self.inputs.to_vec(), Arc::new(operator), layout)))
    }

    /// Where a column of the rows is.
    pub fn index_of(&self, column: &Column) -> Result<usize> {
        self.node.rows().schema().index_of_column(column)
    }
}

/// What every verb can do by itself: be told from others, and be asked for as what it is.
pub trait AnyVerb: Any {
    /// Whether both are the same verb and ask for the same.
    fn equals(&self, other: &dyn Verb) -> bool;
    /// The verb as a value of its own type.
    fn as_any(&self) -> &dyn Any;
}

impl<V: Verb + PartialEq + 'static> AnyVerb for V {
    fn equals(&self, other: &dyn Verb) -> bool {
        other.as_any().downcast_ref::<V>() == Some(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A plan with a verb on top.
pub fn verb_plan(verb: impl Verb + 'static, inputs: Vec<LogicalPlan>) -> Result<LogicalPlan> {
    Ok(VerbNode::new(Arc::new(verb), inputs)?.into_plan())
}
