//! `ComputeInTurn`: the second side of `OR` and `AND` is computed only for rows that the first leaves open.
//!
//! Not here: the conditions that a filter joins by `AND` (`GuardFailingConditions`).

use super::can_fail::can_fail;
use super::guard_failing_conditions::{has_subquery, is_join_key};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::{conjunction, merge_schema, split_conjunction_owned};
use datafusion::logical_expr::{BinaryExpr, Case, Expr, LogicalPlan, Operator, binary_expr, lit};
use datafusion::optimizer::AnalyzerRule;

/// Makes a CASE of `OR` and `AND` whose second side can fail.
///
/// ```text
/// d = 0 OR 10 / d > 2    ⇒   CASE d = 0 WHEN true THEN true ELSE d = 0 OR 10 / d > 2 END
/// d <> 0 AND 10 / d > 2  ⇒   CASE d <> 0 WHEN false THEN false ELSE d <> 0 AND 10 / d > 2 END
/// ```
/// DataFusion computes the second side for a whole batch unless the first decides for all or nearly all of its rows, so it
/// would depend on the batches whether the query ends in a division by zero. A CASE computes each branch for its own
/// rows. Sound: where the first side decides, the second changes nothing. The first side stands in the second branch too,
/// because of nulls; where it is the larger one, or has a subquery, or answers differently each time, the second is
/// written twice instead, for false and for null. It is a CASE *of* the first side because DataFusion makes `OR`s of one
/// that has conditions only.
///
/// The conditions of a filter are left apart, and so are those of a join; there, one that can fail takes those
/// before it along: `ON a.d <> 0 AND 10 / a.d > b.x` asks `CASE a.d <> 0 WHEN true THEN 10 / a.d > b.x ELSE false END`.
/// Refuses equalities in joins, which are their keys.
#[derive(Debug)]
pub struct ComputeInTurn;

impl AnalyzerRule for ComputeInTurn {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        let mut is_changed = false;
        let in_turn = plan.transform_up_with_subqueries(|node| {
            let mut schema = merge_schema(&node.inputs());
            if let LogicalPlan::TableScan(scan) = &node {
                schema.merge(&scan.projected_schema);
            }
            let names = NamePreserver::new(&node);
            let is_filter = matches!(node, LogicalPlan::Filter(_));
            let mut changed = match node {
                LogicalPlan::Join(mut join) => {
                    let before = join.filter.take();
                    let guarded = before.clone().map(|filter| guarded_in_join(filter, &schema)).transpose()?.flatten();
                    let is_guarded = guarded != before;
                    join.filter = guarded;
                    Transformed::new(LogicalPlan::Join(join), is_guarded, TreeNodeRecursion::Continue)
                }
                other => other.map_expressions(|expr| {
                    if is_filter {
                        return conditions_in_turn(expr, &schema);
                    }
                    let name = names.save(&expr);
                    Ok(expr_in_turn(expr, &schema)?.update_data(|expr| name.restore(expr)))
                })?,
            };
            is_changed |= changed.transformed;
            // A column that was made a CASE may be null for all that its type says.
            if is_changed {
                changed.data = changed.data.recompute_schema()?;
            }
            Ok(changed)
        })?;
        Ok(in_turn.data)
    }

    fn name(&self) -> &str {
        "ComputeInTurn"
    }
}

fn conditions_in_turn(predicate: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let mut is_changed = false;
    let mut conditions = vec![];
    for condition in split_conjunction_owned(predicate.clone()) {
        let in_turn = expr_in_turn(condition, schema)?;
        is_changed |= in_turn.transformed;
        conditions.push(in_turn.data);
    }
    Ok(match conjunction(conditions).filter(|_| is_changed) {
        Some(changed) => Transformed::yes(changed),
        None => Transformed::no(predicate),
    })
}

/// The condition of a join, less its keys.
fn guarded_in_join(predicate: Expr, schema: &DFSchema) -> Result<Option<Expr>> {
    let mut conditions: Vec<Expr> = vec![];
    for condition in split_conjunction_owned(predicate) {
        let condition = expr_in_turn(condition, schema)?.data;
        let guards = conjunction(conditions.iter().cloned());
        conditions.push(match guards {
            Some(guards) if !is_join_key(&condition) && can_fail(&condition, schema)? => {
                case(guards, true, condition, lit(false))
            }
            _ => condition,
        });
    }
    Ok(conjunction(conditions))
}

fn expr_in_turn(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    expr.transform_up(|part| match part {
        Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::And | Operator::Or), right })
            if can_fail(&right, schema)? =>
        {
            Ok(Transformed::yes(second_if_open(*left, op, *right)))
        }
        other => Ok(Transformed::no(other)),
    })
}

fn second_if_open(first: Expr, op: Operator, second: Expr) -> Expr {
    let decides = op == Operator::Or;
    let is_computed_once = first.is_volatile() || has_subquery(&first) || size(&first) > size(&second);
    if !is_computed_once {
        return case(first.clone(), decides, lit(decides), binary_expr(first, op, second));
    }
    let where_null = binary_expr(lit(ScalarValue::Boolean(None)), op, second.clone());
    let branches = [(decides, lit(decides)), (!decides, second)];
    let branches = branches.map(|(when, then)| (Box::new(lit(when)), Box::new(then)));
    Expr::Case(Case::new(Some(Box::new(first)), branches.to_vec(), Some(Box::new(where_null))))
}

/// `CASE of WHEN when THEN then ELSE otherwise END`
fn case(of: Expr, when: bool, then: Expr, otherwise: Expr) -> Expr {
    Expr::Case(Case::new(Some(Box::new(of)), vec![(Box::new(lit(when)), Box::new(then))], Some(Box::new(otherwise))))
}

/// The number of its parts.
fn size(expr: &Expr) -> usize {
    let mut n_parts = 0;
    let counted = expr.apply(|_| {
        n_parts += 1;
        Ok(TreeNodeRecursion::Continue)
    });
    counted.map_or(usize::MAX, |_| n_parts)
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
        ComputeInTurn.analyze(plan, state.config_options()).unwrap().to_string()
    }

    #[tokio::test]
    async fn a_side_that_can_fail_becomes_a_branch() {
        let either = analyzed("SELECT d FROM t WHERE d = 0 OR 10 / d > 2").await;
        let expected = "Filter: CASE t.d = Int64(0) WHEN Boolean(true) THEN Boolean(true) ELSE";
        assert!(either.contains(expected), "{either}");
        let both = analyzed("SELECT d <> 0 AND 10 / d > 2 FROM t").await;
        assert!(both.contains("CASE t.d != Int64(0) WHEN Boolean(false) THEN Boolean(false) ELSE"), "{both}");
        let random = analyzed("SELECT d FROM t WHERE random() > 0.5 OR 10 / d > 2").await;
        assert_eq!(random.matches("random()").count(), 1, "{random}");
    }

    #[tokio::test]
    async fn what_cannot_fail_or_is_a_condition_of_its_own_stays() {
        for query in ["SELECT d FROM t WHERE d = 0 OR s = 'x'", "SELECT d FROM t WHERE d <> 0 AND 10 / d > 2"] {
            let plan = analyzed(query).await;
            assert!(!plan.contains("CASE"), "{plan}");
        }
    }

    #[tokio::test]
    async fn a_condition_of_a_join_takes_its_guards_along() {
        let plan = analyzed("SELECT a.d FROM t AS a JOIN t AS b ON a.s = b.s AND a.d <> 0 AND 10 / a.d > b.d").await;
        assert!(plan.contains("WHEN Boolean(true) THEN Int64(10) / a.d > b.d ELSE Boolean(false) END"), "{plan}");
    }
}
