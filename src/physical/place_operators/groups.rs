//! An aggregation directly above a program, as the program's last item: a device may put the rows together, so that only
//! groups come back.
//!
//! ```text
//! AggregateExec: Final                       AggregateExec: Final
//!   CoalescePartitionsExec                     CoalescePartitionsExec
//!     AggregateExec: Partial          ⇒          ToBackendExec: cpu ← gpu      groups
//!       AnnotateExec: words(text) > 9              DeviceExec: groups of …     one kernel, and two for the groups
//! ```
//! Sound because what is counted, added up, least and greatest of whole numbers does not depend on the order of rows, and
//! because groups of a batch are what a partial aggregation gives: states that the final one adds up.
//! Refuses sums and means of floats, whose last digits depend on the order; the least and the greatest of floats by key,
//! where the CPU keeps the first of 0 and -0; keys that are no whole numbers or truth values; DISTINCT and FILTER.

use crate::cost::{GpuWork, Reason, ReasonCode, RowEstimate, gpu_seconds};
use crate::exec::{AnnotateExec, GroupStates, Program, ProjectedExpr, State};
use crate::gpu::{Fold, Grouping, Type};
use crate::physical::hardware::Found;
use crate::physical::place::{Column as PlaceColumn, Item as PlaceItem, OnGpu, Problem, Side};
use arrow::datatypes::{DataType, Schema};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{CastExpr, Column, Literal};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use std::sync::Arc;

/// What a row takes on one core, roughly: its key is hashed and found, and each value is folded.
const CPU_NS_ROW: f64 = 15.0;
const CPU_NS_FOLD: f64 = 4.0;
/// Instructions of the kernel, roughly: for a row, for each key, for each fold. The two further launches of a batch are
/// not in the estimate.
const GPU_ROW: f64 = 40.0;
const GPU_KEY: f64 = 30.0;
const GPU_FOLD: f64 = 25.0;
/// Rows that share a table on its way back: those of a batch of ordinary documents.
const ROWS_A_TABLE: f64 = 32_768.0;

/// An aggregation that reads the rows of a program.
pub(super) struct Aggregation<'a> {
    pub node: &'a AggregateExec,
    /// What a device has to do, or why it cannot.
    pub work: Result<Wanted, Reason>,
}

/// Keys and folds in terms of the program's outputs.
#[derive(Debug, Clone, Default)]
pub(super) struct Wanted {
    /// The outputs that are read, each once.
    pub outputs: Vec<usize>,
    pub keys: Vec<usize>,
    pub folds: Vec<Fold>,
    pub states: Vec<State>,
}

impl<'a> Aggregation<'a> {
    /// The aggregation if it is one that reads rows of `annotate`, its input, and gives states or results of them.
    pub fn of(node: &'a AggregateExec, annotate: &AnnotateExec) -> Option<Self> {
        let is_first = matches!(node.mode(), AggregateMode::Partial | AggregateMode::Single);
        let is_plain = node.limit_options().is_none() && annotate.options().fetch.is_none();
        (is_first && is_plain).then(|| Self { node, work: wanted(node, annotate) })
    }

    /// As a user would write it.
    pub fn label(&self) -> String {
        let functions: Vec<String> = self.node.aggr_expr().iter().map(|function| function.name().to_string()).collect();
        let keys: Vec<String> = self.node.group_expr().expr().iter().map(|(_, name)| name.clone()).collect();
        match keys.is_empty() {
            true => functions.join(", "),
            false => format!("{} by {}", functions.join(", "), keys.join(", ")),
        }
    }

    /// Adds it to a problem whose items come before it: groups are all that is read of them.
    pub fn add_to(&self, problem: &mut Problem, program: &Program, rows: &RowEstimate, forced: bool, found: &Found) {
        let read: Vec<usize> = match &self.work {
            Ok(wanted) => columns_of(program, &wanted.outputs),
            // Nothing is gained by knowing what stays on the CPU reads: it reads what the program gives out.
            Err(_) => columns_of(program, &(0..program.outputs.len()).collect::<Vec<_>>()),
        };
        let (n_keys, n_folds) = self.work.as_ref().map_or((0, 0), |wanted| (wanted.keys.len(), wanted.folds.len()));
        let table_bytes = self.work.as_ref().map_or(0.0, |wanted| wanted.grouping().table_bytes() as f64);
        problem.columns.iter_mut().for_each(|column| column.is_output = false);
        let made = problem.columns.len();
        problem.columns.push(PlaceColumn {
            label: "groups".to_string(),
            bytes_per_row: table_bytes / ROWS_A_TABLE,
            is_output: true,
        });
        let instructions = GPU_ROW + GPU_KEY * n_keys as f64 + GPU_FOLD * n_folds as f64;
        let work = GpuWork { instructions_per_row: instructions, ..GpuWork::default() };
        let gpu = match (&self.work, &found.profile.device) {
            (Err(reason), _) => Err(reason.clone()),
            (Ok(_), Some(device)) => {
                Ok(OnGpu { seconds: gpu_seconds(device, &work, rows), scratch_bytes_per_row: 0.0 })
            }
            (Ok(_), None) => Ok(OnGpu::default()),
        };
        let cpu_ns = CPU_NS_ROW + CPU_NS_FOLD * self.node.aggr_expr().len() as f64;
        problem.items.push(PlaceItem {
            label: self.label(),
            inputs: problem.items.len().checked_sub(1).into_iter().collect(),
            reads: read,
            makes: vec![made],
            rows_in: rows.n_rows,
            drops_rows: false,
            cpu_seconds: found.profile.cpu.seconds(cpu_ns * rows.n_rows),
            forced: (forced && gpu.is_ok()).then_some(Side::Gpu),
            gpu,
            resources: Default::default(),
        });
    }
}

impl Wanted {
    fn grouping(&self) -> Grouping {
        Grouping { keys: self.keys.clone(), folds: self.folds.clone() }
    }

    /// How groups become states of `node`, given which result of a kernel each of the outputs is.
    pub fn states(&self, node: &AggregateExec, results: &[usize]) -> Result<GroupStates> {
        let schema = match node.mode() {
            AggregateMode::Partial => node.schema(),
            _ => partial(node)?.schema(),
        };
        let mut columns = vec![0; results.iter().max().map_or(0, |last| last + 1)];
        results.iter().zip(&self.outputs).for_each(|(result, output)| columns[*result] = *output);
        let keys = self.keys.iter().map(|key| results[*key]).collect();
        let folds = self.folds.iter().map(|fold| Fold { output: results[fold.output], ..*fold }).collect();
        Ok(GroupStates { grouping: Grouping { keys, folds }, columns, states: self.states.clone(), schema })
    }

    /// The place of an output of the program among those that are read.
    fn read(&mut self, output: usize) -> usize {
        self.outputs.iter().position(|known| *known == output).unwrap_or_else(|| {
            self.outputs.push(output);
            self.outputs.len() - 1
        })
    }

    fn fold(&mut self, output: usize, adds: bool, orders: bool) -> usize {
        let output = self.read(output);
        if let Some(place) = self.folds.iter().position(|fold| fold.output == output) {
            self.folds[place].adds |= adds;
            self.folds[place].orders |= orders;
            return place;
        }
        self.folds.push(Fold { output, adds, orders });
        self.folds.len() - 1
    }
}

/// The aggregation that gives states of the rows that `node` reads.
fn partial(node: &AggregateExec) -> Result<AggregateExec> {
    let (functions, filters) = (node.aggr_expr().to_vec(), node.filter_expr().to_vec());
    let input = Arc::clone(node.input());
    AggregateExec::try_new(
        AggregateMode::Partial,
        node.group_expr().clone(),
        functions,
        filters,
        input,
        node.input_schema(),
    )
}

/// What `node` gives, made of the states that `groups` gives.
pub(super) fn over_groups(node: &AggregateExec, groups: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    if *node.mode() == AggregateMode::Partial {
        return Ok(groups);
    }
    let (functions, filters) = (node.aggr_expr().to_vec(), node.filter_expr().to_vec());
    let keys = node.group_expr().as_final();
    let made = AggregateExec::try_new(AggregateMode::Final, keys, functions, filters, groups, node.input_schema())?;
    Ok(Arc::new(made))
}

/// The columns of a program that outputs are made of.
fn columns_of(program: &Program, outputs: &[usize]) -> Vec<usize> {
    let mut columns: Vec<usize> = outputs
        .iter()
        .filter_map(|output| program.outputs.get(*output))
        .flat_map(|output| output.columns.clone())
        .collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}

fn no(why: &str) -> Reason {
    Reason::new(ReasonCode::Aggregate, why)
}

/// Keys and folds of an aggregation, or why a device does not do it.
fn wanted(node: &AggregateExec, annotate: &AnnotateExec) -> Result<Wanted, Reason> {
    let schema = annotate.schema();
    let group = node.group_expr();
    if !group.is_single() {
        return Err(no("there are several sets of keys"));
    }
    if node.filter_expr().iter().any(Option::is_some) {
        return Err(no("an aggregate has a FILTER"));
    }
    let mut wanted = Wanted::default();
    let is_made = |output: usize| {
        let program = annotate.program();
        program.outputs.get(output).and_then(ProjectedExpr::as_column).is_some()
    };
    for (expr, name) in group.expr() {
        let column = column_of(expr).filter(|column| is_made(*column));
        let column = column.ok_or_else(|| no(&format!("the key {name} is no column")))?;
        if !matches!(Type::of(schema.field(column).data_type()), Some(Type::Int | Type::Bool)) {
            return Err(no(&format!("the key {name} is neither a whole number nor a truth value")));
        }
        let key = wanted.read(column);
        wanted.keys.push(key);
    }
    for function in node.aggr_expr() {
        let parts = function.all_expressions();
        if function.is_distinct() || !parts.order_by_exprs.is_empty() {
            return Err(no(&format!("{} needs all values", function.name())));
        }
        let [argument] = &parts.args[..] else { return Err(no(&format!("{} has several arguments", function.name()))) };
        let kind = function.fun().name();
        let (state, value) = match is_counted(argument) {
            true if kind == "count" => (State::Rows, DataType::Int64),
            _ => {
                let column = value_of(argument, &schema).filter(|column| is_made(*column));
                let column = column.ok_or_else(|| no(&format!("what {} reads is no column", function.name())))?;
                let value = schema.field(column).data_type();
                (
                    fold(&mut wanted, kind, column, value).map_err(|why| no(&format!("{}: {why}", function.name())))?,
                    value.clone(),
                )
            }
        };
        let fields = function.state_fields().map_err(|error| no(&error.to_string()))?;
        let types: Vec<DataType> = fields.iter().map(|field| field.data_type().clone()).collect();
        if types != state.types(&value) {
            return Err(no(&format!("{} keeps {types:?}", function.name())));
        }
        wanted.states.push(state);
    }
    Ok(wanted)
}

fn fold(wanted: &mut Wanted, kind: &str, column: usize, value: &DataType) -> Result<State, String> {
    let ty = Type::of(value).filter(|ty| ty.is_number()).ok_or(format!("no kernel folds {value}"))?;
    let has_keys = !wanted.keys.is_empty();
    Ok(match (kind, ty) {
        ("count", _) => State::Count(wanted.fold(column, false, false)),
        ("sum", Type::Int) => State::Sum(wanted.fold(column, true, false)),
        ("avg", Type::Int) => State::Mean(wanted.fold(column, true, true)),
        ("sum" | "avg", Type::Float) => return Err("how floats add up depends on their order".to_string()),
        ("min" | "max", Type::Float) if has_keys => {
            return Err("of 0 and -0 the first stays, which depends on their order".to_string());
        }
        ("min", Type::Int | Type::Float) => State::Least(wanted.fold(column, false, true)),
        ("max", Type::Int | Type::Float) => State::Greatest(wanted.fold(column, false, true)),
        _ => return Err(format!("there is no kernel for {kind} of {value}")),
    })
}

fn column_of(expr: &Arc<dyn PhysicalExpr>) -> Option<usize> {
    expr.downcast_ref::<Column>().map(Column::index)
}

/// The column whose values are folded: itself, or whole numbers that are widened, as sums and means want it.
fn value_of(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<usize> {
    let Some(cast) = expr.downcast_ref::<CastExpr>() else { return column_of(expr) };
    let is_whole = |column: &usize| Type::of(schema.field(*column).data_type()) == Some(Type::Int);
    let is_wide = matches!(cast.cast_type(), DataType::Int64 | DataType::Float64);
    column_of(cast.expr()).filter(is_whole).filter(|_| is_wide)
}

/// Whether each row counts, whatever is in it.
fn is_counted(expr: &Arc<dyn PhysicalExpr>) -> bool {
    expr.downcast_ref::<Literal>().is_some_and(|literal| !ScalarValue::is_null(literal.value()))
}
