//! `RetypeOuterColumns`: in a subquery, columns from outside have the types that they have outside.
//!
//! Works around DataFusion 55, whose `TypeCoercion` reads the subqueries of a node before the inputs of the node: a column
//! of a `UNION`, which gets a wider type there, is still compared in the subquery as what it was before.

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, ExprSchema};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, LogicalPlan, Subquery};
use datafusion::optimizer::AnalyzerRule;
use datafusion::optimizer::analyzer::type_coercion::TypeCoercion;
use std::sync::Arc;

/// Gives such columns their types, and lets what is done with them be coerced again.
///
/// ```text
/// Filter: n = (SELECT max(v) FROM t WHERE v = outer(x: Int64))         … WHERE CAST(v AS Decimal) = outer(x: Decimal)
///   Union                                                          ⇒
///     Projection: CAST(w AS Decimal) AS x
///     Projection: CAST(row_number() AS Decimal) AS x
/// ```
/// Sound: it says of a column what its input says of it.
/// Leaves alone a plan in which all types are right.
#[derive(Debug)]
pub struct RetypeOuterColumns;

impl AnalyzerRule for RetypeOuterColumns {
    fn analyze(&self, plan: LogicalPlan, config: &ConfigOptions) -> Result<LogicalPlan> {
        // A subquery in a subquery comes after the one around it, whose columns are nearer.
        let retyped = plan.transform_down_with_subqueries(|node| {
            if !has_subquery(&node)? {
                return Ok(Transformed::no(node));
            }
            let outside = merge_schema(&node.inputs());
            node.map_expressions(|expr| expr.transform_down(|part| in_subquery(part, &outside)))
        })?;
        if retyped.transformed { TypeCoercion::new().analyze(retyped.data, config) } else { Ok(retyped.data) }
    }

    fn name(&self) -> &str {
        "RetypeOuterColumns"
    }
}

fn has_subquery(node: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    node.apply_expressions(|expr| {
        let is_subquery =
            |part: &Expr| Ok(matches!(part, Expr::InSubquery(_) | Expr::Exists(_) | Expr::ScalarSubquery(_)));
        found |= expr.exists(is_subquery)?;
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

fn in_subquery(part: Expr, outside: &DFSchema) -> Result<Transformed<Expr>> {
    Ok(match part {
        Expr::InSubquery(InSubquery { expr, subquery, negated }) => {
            retyped(subquery, outside)?.update_data(|subquery| Expr::InSubquery(InSubquery { expr, subquery, negated }))
        }
        Expr::Exists(Exists { subquery, negated }) => {
            retyped(subquery, outside)?.update_data(|subquery| Expr::Exists(Exists { subquery, negated }))
        }
        Expr::ScalarSubquery(subquery) => retyped(subquery, outside)?.update_data(Expr::ScalarSubquery),
        other => Transformed::no(other),
    })
}

fn retyped(subquery: Subquery, outside: &DFSchema) -> Result<Transformed<Subquery>> {
    let retype = |expr: Expr| {
        expr.transform_down(|part| match part {
            Expr::OuterReferenceColumn(field, column) => match outside.field_from_column(&column) {
                Ok(found) if found.data_type() != field.data_type() => {
                    Ok(Transformed::yes(Expr::OuterReferenceColumn(Arc::clone(found), column)))
                }
                _ => Ok(Transformed::no(Expr::OuterReferenceColumn(field, column))),
            },
            other => Ok(Transformed::no(other)),
        })
    };
    let Subquery { subquery, outer_ref_columns, spans } = subquery;
    let outer_ref_columns =
        outer_ref_columns.into_iter().map(|column| Ok(retype(column)?.data)).collect::<Result<_>>()?;
    let plan = Arc::unwrap_or_clone(subquery).transform_down_with_subqueries(|node| node.map_expressions(retype))?;
    Ok(plan.update_data(|plan| Subquery { subquery: Arc::new(plan), outer_ref_columns, spans }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use datafusion::prelude::SessionContext;

    /// The plan with types, before and after the rule, of a condition over `x`.
    async fn analyzed(x: &str, condition: &str) -> (String, String) {
        let context = SessionContext::new();
        context.sql("CREATE TABLE t AS SELECT column1 AS v FROM (VALUES (1))").await.unwrap();
        let query = format!("SELECT x FROM (SELECT v AS x FROM t UNION ALL SELECT {x} FROM t) AS u WHERE {condition}");
        let (state, plan) = context.sql(&query).await.unwrap().into_parts();
        let before = TypeCoercion::new().analyze(plan, state.config_options()).unwrap();
        let after = RetypeOuterColumns.analyze(before.clone(), state.config_options()).unwrap();
        (before.to_string(), after.to_string())
    }

    #[tokio::test]
    async fn a_column_of_a_widened_union_is_compared_as_what_it_is() {
        for condition in [
            "x = (SELECT max(v) FROM t WHERE v = u.x)",
            "EXISTS (SELECT 1 FROM t WHERE v = u.x)",
            "x IN (SELECT v FROM t WHERE v = u.x)",
            "EXISTS (SELECT 1 FROM t WHERE EXISTS (SELECT 1 FROM t AS s WHERE s.v = u.x))",
        ] {
            let (before, after) = analyzed("row_number() OVER ()", condition).await;
            assert!(before.contains("v = outer_ref(u.x)"), "{before}");
            let is_cast = |name: &str| after.contains(&format!("CAST({name}.v AS Decimal128(20, 0)) = outer_ref(u.x)"));
            assert!(is_cast("t") || is_cast("s"), "{after}");
        }
    }

    #[tokio::test]
    async fn what_has_its_type_is_left_alone() {
        let (before, after) = analyzed("v + 1", "x = (SELECT max(v) FROM t WHERE v = u.x)").await;
        assert_eq!(before, after);
    }
}
