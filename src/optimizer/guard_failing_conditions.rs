//! `GuardFailingConditions`: what can fail runs after the conditions that were written before it, and a condition that is
//! left to chance stays where it was written.
//!
//! This rule marks such conditions and columns; `physical::OnePass` takes the mark off again once the order is settled.
//! Not here: the order of conditions that cannot fail.

use super::can_fail::can_fail;
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, JoinType};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{
    Aggregate, BinaryExpr, ColumnarValue, Distinct, Expr, Filter, Join, LogicalPlan, Operator, Projection,
    ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
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
/// ```text
/// Filter: n > 7                                             Filter: n > 7
///   Projection: CAST(t AS Int64) AS n                 ⇒       Projection: stays_here(CAST(t AS Int64)) AS n
///     Filter: t ~ '^[0-9]+$'                                    Filter: t ~ '^[0-9]+$'
/// ```
/// A filter is pushed below the column that it reads, and past joins, but never below a column that may differ each time
/// it is computed. So this mark is volatile.
///
/// ```text
/// Filter: m > 2 AND CAST(t AS Int64) > 7                    Filter: __fenced_0
///   Aggregate: groupBy=[t], max(id) AS m              ⇒       Projection: t, m, stays_here(CAST(t AS Int64) > 7) AS __fenced_0
///                                                               Filter: m > 2
///                                                                 Aggregate: groupBy=[t], max(id) AS m
/// ```
/// Some nodes let a condition on their keys pass and hold others back: groups, windows, `DEDUP`, joins. There, and after a
/// condition with a subquery, which becomes a join, what can fail is made such a column.
///
/// Marks what can fail (`can_fail.rs`) behind anything that drops rows; what reads no column, if it is volatile.
/// Refuses conditions with a subquery, and equalities of the two sides of a cross join: they are its keys.
#[derive(Debug)]
pub struct GuardFailingConditions;

impl AnalyzerRule for GuardFailingConditions {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        let n_names = Cell::new(0);
        let marked = plan.transform_up_with_subqueries(|node| match node {
            LogicalPlan::Filter(filter) => mark_filter(filter, &n_names),
            LogicalPlan::Projection(projection) => mark_projection(projection),
            LogicalPlan::Aggregate(aggregate) => mark_groups(aggregate),
            other => Ok(Transformed::no(other)),
        })?;
        Ok(marked.data)
    }

    fn name(&self) -> &str {
        "GuardFailingConditions"
    }
}

fn mark_filter(filter: Filter, n_names: &Cell<usize>) -> Result<Transformed<LogicalPlan>> {
    let schema = Arc::clone(filter.input.schema());
    let mut guards = Guards::of(&filter.input)?;
    let mut n_marked = 0;
    let mut conditions = vec![];
    let mut fenced = vec![];
    for condition in split_conjunction_owned(filter.predicate.clone()) {
        let reads_none = condition.column_refs().is_empty() && !has_subquery(&condition);
        let anchor = anchor(&schema).filter(|_| reads_none && condition.is_volatile());
        let is_key = guards.over_cross_join && is_join_key(&condition);
        let may_be_marked = !is_key && !is_marked(&condition) && !has_subquery(&condition);
        let is_guarded = guards.any && may_be_marked && can_fail(&condition, &schema)?;
        guards.any = true;
        guards.may_part |= has_subquery(&condition);
        if let Some(column) = anchor {
            n_marked += 1;
            conditions.push(AFTER_GUARDS.call(vec![condition, column]));
        } else if is_guarded && guards.may_part && !condition.contains_outer() {
            fenced.push(condition);
        } else if is_guarded {
            n_marked += 1;
            conditions.push(AFTER_GUARDS.call(vec![condition]));
        } else {
            conditions.push(condition);
        }
    }
    if n_marked == 0 && fenced.is_empty() {
        return Ok(Transformed::no(LogicalPlan::Filter(filter)));
    }
    let mut plan = Arc::unwrap_or_clone(filter.input);
    if let Some(predicate) = conjunction(conditions) {
        plan = LogicalPlan::Filter(Filter::try_new(predicate, Arc::new(plan))?);
    }
    // One by one: each may be the guard of the next.
    for condition in fenced {
        plan = fence(condition, plan, n_names)?;
    }
    Ok(Transformed::yes(plan))
}

/// The name of a condition that was made a column.
pub const FENCED: &str = "__fenced";

/// Keeps a condition above `plan`: it is a column there, and the filter reads the column.
fn fence(condition: Expr, plan: LogicalPlan, n_names: &Cell<usize>) -> Result<LogicalPlan> {
    let columns: Vec<Expr> = plan.schema().columns().into_iter().map(Expr::Column).collect();
    let name = format!("{FENCED}_{}", n_names.replace(n_names.get() + 1));
    let computed = columns.iter().cloned().chain([STAYS_HERE.call(vec![condition]).alias(&name)]);
    let plan = LogicalPlan::Projection(Projection::try_new(computed.collect(), Arc::new(plan))?);
    let filter = Filter::try_new(Expr::Column(Column::new_unqualified(name)), Arc::new(plan))?;
    Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(LogicalPlan::Filter(filter)))?))
}

/// The same filter over what is below the columns that [`fence`] made, for one that no rule moves anyway.
pub(super) fn unfenced(filter: Filter) -> Result<Filter> {
    let LogicalPlan::Projection(fence) = filter.input.as_ref() else { return Ok(filter) };
    let mut conditions = HashMap::new();
    for expr in &fence.expr {
        match expr {
            Expr::Column(_) => {}
            Expr::Alias(alias) if alias.name.starts_with(FENCED) => {
                conditions.insert(alias.name.as_str(), without_mark(&alias.expr));
            }
            _ => return Ok(filter),
        }
    }
    let predicate = filter.predicate.clone().transform_up(|part| match &part {
        Expr::Column(column) => Ok(match conditions.get(column.name.as_str()) {
            Some(condition) => Transformed::yes(condition.clone()),
            None => Transformed::no(part),
        }),
        _ => Ok(Transformed::no(part)),
    })?;
    Filter::try_new(predicate.data, Arc::clone(&fence.input))
}

fn without_mark(expr: &Expr) -> Expr {
    match expr {
        Expr::ScalarFunction(call) if is_marked(expr) => call.args.first().unwrap_or(expr).clone(),
        _ => expr.clone(),
    }
}

fn mark_projection(projection: Projection) -> Result<Transformed<LogicalPlan>> {
    let schema = Arc::clone(projection.input.schema());
    match mark_columns(&projection.expr, &projection.input, &schema)? {
        Some(columns) => {
            let marked = Projection::try_new(columns, projection.input)?;
            Ok(Transformed::yes(LogicalPlan::Projection(marked)))
        }
        None => Ok(Transformed::no(LogicalPlan::Projection(projection))),
    }
}

fn mark_groups(aggregate: Aggregate) -> Result<Transformed<LogicalPlan>> {
    let schema = Arc::clone(aggregate.input.schema());
    match mark_columns(&aggregate.group_expr, &aggregate.input, &schema)? {
        Some(groups) => {
            let marked = Aggregate::try_new(aggregate.input, groups, aggregate.aggr_expr)?;
            Ok(Transformed::yes(LogicalPlan::Aggregate(marked)))
        }
        None => Ok(Transformed::no(LogicalPlan::Aggregate(aggregate))),
    }
}

/// The columns with marks, under their names; `None` if there is nothing to mark.
fn mark_columns(exprs: &[Expr], input: &LogicalPlan, schema: &DFSchema) -> Result<Option<Vec<Expr>>> {
    let is_set = |expr: &Expr| matches!(expr, Expr::GroupingSet(_));
    if exprs.iter().any(is_set) || !Guards::of(input)?.any {
        return Ok(None);
    }
    let mut n_marked = 0;
    let mut columns = vec![];
    for expr in exprs {
        let inner = expr.clone().unalias();
        if !is_marked(&inner) && !has_subquery(&inner) && can_fail(&inner, schema)? {
            n_marked += 1;
            let (qualifier, name) = expr.qualified_name();
            columns.push(STAYS_HERE.call(vec![inner]).alias_qualified(qualifier, name));
        } else {
            columns.push(expr.clone());
        }
    }
    Ok((n_marked > 0).then_some(columns))
}

/// A column for a condition that reads none: a small one, if there is, because it will be read.
fn anchor(schema: &DFSchema) -> Option<Expr> {
    let columns = schema.columns();
    let is_small = |at: &usize| schema.field(*at).data_type().is_primitive();
    let at = (0..columns.len()).rev().find(is_small).or(columns.len().checked_sub(1))?;
    Some(Expr::Column(columns[at].clone()))
}

/// What drops rows on the way to a node.
#[derive(Default)]
struct Guards {
    /// Anything does.
    any: bool,
    /// A node may let some conditions pass and hold others back, so that they come in another order.
    may_part: bool,
    /// The first node that does is a join of all rows with all.
    over_cross_join: bool,
}

impl Guards {
    fn of(plan: &LogicalPlan) -> Result<Self> {
        let mut guards = Self::default();
        plan.apply(|node| {
            match node {
                LogicalPlan::Filter(filter) => {
                    guards.any = true;
                    guards.may_part |= has_subquery(&filter.predicate);
                }
                LogicalPlan::Projection(projection) => {
                    guards.may_part |= projection.expr.iter().any(Expr::is_volatile);
                }
                LogicalPlan::Aggregate(_) | LogicalPlan::Window(_) | LogicalPlan::Distinct(Distinct::All(_)) => {
                    guards.may_part = true
                }
                LogicalPlan::Join(join) if is_cross_join(join) => {
                    guards.over_cross_join |= !guards.may_part;
                    guards.may_part = true;
                }
                LogicalPlan::Join(_)
                | LogicalPlan::Unnest(_)
                | LogicalPlan::Distinct(Distinct::On(_))
                | LogicalPlan::Extension(_) => (guards.any, guards.may_part) = (true, true),
                LogicalPlan::Limit(_) => {
                    guards.any = true;
                    // No condition passes it.
                    return Ok(TreeNodeRecursion::Jump);
                }
                _ => {}
            }
            Ok(if guards.any && guards.may_part { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })?;
        Ok(guards)
    }
}

fn is_cross_join(join: &Join) -> bool {
    join.join_type == JoinType::Inner && join.on.is_empty() && join.filter.is_none()
}

/// Whether a condition says that two tables have something in common.
pub(super) fn is_join_key(condition: &Expr) -> bool {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = condition else { return false };
    let tables =
        |side: &Expr| -> HashSet<_> { side.column_refs().into_iter().map(|column| column.relation.clone()).collect() };
    let (left, right) = (tables(left), tables(right));
    !left.is_empty() && !right.is_empty() && left.is_disjoint(&right)
}

fn is_marked(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(call) if call.func == *AFTER_GUARDS || call.func == *STAYS_HERE)
}

pub(super) fn has_subquery(expr: &Expr) -> bool {
    expr.exists(|node| Ok(matches!(node, Expr::Exists(_) | Expr::InSubquery(_) | Expr::ScalarSubquery(_))))
        .unwrap_or(true)
}

/// Whether something in a condition is marked to run after the conditions before it.
pub fn is_marked_condition(condition: &Arc<dyn PhysicalExpr>) -> bool {
    let is_mark = |part: &Arc<dyn PhysicalExpr>| {
        Ok(ScalarFunctionExpr::try_downcast_func::<AfterGuards>(part.as_ref()).is_some())
    };
    condition.exists(is_mark).unwrap_or(true)
}

/// The expression without marks.
pub fn unmarked(expr: Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
    let without = expr.transform_up(|part| {
        let call = ScalarFunctionExpr::try_downcast_func::<AfterGuards>(part.as_ref());
        Ok(match call.map(ScalarFunctionExpr::args) {
            Some([inner, ..]) => Transformed::yes(Arc::clone(inner)),
            _ => Transformed::no(part),
        })
    })?;
    Ok(without.data)
}

static AFTER_GUARDS: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| mark("after_guards", Volatility::Immutable));

static STAYS_HERE: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| mark("stays_here", Volatility::Volatile));

fn mark(name: &'static str, volatility: Volatility) -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::new_from_impl(AfterGuards { name, signature: Signature::variadic_any(volatility) }))
}

/// `after_guards(value)`, `after_guards(value, column)`, `stays_here(value)`: the value.
#[derive(Debug, PartialEq, Eq, Hash)]
struct AfterGuards {
    name: &'static str,
    signature: Signature,
}

impl ScalarUDFImpl for AfterGuards {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        arg_types.first().cloned().ok_or_else(|| crate::bug!("{} takes a value", self.name).into())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        args.arg_fields.first().cloned().ok_or_else(|| crate::bug!("{} takes a value", self.name).into())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        args.args.into_iter().next().ok_or_else(|| crate::bug!("{} takes a value", self.name).into())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use datafusion::prelude::SessionContext;

    async fn analyzed(query: &str) -> String {
        let context = SessionContext::new();
        context.sql("CREATE TABLE t AS SELECT column1 AS s, column2 AS d FROM (VALUES ('7', 1))").await.unwrap();
        let (state, plan) = context.sql(query).await.unwrap().into_parts();
        GuardFailingConditions.analyze(plan, state.config_options()).unwrap().to_string()
    }

    #[tokio::test]
    async fn a_condition_that_can_fail_is_marked_behind_a_guard_and_only_there() {
        let guarded = analyzed("SELECT s FROM t WHERE s LIKE '7%' AND CAST(s AS BIGINT) > 5").await;
        assert!(guarded.contains("AND after_guards(CAST(t.s AS Int64) > Int64(5))"), "{guarded}");
        let first = analyzed("SELECT s FROM t WHERE CAST(s AS BIGINT) > 5 AND s LIKE '7%'").await;
        assert!(!first.contains("after_guards"), "{first}");
    }

    #[tokio::test]
    async fn a_column_that_can_fail_stays_above_the_filters_below_it() {
        let guarded = analyzed("SELECT CAST(s AS BIGINT) AS n, 10 / d AS q FROM t WHERE d > 0").await;
        assert!(guarded.contains("stays_here(CAST(t.s AS Int64)) AS n, stays_here(Int64(10) / t.d) AS q"), "{guarded}");
        let groups = analyzed("SELECT count(*) FROM t WHERE d > 0 GROUP BY CAST(s AS BIGINT)").await;
        assert!(groups.contains("groupBy=[[stays_here(CAST(t.s AS Int64)) AS t.s]]"), "{groups}");
        let unguarded = analyzed("SELECT CAST(s AS BIGINT) AS n FROM t").await;
        assert!(!unguarded.contains("stays_here"), "{unguarded}");
    }

    #[tokio::test]
    async fn a_condition_becomes_a_column_above_what_lets_only_some_conditions_pass() {
        for query in [
            "SELECT max(d) FROM t AS a GROUP BY s HAVING max(d) > 0 AND CAST(a.s AS BIGINT) > 5",
            "SELECT m FROM (SELECT s, max(d) OVER (PARTITION BY s) AS m FROM t) AS a WHERE m > 0 AND CAST(s AS BIGINT) > 5",
            "SELECT a.d FROM t AS a JOIN t AS b ON a.d = b.d WHERE CAST(a.s AS BIGINT) > 5",
            "SELECT d FROM t AS a WHERE d IN (SELECT d FROM t) AND CAST(s AS BIGINT) > 5",
        ] {
            let plan = analyzed(query).await;
            assert!(plan.contains("Filter: __fenced_0"), "{plan}");
            assert!(plan.contains("stays_here(CAST(a.s AS Int64) > Int64(5)) AS __fenced_0"), "{plan}");
        }
    }

    #[tokio::test]
    async fn a_key_of_a_cross_join_stays_one() {
        let key = analyzed("SELECT a.d FROM t AS a, t AS b WHERE a.s LIKE '7%' AND CAST(a.s AS BIGINT) = b.d").await;
        assert!(!key.contains("__fenced"), "{key}");
        let other = analyzed("SELECT a.d FROM t AS a, t AS b WHERE a.d <> b.d AND 10 / (a.d - b.d) = 3").await;
        assert!(other.contains("Filter: __fenced_0"), "{other}");
    }
}
