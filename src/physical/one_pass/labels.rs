//! Computed columns and conditions as a user would write them.
//!
//! A number that an operator gives is written as its call, `words(text)`; any other computed column by the name that the
//! query gives it, if it has one.

use crate::exec::COMPUTED;
use crate::logical::{ModelCall, OperatorCall, simplified};
use crate::optimizer::FENCED;
use arrow::datatypes::Schema;
use datafusion::common::DFSchemaRef;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, CaseExpr, Column, IsNotNullExpr, Literal};
use datafusion::physical_expr_common::physical_expr::fmt_sql;
use std::collections::HashMap;
use std::sync::Arc;

/// Longer labels help nobody.
const MAX_CHARS: usize = 400;

/// The rules that a condition becomes, as the funnel names them.
pub fn rule_labels(state: &SessionState, condition: &Expr, schema: &DFSchemaRef) -> Result<Vec<String>> {
    // There are no slots: every column is the input's.
    let labels = Labels { n_inputs: usize::MAX, ..Labels::default() };
    let condition = simplified(state, schema, condition.clone())?;
    let rules = split_conjunction(&condition).into_iter();
    rules.map(|rule| labels.of(&state.create_physical_expr(rule.clone(), schema)?)).collect()
}

#[derive(Default)]
pub(super) struct Labels {
    /// Names that the query gives to slots.
    names: HashMap<usize, String>,
    slots: Vec<String>,
    definitions: Vec<String>,
    n_inputs: usize,
}

impl Labels {
    /// The query calls a slot so. The first name stays.
    pub fn name(&mut self, slot: usize, name: &str) {
        // Names that DataFusion makes up for what it found twice, and `GuardFailingConditions` for conditions.
        if !name.starts_with("__common_expr") && !name.starts_with(FENCED) {
            self.names.entry(slot).or_insert_with(|| name.to_string());
        }
    }

    /// Writes the label of every slot.
    pub fn settle(&mut self, slots: &[Arc<dyn PhysicalExpr>], n_inputs: usize) -> Result<()> {
        self.n_inputs = n_inputs;
        for (slot, expr) in slots.iter().enumerate() {
            let definition = self.of(expr)?;
            let is_number = OperatorCall::of(expr.as_ref()).is_some_and(|call| !call.spec.returns.is_text())
                || ModelCall::of(expr.as_ref()).is_some();
            let name = self.names.get(&slot).filter(|_| !is_number).cloned();
            self.slots.push(name.unwrap_or_else(|| definition.clone()));
            self.definitions.push(definition);
        }
        Ok(())
    }

    /// What a slot is, and what it is made of: `text = normalize_newlines(text)`.
    pub fn definition(&self, slot: usize) -> String {
        let definition = self.definitions.get(slot).map_or("", String::as_str);
        let label = self.slot(slot);
        if label == definition { label.to_string() } else { format!("{label} = {definition}") }
    }

    /// A slot's label.
    pub fn slot(&self, slot: usize) -> &str {
        self.slots.get(slot).map_or("", String::as_str)
    }

    /// A column's label.
    pub fn column(&self, index: usize, schema: &Schema) -> String {
        match index.checked_sub(self.n_inputs) {
            Some(slot) => self.slot(slot).to_string(),
            None => schema.field(index).name().clone(),
        }
    }

    /// An output column: `words(text) AS n`.
    pub fn output(&self, expr: &Arc<dyn PhysicalExpr>, name: &str) -> Result<String> {
        let label = self.of(expr)?;
        Ok(if label == name { label } else { format!("{label} AS {name}") })
    }

    /// An expression over inputs and slots.
    pub fn of(&self, expr: &Arc<dyn PhysicalExpr>) -> Result<String> {
        // From above: a call's options must still be what they are when the call is looked at.
        let written = Arc::clone(expr).transform_down(|node| {
            let label = if let Some(call) = OperatorCall::of(node.as_ref()) {
                let arguments = [self.of(&call.document)?].into_iter().chain(call.args.written());
                format!("{}({})", call.spec.name, arguments.collect::<Vec<_>>().join(", "))
            } else if let Some(call) = ModelCall::of(node.as_ref()) {
                let columns = call.columns.iter().map(|column| self.of(column)).collect::<Result<Vec<_>>>()?;
                format!(
                    "{}({})",
                    call.spec.name,
                    columns.into_iter().chain(call.args.written()).collect::<Vec<_>>().join(", ")
                )
            } else if let Some(slot) =
                node.downcast_ref::<Column>().and_then(|column| column.index().checked_sub(self.n_inputs))
            {
                self.slot(slot).to_string()
            } else if let Some(column) =
                node.downcast_ref::<Column>().filter(|column| column.name().starts_with(COMPUTED))
            {
                column.name().trim_start_matches(COMPUTED).to_string()
            } else if let Some(arguments) = node.downcast_ref::<CaseExpr>().and_then(coalesced) {
                let arguments = arguments.iter().map(|argument| self.of(argument)).collect::<Result<Vec<_>>>()?;
                format!("coalesce({})", arguments.join(", "))
            } else if let Some(both) = node.downcast_ref::<CaseExpr>().and_then(computed_in_turn) {
                self.of(&both)?
            } else if let Some(text) =
                node.downcast_ref::<Literal>().and_then(|literal| literal.value().try_as_str().flatten())
            {
                format!("'{}'", text.replace('\'', "''"))
            } else {
                return Ok(Transformed::no(node));
            };
            // A column is shown by its name, whatever that is.
            let shown: Arc<dyn PhysicalExpr> = Arc::new(Column::new(&label, 0));
            Ok(Transformed::new(shown, true, TreeNodeRecursion::Jump))
        })?;
        let label = fmt_sql(written.data.as_ref()).to_string();
        // On one line, whatever is in its texts.
        let label = label.replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t");
        Ok(cut_in_the_middle(label))
    }
}

/// A label of not too many characters. What a rule compares with stands at its end, and stays.
fn cut_in_the_middle(label: String) -> String {
    const LAST_CHARS: usize = 80;
    let n_chars = label.chars().count();
    if n_chars <= MAX_CHARS {
        return label;
    }
    let first = label.chars().take(MAX_CHARS - LAST_CHARS);
    first.chain(['…']).chain(label.chars().skip(n_chars - LAST_CHARS)).collect()
}

/// The arguments of the `coalesce` that DataFusion made a CASE of: `CASE WHEN x IS NOT NULL THEN x ELSE y END`.
fn coalesced(case: &CaseExpr) -> Option<Vec<Arc<dyn PhysicalExpr>>> {
    let mut arguments = Vec::new();
    for (when, then) in case.when_then_expr() {
        let tested = when.downcast_ref::<IsNotNullExpr>()?.arg();
        if case.expr().is_some() || tested != then {
            return None;
        }
        arguments.push(Arc::clone(then));
    }
    arguments.push(Arc::clone(case.else_expr()?));
    Some(arguments)
}

/// The `a OR b` that `ComputeInTurn` made a CASE of: `CASE a WHEN true THEN true ELSE a OR b END`, or with
/// `WHEN false THEN b ELSE NULL OR b`.
fn computed_in_turn(case: &CaseExpr) -> Option<Arc<dyn PhysicalExpr>> {
    let first = case.expr()?;
    let (when, then) = case.when_then_expr().first()?;
    let both = case.else_expr()?.downcast_ref::<BinaryExpr>()?;
    let repeats_first = both.left() == first;
    let repeats_second = case.when_then_expr().get(1).is_some_and(|(_, second)| second == both.right());
    let is_one = when.is::<Literal>() && when == then && (repeats_first || repeats_second);
    is_one.then(|| Arc::new(BinaryExpr::new(Arc::clone(first), *both.op(), Arc::clone(both.right()))) as _)
}
