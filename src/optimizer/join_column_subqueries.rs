//! `JoinColumnSubqueries`: `k IN (SELECT …)` and `EXISTS (SELECT …)` may be columns.
//!
//! DataFusion (55.2) plans them in filters only. Not here: subqueries that read columns from outside, which are refused
//! (`logical/subqueries.rs`).

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{JoinType, ScalarValue};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{
    Case, Expr, LogicalPlan, LogicalPlanBuilder, Projection, Subquery, col, ident, lit, scalar_subquery, when,
};
use datafusion::optimizer::AnalyzerRule;
use std::cell::Cell;
use std::sync::Arc;

/// Joins the values of a subquery to the rows that ask for them.
///
/// ```text
/// Projection: k IN (SELECT k FROM s) AS b   ⇒   Projection: CASE WHEN found THEN true WHEN … END AS b
///   …                                             Left Join: k = value
///                                                   …
///                                                   Projection: k AS value, true AS found
///                                                     Aggregate: groupBy=[k]
///                                                       s
/// Projection: EXISTS (SELECT k FROM s) AS b  ⇒   Projection: (SELECT count(1) FROM s LIMIT 1) > 0 AS b
/// ```
/// Sound: each value is there once, so the join gives every row once. What is not found is false if the subquery has no
/// rows, else null where the value asked for or one of the subquery is null, else false; its rows and its values are
/// counted for that. Refuses subqueries that read columns from outside, and values that differ each time.
#[derive(Debug)]
pub struct JoinColumnSubqueries;

impl AnalyzerRule for JoinColumnSubqueries {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        let n_joins = Cell::new(0);
        let mut is_changed = false;
        let joined = plan.transform_up_with_subqueries(|node| {
            let mut node = match node {
                LogicalPlan::Projection(projection) => joined(projection, &n_joins)?,
                other => Transformed::no(other),
            };
            is_changed |= node.transformed;
            // What is computed from a join may be null.
            if is_changed {
                node.data = node.data.recompute_schema()?;
            }
            Ok(node)
        })?;
        Ok(joined.data)
    }

    fn name(&self) -> &str {
        "JoinColumnSubqueries"
    }
}

fn joined(projection: Projection, n_joins: &Cell<usize>) -> Result<Transformed<LogicalPlan>> {
    let names = NamePreserver::new_for_projection();
    let mut input = Arc::clone(&projection.input);
    let mut is_changed = false;
    let mut columns = vec![];
    for expr in &projection.expr {
        let name = names.save(expr);
        let column = expr.clone().transform_up(|part| match part {
            Expr::InSubquery(question) if stands_alone(&question.subquery) && !question.expr.is_volatile() => {
                let (plan, answer) = found_in(Arc::clone(&input), question, n_joins)?;
                input = Arc::new(plan);
                Ok(Transformed::yes(answer))
            }
            Expr::Exists(question) if stands_alone(&question.subquery) => Ok(Transformed::yes(has_rows(question)?)),
            other => Ok(Transformed::no(other)),
        })?;
        is_changed |= column.transformed;
        columns.push(name.restore(column.data));
    }
    if !is_changed {
        return Ok(Transformed::no(LogicalPlan::Projection(projection)));
    }
    Ok(Transformed::yes(LogicalPlan::Projection(Projection::try_new(columns, input)?)))
}

fn stands_alone(subquery: &Subquery) -> bool {
    subquery.outer_ref_columns.is_empty()
}

/// The rows with the value that each of them finds, and the answer that they make of it.
fn found_in(input: Arc<LogicalPlan>, question: InSubquery, n_joins: &Cell<usize>) -> Result<(LogicalPlan, Expr)> {
    let rows = Arc::unwrap_or_clone(question.subquery.subquery);
    let Some(value) = rows.schema().columns().into_iter().next().map(Expr::Column) else {
        return Err(crate::bug!("a subquery without a column").into());
    };
    let number = n_joins.replace(n_joins.get() + 1);
    let (key, found) = (format!("__in_value_{number}"), format!("__in_found_{number}"));
    let null = || lit(ScalarValue::Boolean(None));
    // False without rows, null with a null among them, true otherwise.
    let is_whole = when(col("n_rows").eq(lit(0_i64)), lit(false))
        .when(col("n_values").lt(col("n_rows")), null())
        .otherwise(lit(true))?;
    let is_whole = LogicalPlanBuilder::from(rows.clone())
        .aggregate(Vec::<Expr>::new(), vec![count(lit(1)).alias("n_rows"), count(value.clone()).alias("n_values")])?
        .project(vec![is_whole])?
        .build()?;
    let values = LogicalPlanBuilder::from(rows)
        .aggregate(vec![value.clone()], Vec::<Expr>::new())?
        .project(vec![value.alias(&key), lit(true).alias(&found)])?
        .build()?;
    let asked = *question.expr;
    let joined = LogicalPlanBuilder::from(input)
        .join_with_expr_keys(values, JoinType::Left, (vec![asked.clone()], vec![ident(&key)]), None)?
        .build()?;
    let branches = [(false, lit(false)), (true, when(asked.is_null(), null()).otherwise(lit(false))?)];
    let branches = branches.map(|(is_whole, answer)| (Box::new(lit(is_whole)), Box::new(answer)));
    let is_whole = Box::new(scalar_subquery(Arc::new(is_whole)));
    let missing = Expr::Case(Case::new(Some(is_whole), branches.to_vec(), Some(Box::new(null()))));
    let answer = when(ident(&found).is_not_null(), lit(true)).otherwise(missing)?;
    Ok((joined, if question.negated { !answer } else { answer }))
}

fn has_rows(question: Exists) -> Result<Expr> {
    let first = LogicalPlanBuilder::from(Arc::unwrap_or_clone(question.subquery.subquery)).limit(0, Some(1))?;
    let counted = first.aggregate(Vec::<Expr>::new(), vec![count(lit(1))])?.build()?;
    let wanted = lit(i64::from(!question.negated));
    Ok(scalar_subquery(Arc::new(counted)).eq(wanted))
}
