//! From a chain of nodes to a [`Program`].
//!
//! Invariant: every expression is rewritten over the columns of the chain's input and *slots*, columns that steps
//! compute. A slot is made once for each distinct call and each distinct computed column; two are the same if they
//! compute the same from the same columns.

mod lift;

pub(in crate::physical) use lift::has_model_call;

use super::labels::Labels;
use crate::config::DeviceChoice;
use crate::cost::{self, FunctionPrices};
use crate::exec::{Compared, Estimate, Program, ProgramStep as Step, ProjectedExpr, Rule, StepKind, best};
use crate::logical::{GetField, Hint, OperatorCall, unhinted};
use crate::ops::{Cpu, Needs, PassStage, Range};
use crate::optimizer::unmarked;
use arrow::datatypes::{Field, FieldRef, Schema, SchemaRef};
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion, TreeNodeRewriter, TreeNodeVisitor};
use datafusion::error::Result;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, CaseExpr, Column, LambdaExpr, Literal, NotExpr};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr, split_conjunction};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use std::collections::HashMap;
use std::sync::Arc;

/// Whether an expression is a call that may be computed elsewhere and shared.
pub(super) fn is_shared_call(expr: &Arc<dyn PhysicalExpr>) -> bool {
    OperatorCall::of(expr.as_ref()).is_some_and(|call| call.spec.effects.is_movable())
}

/// A column that a step computes.
struct ComputedColumn {
    expr: Arc<dyn PhysicalExpr>,
    /// The call that it is, with the column of its document.
    call: Option<(OperatorCall, usize)>,
    can_fail: bool,
}

/// Collects the nodes of a chain, the lowest first.
pub(in crate::physical) struct Builder<'a> {
    prices: &'a FunctionPrices,
    n_inputs: usize,
    /// The input's fields, then one for each slot.
    fields: Vec<FieldRef>,
    slots: Vec<ComputedColumn>,
    by_value: HashMap<Arc<dyn PhysicalExpr>, usize>,
    /// What each column of the node added last is, over `fields`.
    columns: Vec<Arc<dyn PhysicalExpr>>,
    conditions: Vec<Arc<dyn PhysicalExpr>>,
    /// What the query says about where slots are computed.
    hints: HashMap<usize, Hint>,
    labels: Labels,
    share: bool,
}

impl<'a> Builder<'a> {
    pub fn new(prices: &'a FunctionPrices, input: &Schema, share: bool) -> Self {
        let fields: Vec<FieldRef> = input.fields().iter().cloned().collect();
        let columns = fields.iter().enumerate().map(|(index, field)| column(field.name(), index)).collect();
        Self {
            prices,
            n_inputs: fields.len(),
            fields,
            slots: vec![],
            by_value: HashMap::new(),
            columns,
            conditions: vec![],
            hints: HashMap::new(),
            labels: Labels::default(),
            share,
        }
    }

    /// Adds the next node.
    pub fn add(&mut self, node: &dyn ExecutionPlan) -> Result<()> {
        if let Some(filter) = node.downcast_ref::<FilterExec>() {
            for condition in split_conjunction(filter.predicate()) {
                let condition = self.rewrite(unmarked(Arc::clone(condition))?)?;
                self.conditions.push(condition);
            }
            if let Some(projection) = filter.projection() {
                self.columns = projection.iter().map(|&index| Arc::clone(&self.columns[index])).collect();
            }
            return Ok(());
        }
        let Some(projection) = node.downcast_ref::<ProjectionExec>() else {
            return Err(crate::bug!("a chain holds filters and projections, not {}", node.name()).into());
        };
        let mut columns = Vec::with_capacity(projection.expr().len());
        for made in projection.expr() {
            let expr = self.rewrite(unmarked(Arc::clone(&made.expr))?)?;
            let is_simple = expr.is::<Column>() || expr.is::<Literal>();
            let expr = if is_simple || !self.share { expr } else { self.slot(expr, None)? };
            if let Some(slot) = self.slot_of(&expr) {
                self.labels.name(slot, &made.alias);
            }
            columns.push(expr);
        }
        self.columns = columns;
        Ok(())
    }

    /// An expression of the node added last, over the input's columns and slots.
    fn rewrite(&mut self, expr: Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
        if expr.exists(|part| Ok(part.is::<LambdaExpr>()))? {
            // Only the lowest node may hold one; its columns are the input's.
            return Ok(expr);
        }
        let mut hoist = Hoist { builder: self, n_cases: 0 };
        let rewritten = expr.rewrite(&mut hoist)?.data;
        self.lifted(rewritten, None)
    }

    /// What the query says about every operator inside of an expression; what is said first about a device holds.
    fn note_hint(&mut self, inner: &Arc<dyn PhysicalExpr>, hint: Hint) {
        let n_inputs = self.n_inputs;
        for slot in collect_columns(inner).iter().filter_map(|column| column.index().checked_sub(n_inputs)) {
            let known = self.hints.entry(slot).or_default();
            known.resources = known.resources.and(hint.resources);
            if known.device == DeviceChoice::Auto {
                known.device = hint.device;
            }
        }
    }

    /// The column that computes `expr`.
    fn slot(&mut self, expr: Arc<dyn PhysicalExpr>, call: Option<OperatorCall>) -> Result<Arc<dyn PhysicalExpr>> {
        let slot = match self.by_value.get(&expr) {
            Some(&slot) => slot,
            None => {
                let call = match call {
                    Some(call) => Some((call.clone(), self.document(&call)?)),
                    None => None,
                };
                let schema = self.schema();
                let of_columns = |column: &Column| self.slot_at(column.index()).is_some_and(|slot| slot.can_fail);
                let can_fail =
                    cost::can_fail(&expr, &schema, self.prices)? || collect_columns(&expr).iter().any(of_columns);
                let field = Field::new("", expr.data_type(&schema)?, expr.nullable(&schema)?);
                let slot = self.slots.len();
                self.fields.push(Arc::new(field.with_name(format!("slot {slot}"))));
                self.by_value.insert(Arc::clone(&expr), slot);
                self.slots.push(ComputedColumn { expr, call, can_fail });
                slot
            }
        };
        Ok(column(&format!("slot {slot}"), self.n_inputs + slot))
    }

    /// The column of a call's document; it is computed if it is no column yet.
    fn document(&mut self, call: &OperatorCall) -> Result<usize> {
        let document = match call.document.downcast_ref::<Column>() {
            Some(_) => Arc::clone(&call.document),
            None => self.slot(Arc::clone(&call.document), None)?,
        };
        match document.downcast_ref::<Column>() {
            Some(column) => Ok(column.index()),
            None => Err(crate::bug!("a slot is a column").into()),
        }
    }

    fn slot_at(&self, column: usize) -> Option<&ComputedColumn> {
        self.slots.get(column.checked_sub(self.n_inputs)?)
    }

    /// The calls among these columns.
    fn calls(&self, columns: &[usize]) -> impl Iterator<Item = &OperatorCall> {
        columns.iter().filter_map(|&column| self.slot_at(column)?.call.as_ref()).map(|(call, _)| call)
    }

    fn slot_of(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<usize> {
        expr.downcast_ref::<Column>()?.index().checked_sub(self.n_inputs)
    }

    fn schema(&self) -> SchemaRef {
        Arc::new(Schema::new(self.fields.clone()))
    }

    /// The program, with the columns of the node added last as its output. The rules come in the order that costs
    /// suggest if `reorder`, else as written.
    pub fn finish(mut self, output: &Schema, reorder: bool) -> Result<Program> {
        let schema = self.schema();
        let exprs: Vec<_> = self.slots.iter().map(|slot| Arc::clone(&slot.expr)).collect();
        self.labels.settle(&exprs, self.n_inputs)?;
        let (steps, step_of) = self.steps(&schema)?;
        let mut program = Program {
            n_inputs: self.n_inputs,
            schema: Arc::clone(&schema),
            computed_labels: (0..exprs.len()).map(|slot| self.labels.slot(slot).to_string()).collect(),
            hints: (0..exprs.len()).map(|slot| self.hints.get(&slot).copied()).collect(),
            computed: exprs,
            steps,
            step_of,
            rules: vec![],
            outputs: self
                .columns
                .iter()
                .map(|expr| ProjectedExpr::new(Arc::clone(expr), &schema, self.n_inputs))
                .collect::<Result<_>>()?,
            output_labels: self
                .columns
                .iter()
                .zip(output.fields())
                .map(|(expr, field)| self.labels.output(expr, field.name()))
                .collect::<Result<_>>()?,
        };
        for (written, condition) in self.conditions.iter().enumerate() {
            let rule = self.rule(written, condition, &schema, &program)?;
            program.rules.push(rule);
        }
        if reorder {
            let half = |rule: usize| {
                let rule = &program.rules[rule];
                Estimate { ns_per_row: rule.ns_per_row + rule.in_pass_ns, selectivity: 0.5 }
            };
            let order = best(&program, half, |step| program.steps[step].ns_per_row);
            let mut rules: Vec<Option<Rule>> = program.rules.drain(..).map(Some).collect();
            program.rules = order.into_iter().filter_map(|rule| rules[rule].take()).collect();
        }
        Ok(program)
    }

    fn rule(
        &self,
        written: usize,
        condition: &Arc<dyn PhysicalExpr>,
        schema: &SchemaRef,
        program: &Program,
    ) -> Result<Rule> {
        let narrow = ProjectedExpr::new(Arc::clone(condition), schema, self.n_inputs)?;
        let fails_below = narrow.columns.iter().any(|&column| self.slot_at(column).is_some_and(|slot| slot.can_fail));
        Ok(Rule {
            label: self.labels.of(condition)?,
            needs: needed(program, &narrow.columns),
            can_fail: fails_below || cost::can_fail(condition, schema, self.prices)?,
            written,
            ns_per_row: cost::ns_per_row(condition, schema, self.prices)?,
            in_pass_ns: self.calls(&narrow.columns).map(cost::in_pass_ns_per_row).sum(),
            keeps: keeps(condition),
            compared: compared(condition, schema, self.n_inputs)?,
            condition: narrow,
        })
    }

    /// The fields that are read of a column, if nobody reads all of it.
    fn fields_read(&self, column: usize) -> Result<Option<Vec<String>>> {
        let mut reads = FieldReads { column, fields: vec![], is_read_whole: false };
        let slots = self.slots.iter().map(|slot| &slot.expr);
        for expr in slots.chain(&self.conditions).chain(&self.columns) {
            expr.visit(&mut reads)?;
        }
        Ok((!reads.is_read_whole).then_some(reads.fields))
    }

    /// Groups the slots into steps: the statistics of one column and stage together, every other slot alone.
    fn steps(&self, schema: &SchemaRef) -> Result<(Vec<Step>, Vec<usize>)> {
        let mut passes: HashMap<(usize, PassStage), usize> = HashMap::new();
        let mut steps: Vec<Step> = vec![];
        let mut step_of: Vec<usize> = Vec::with_capacity(self.slots.len());
        for (slot, made) in self.slots.iter().enumerate() {
            let column = self.n_inputs + slot;
            let label = self.labels.definition(slot);
            let reads: Vec<usize> = match &made.call {
                Some((_, document)) => vec![*document],
                None => collect_columns(&made.expr).iter().map(Column::index).collect(),
            };
            let work = match &made.call {
                Some((call, document)) => match &call.spec.cpu {
                    // One that reads the text itself shares nothing: it runs when it is asked for.
                    Cpu::Statistic(statistic) if (statistic.needs)(&call.args) != Needs::TEXT => {
                        let needs = (statistic.needs)(&call.args);
                        if let Some(&step) = passes.get(&(*document, needs.stage())) {
                            join(&mut steps[step], (column, call.clone()), label, needs);
                            step_of.push(step);
                            continue;
                        }
                        passes.insert((*document, needs.stage()), steps.len());
                        StepKind::Pass {
                            document: *document,
                            document_label: self.labels.column(*document, schema),
                            stage: needs.stage(),
                            needs,
                            statistics: vec![(column, call.clone())],
                            labels: vec![label],
                        }
                    }
                    _ => StepKind::Call {
                        document: *document,
                        column,
                        call: call.clone(),
                        fields: self.fields_read(column)?,
                        label,
                    },
                },
                None => StepKind::Expr {
                    column,
                    expr: ProjectedExpr::new(Arc::clone(&made.expr), schema, self.n_inputs)?,
                    label,
                },
            };
            let ns_per_row = match &made.call {
                Some((call, _)) => call.spec.cost.total_ns(1, cost::TEXT_BYTES_PER_ROW as usize),
                None => cost::ns_per_row(&made.expr, schema, self.prices)?,
            };
            let mut needs = vec![];
            for read in reads.iter().filter_map(|read| read.checked_sub(self.n_inputs)) {
                let step = step_of[read];
                needs.extend(steps[step].needs.iter().copied().chain([step]));
            }
            dedup_in_order(&mut needs);
            step_of.push(steps.len());
            steps.push(Step { work, needs, ns_per_row });
        }
        Ok((steps, step_of))
    }
}

/// Adds a statistic to a pass.
fn join(step: &mut Step, statistic: (usize, OperatorCall), label: String, needs: Needs) {
    if let StepKind::Pass { needs: all, statistics, labels, .. } = &mut step.work {
        *all = all.and(needs);
        statistics.push(statistic);
        labels.push(label);
        step.ns_per_row = cost::pass_ns_per_row(statistics.iter().map(|(_, call)| call));
    }
}

/// The steps that these columns need, each after those it needs itself.
fn needed(program: &Program, columns: &[usize]) -> Vec<usize> {
    let mut steps: Vec<usize> = columns.iter().flat_map(|&column| program.steps_for(column)).collect();
    dedup_in_order(&mut steps);
    steps
}

fn dedup_in_order(steps: &mut Vec<usize>) {
    let mut seen = std::collections::HashSet::new();
    steps.retain(|step| seen.insert(*step));
}

/// The sides of a comparison with a constant.
fn compared(condition: &Arc<dyn PhysicalExpr>, schema: &SchemaRef, n_inputs: usize) -> Result<Option<Compared>> {
    let Some(binary) = condition.downcast_ref::<BinaryExpr>() else { return Ok(None) };
    let is_comparison = matches!(
        binary.op(),
        Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq | Operator::Eq | Operator::NotEq
    );
    match binary.right().downcast_ref::<Literal>().filter(|_| is_comparison) {
        Some(constant) => Ok(Some(Compared {
            value: ProjectedExpr::new(Arc::clone(binary.left()), schema, n_inputs)?,
            threshold: constant.value().clone(),
        })),
        None => Ok(None),
    }
}

/// The column of which a condition asks whether its value is in a range, and the range.
fn keeps(condition: &Arc<dyn PhysicalExpr>) -> Option<(usize, Range)> {
    let column = |expr: &Arc<dyn PhysicalExpr>| expr.downcast_ref::<Column>().map(Column::index);
    let (least, most) = (f64::NEG_INFINITY, f64::INFINITY);
    if let Some(index) = column(condition) {
        return Some((index, Range { least: 1.0, most }));
    }
    if let Some(not) = condition.downcast_ref::<NotExpr>() {
        return Some((column(not.arg())?, Range { least, most: 0.0 }));
    }
    let binary = condition.downcast_ref::<BinaryExpr>()?;
    let threshold = match binary.right().downcast_ref::<Literal>()?.value() {
        ScalarValue::Int64(value) => (*value)? as f64,
        ScalarValue::Float64(value) => (*value)?,
        _ => return None,
    };
    let range = match binary.op() {
        Operator::Lt | Operator::LtEq => Range { least, most: threshold },
        Operator::Gt | Operator::GtEq => Range { least: threshold, most },
        Operator::Eq => Range { least: threshold, most: threshold },
        _ => return None,
    };
    Some((column(binary.left())?, range))
}

fn column(name: &str, index: usize) -> Arc<dyn PhysicalExpr> {
    Arc::new(Column::new(name, index))
}

/// Finds which fields of a column are read.
struct FieldReads {
    column: usize,
    fields: Vec<String>,
    is_read_whole: bool,
}

impl<'n> TreeNodeVisitor<'n> for FieldReads {
    type Node = Arc<dyn PhysicalExpr>;

    fn f_down(&mut self, node: &'n Self::Node) -> Result<TreeNodeRecursion> {
        let is_it = |expr: &Self::Node| expr.downcast_ref::<Column>().is_some_and(|read| read.index() == self.column);
        let get_field = node.downcast_ref::<ScalarFunctionExpr>().filter(|call| call.fun().inner().is::<GetField>());
        if let Some([of, name, ..]) = get_field.map(ScalarFunctionExpr::args)
            && is_it(of)
            && let Some(ScalarValue::Utf8(Some(name))) = name.downcast_ref::<Literal>().map(Literal::value)
        {
            self.fields.push(name.clone());
            return Ok(TreeNodeRecursion::Jump);
        }
        self.is_read_whole |= is_it(node);
        Ok(TreeNodeRecursion::Continue)
    }
}

/// Replaces columns by what they are, and calls by slots.
struct Hoist<'b, 'a> {
    builder: &'b mut Builder<'a>,
    /// The CASEs around the part looked at: only statistics are computed early there.
    n_cases: usize,
}

impl TreeNodeRewriter for Hoist<'_, '_> {
    type Node = Arc<dyn PhysicalExpr>;

    fn f_down(&mut self, node: Self::Node) -> Result<Transformed<Self::Node>> {
        self.n_cases += usize::from(node.is::<CaseExpr>());
        Ok(Transformed::no(node))
    }

    fn f_up(&mut self, node: Self::Node) -> Result<Transformed<Self::Node>> {
        if let Some(column) = node.downcast_ref::<Column>() {
            let Some(meant) = self.builder.columns.get(column.index()) else {
                return Err(crate::bug!("a chain reads column {column}, which the node below does not have").into());
            };
            return Ok(Transformed::yes(Arc::clone(meant)));
        }
        self.n_cases -= usize::from(node.is::<CaseExpr>());
        if !self.builder.share {
            return Ok(Transformed::no(node));
        }
        if let Some((inner, hint)) = unhinted(&node) {
            // Models become columns later, and then take what is said of them.
            if has_model_call(&inner)? {
                return Ok(Transformed::no(node));
            }
            self.builder.note_hint(&inner, hint);
            return Ok(Transformed::yes(inner));
        }
        match OperatorCall::of(node.as_ref()).filter(|call| call.spec.effects.is_movable()) {
            Some(call) if self.n_cases == 0 || matches!(call.spec.cpu, Cpu::Statistic(_)) => {
                Ok(Transformed::yes(self.builder.slot(node, Some(call))?))
            }
            _ => Ok(Transformed::no(node)),
        }
    }
}
