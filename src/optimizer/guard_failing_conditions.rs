//! `GuardFailingConditions`: a condition that can fail runs after the conditions that were written before it, and one that
//! is left to chance stays where it was written.
//!
//! This rule marks such conditions; `physical::OnePass` takes the mark off again once the order is settled.
//! Not here: the order of conditions that cannot fail.

use arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, Filter, LogicalPlan, Operator, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

/// Keeps a condition that can fail behind those written before it.
///
/// ```text
/// Filter: t ~ '^[0-9]+$' AND CAST(t AS Int64) > 5   ⇒   Filter: t ~ '^[0-9]+$' AND after_guards(CAST(t AS Int64) > 5)
/// ```
/// SQL leaves the order open, and DataFusion moves casts and arithmetic before functions and patterns, and both before
/// `x > 0`: the query above would fail at the first text that is no number, though the user wrote the guard.
/// A call of an unknown function is never moved forward, so the mark is one. Sound: the function gives its argument.
///
/// ```text
/// Filter: random() < 0.5                                ⇒   Filter: after_guards(random() < 0.5, score)
///   Dedup: DEDUP EXACT ON text                                Dedup: DEDUP EXACT ON text
/// ```
/// A condition that reads no column is pushed below nodes like `DEDUP` and `SAMPLE`, which see all rows: fine for a
/// constant, wrong for what answers differently each time. With the mark it reads a column of theirs.
///
/// Marks casts from text and whole-number division, and what is volatile and reads no column. Refuses conditions over several relations and those with a
/// subquery: a join may be made of them.
#[derive(Debug)]
pub struct GuardFailingConditions;

impl AnalyzerRule for GuardFailingConditions {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        let marked = plan.transform_up_with_subqueries(|node| match node {
            LogicalPlan::Filter(filter) => mark(filter),
            other => Ok(Transformed::no(other)),
        })?;
        Ok(marked.data)
    }

    fn name(&self) -> &str {
        "GuardFailingConditions"
    }
}

fn mark(filter: Filter) -> Result<Transformed<LogicalPlan>> {
    let schema = Arc::clone(filter.input.schema());
    let mut has_guard = is_filtered(&filter.input);
    let mut n_marked = 0;
    let mut conditions = vec![];
    for condition in split_conjunction_owned(filter.predicate.clone()) {
        if let Some(column) = anchor(&condition, &schema) {
            n_marked += 1;
            conditions.push(AFTER_GUARDS.call(vec![condition, column]));
        } else if has_guard && may_be_marked(&condition) && can_fail(&condition, &schema)? {
            n_marked += 1;
            conditions.push(AFTER_GUARDS.call(vec![condition]));
        } else {
            conditions.push(condition);
        }
        has_guard = true;
    }
    match conjunction(conditions).filter(|_| n_marked > 0) {
        Some(predicate) => Ok(Transformed::yes(LogicalPlan::Filter(Filter::try_new(predicate, filter.input)?))),
        None => Ok(Transformed::no(LogicalPlan::Filter(filter))),
    }
}

/// A column for a volatile condition that reads none: a small one, if there is, because it will be read.
fn anchor(condition: &Expr, schema: &DFSchema) -> Option<Expr> {
    if !condition.is_volatile() || !condition.column_refs().is_empty() {
        return None;
    }
    let columns = schema.columns();
    let is_small = |at: &usize| schema.field(*at).data_type().is_primitive();
    let at = (0..columns.len()).rev().find(is_small).or(columns.len().checked_sub(1))?;
    Some(Expr::Column(columns[at].clone()))
}

/// Whether rows pass a filter on the way to here.
fn is_filtered(plan: &LogicalPlan) -> bool {
    match plan.inputs().as_slice() {
        [input] => matches!(plan, LogicalPlan::Filter(_)) || is_filtered(input),
        _ => false,
    }
}

fn may_be_marked(condition: &Expr) -> bool {
    let relations: HashSet<_> = condition.column_refs().into_iter().map(|column| &column.relation).collect();
    let is_marked = matches!(condition, Expr::ScalarFunction(call) if call.func == *AFTER_GUARDS);
    let has_subquery = condition
        .exists(|node| Ok(matches!(node, Expr::Exists(_) | Expr::InSubquery(_) | Expr::ScalarSubquery(_))))
        .unwrap_or(true);
    relations.len() <= 1 && !is_marked && !has_subquery
}

fn can_fail(condition: &Expr, schema: &DFSchema) -> Result<bool> {
    condition.exists(|node| match node {
        Expr::Cast(cast) => Ok(cast.expr.get_type(schema)?.is_string() && !cast.field.data_type().is_string()),
        Expr::BinaryExpr(BinaryExpr { right, op: Operator::Divide | Operator::Modulo, .. }) => {
            Ok(!matches!(right.as_ref(), Expr::Literal(..)) && !right.get_type(schema)?.is_floating())
        }
        _ => Ok(false),
    })
}

/// The condition without its mark.
pub fn unmarked(condition: Arc<dyn PhysicalExpr>) -> Arc<dyn PhysicalExpr> {
    let call = ScalarFunctionExpr::try_downcast_func::<AfterGuards>(condition.as_ref());
    match call.map(ScalarFunctionExpr::args) {
        Some([inner, ..]) => Arc::clone(inner),
        _ => condition,
    }
}

static AFTER_GUARDS: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    let signature = Signature::variadic_any(Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(AfterGuards { signature }))
});

/// `after_guards(condition)`, `after_guards(condition, column)`: the condition.
#[derive(Debug, PartialEq, Eq, Hash)]
struct AfterGuards {
    signature: Signature,
}

impl ScalarUDFImpl for AfterGuards {
    fn name(&self) -> &str {
        "after_guards"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        args.args.into_iter().next().ok_or_else(|| crate::bug!("after_guards takes a condition").into())
    }
}
