//! `VerbNode`: the one node of the logical plan that holds a verb.
//!
//! Invariant: no filter, limit or unused-column rule crosses it unless the verb says that it may.

use super::exec::Layout;
use super::order::{indices, sort_keys};
use super::{SortColumn, Verb};
use arrow::datatypes::{DataType, Field};
use datafusion::common::{DFSchema, DFSchemaRef};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, UserDefinedLogicalNodeCore};
use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A verb over its inputs.
#[derive(Debug, Clone)]
pub struct VerbNode {
    /// What it does.
    pub verb: Arc<dyn Verb>,
    /// The rows, and what else the verb reads.
    pub inputs: Vec<LogicalPlan>,
    /// What each input is sorted by, where that decides something (`KeepInputOrder`).
    pub orders: Vec<Vec<SortColumn>>,
    /// The name of a last column that numbers the rows that come out ([`RowOrder::numbers_rows`](super::RowOrder)).
    pub number: Option<String>,
    schema: DFSchemaRef,
}

impl VerbNode {
    /// A verb over inputs whose order is not known yet.
    pub fn new(verb: Arc<dyn Verb>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        let orders = inputs.iter().map(|_| vec![]).collect();
        Self::with(verb, inputs, orders, None)
    }

    fn with(
        verb: Arc<dyn Verb>,
        inputs: Vec<LogicalPlan>,
        orders: Vec<Vec<SortColumn>>,
        number: Option<String>,
    ) -> Result<Self> {
        let Some(rows) = inputs.first() else { return Err(crate::bug!("{} has no input", verb.name()).into()) };
        let schema = rows.schema();
        let mut fields: Vec<_> = visible(verb.as_ref(), schema)
            .into_iter()
            .map(|index| schema.qualified_field(index))
            .map(|(qualifier, field)| (qualifier.cloned(), Arc::clone(field)))
            .collect();
        fields.extend(verb.adds().into_iter().map(|field| (None, Arc::new(field))));
        fields.extend(number.iter().map(|name| (None, Arc::new(number_field(name)))));
        let schema = Arc::new(DFSchema::new_with_metadata(fields, schema.metadata().clone())?);
        Ok(Self { verb, inputs, orders, number, schema })
    }

    /// The verb of a node, if it is one.
    pub fn of(plan: &LogicalPlan) -> Option<&Self> {
        let LogicalPlan::Extension(extension) = plan else { return None };
        extension.node.as_any().downcast_ref()
    }

    /// The node as a plan.
    pub fn into_plan(self) -> LogicalPlan {
        LogicalPlan::Extension(Extension { node: Arc::new(self) })
    }

    /// The input with the rows.
    pub fn rows(&self) -> &LogicalPlan {
        &self.inputs[0]
    }

    /// The same over other rows.
    pub fn over(&self, rows: LogicalPlan) -> Result<Self> {
        let inputs = std::iter::once(rows).chain(self.inputs.iter().skip(1).cloned()).collect();
        Self::with(Arc::clone(&self.verb), inputs, self.orders.clone(), self.number.clone())
    }

    /// The same over inputs that are sorted so.
    pub fn sorted_by(
        &self,
        inputs: Vec<LogicalPlan>,
        orders: Vec<Vec<SortColumn>>,
        number: Option<String>,
    ) -> Result<Self> {
        Self::with(Arc::clone(&self.verb), inputs, orders, number)
    }

    /// The same with a changed verb.
    pub fn with_verb(&self, verb: Arc<dyn Verb>) -> Result<Self> {
        Self::with(verb, self.inputs.clone(), self.orders.clone(), self.number.clone())
    }

    /// The columns of the rows that come out, in their order.
    pub fn visible_columns(&self) -> Vec<usize> {
        visible(self.verb.as_ref(), self.rows().schema())
    }

    /// Where in the rows its executor finds columns.
    pub(super) fn layout(&self) -> Result<Layout> {
        let schema = self.rows().schema();
        let orders = self.inputs.iter().zip(&self.orders);
        Ok(Layout {
            visible: self.visible_columns(),
            rewritten: self.verb.rewrites().and_then(|column| schema.maybe_index_of_column(column)),
            orders: orders.map(|(input, order)| sort_keys(order, input.schema())).collect::<Result<_>>()?,
            added: self.verb.adds(),
            number: self.number.clone(),
        })
    }
}

/// The column that numbers rows.
pub(super) fn number_field(name: &str) -> Field {
    Field::new(name, DataType::UInt64, false)
}

fn visible(verb: &dyn Verb, rows: &DFSchema) -> Vec<usize> {
    if !verb.order().passes_rows() {
        return vec![];
    }
    let hidden: HashSet<usize> = verb.hidden().iter().filter_map(|column| rows.maybe_index_of_column(column)).collect();
    (0..rows.fields().len()).filter(|index| !hidden.contains(index)).collect()
}

impl PartialEq for VerbNode {
    fn eq(&self, other: &Self) -> bool {
        self.verb.equals(other.verb.as_ref())
            && self.orders == other.orders
            && self.number == other.number
            && self.inputs == other.inputs
    }
}

impl Eq for VerbNode {}

impl Hash for VerbNode {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.verb.name().hash(state);
        self.verb.details().hash(state);
        self.inputs.hash(state);
    }
}

impl PartialOrd for VerbNode {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let key = |node: &Self| (node.verb.name(), node.verb.details());
        match key(self).cmp(&key(other)) {
            Ordering::Equal => self.inputs.partial_cmp(&other.inputs),
            different => Some(different),
        }
    }
}

impl UserDefinedLogicalNodeCore for VerbNode {
    fn name(&self) -> &str {
        self.verb.name()
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        self.inputs.iter().collect()
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        self.verb.expressions()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {}", self.verb.name(), self.verb.details())
    }

    fn with_exprs_and_inputs(&self, exprs: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        let n_inputs = inputs.len();
        if n_inputs != self.inputs.len() {
            return Err(crate::bug!("{} takes {} inputs, not {n_inputs}", self.verb.name(), self.inputs.len()).into());
        }
        // Rules that rewrite expressions keep their names by an alias; a condition has no use for one.
        let exprs: Vec<Expr> = exprs.into_iter().map(Expr::unalias).collect();
        let verb = if exprs.is_empty() { Arc::clone(&self.verb) } else { self.verb.with_expressions(exprs)? };
        let inputs = inputs.into_iter().enumerate().map(|(number, input)| match input {
            // DataFusion moves a condition that reads no column, as `random() < 0.5`, into every input; it is about the
            // rows. No verb binds a filter on top of another input.
            LogicalPlan::Filter(moved) if number > 0 => Arc::unwrap_or_clone(moved.input),
            input => input,
        });
        Self::with(verb, inputs.collect(), self.orders.clone(), self.number.clone())
    }

    fn necessary_children_exprs(&self, output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        if self.verb.needs_whole_rows() {
            return None;
        }
        let all = |input: &LogicalPlan| (0..input.schema().fields().len()).collect::<Vec<usize>>();
        let schema = self.rows().schema();
        let mut needed = if self.verb.order().passes_rows() {
            let visible = self.visible_columns();
            output_columns.iter().filter_map(|index| visible.get(*index).copied()).collect()
        } else {
            // Every column is written.
            all(self.rows())
        };
        let reads = self.verb.reads();
        let read = self.verb.hidden().iter().chain(&reads);
        needed.extend(read.filter_map(|column| schema.maybe_index_of_column(column)));
        needed.extend(self.orders.first().into_iter().flat_map(|order| indices(order, schema)));
        needed.sort_unstable();
        needed.dedup();
        Some(std::iter::once(needed).chain(self.inputs.iter().skip(1).map(all)).collect())
    }
}
