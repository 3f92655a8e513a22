//! `NameOuterColumns`: a column that a query computed can be compared with a subquery's column of the same name.
//!
//! Works around DataFusion 55, which makes joins of subqueries and then takes a column without a table's name for one of
//! either side; which refuses `NOT IN` with a subquery that reads columns from outside; and which, inside `OR`, takes
//! `NOT IN` for true where a null makes it unknown.

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, ExprSchema, TableReference};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::logical_expr::expr::{BinaryExpr, Exists, InSubquery};
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{Expr, Filter, LogicalPlan, LogicalPlanBuilder, Operator, Projection, Subquery, lit};
use datafusion::optimizer::AnalyzerRule;
use std::cell::Cell;
use std::collections::HashSet;
use std::sync::Arc;

/// Gives columns without a table's name one, below a condition with a subquery.
///
/// ```text
/// Filter: k IN (SELECT k FROM t)          Projection: "outer 0".k AS k
///   Projection: upper(k) AS k        ⇒      Filter: "outer 0".k IN (SELECT k FROM t)
///                                             Projection: k AS "outer 0".k
///                                               Projection: upper(k) AS k
///
/// Filter: x NOT IN (SELECT y FROM t WHERE t.k = outer.k)
///   ⇒  Filter: NOT EXISTS (SELECT 1 FROM t WHERE t.k = outer.k AND (y = outer.x OR y IS NULL OR outer.x IS NULL))
/// ```
/// Sound: names change and come back; and `NOT IN` is true where no value of the subquery is equal, nor might be.
/// Leaves alone what has no subquery, names that no subquery has, and a plain `NOT IN`, for which DataFusion has a join.
#[derive(Debug)]
pub struct NameOuterColumns;

impl AnalyzerRule for NameOuterColumns {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        let n_names = Cell::new(0);
        let named = plan.transform_up_with_subqueries(|node| match node {
            LogicalPlan::Filter(filter) => named_filter(plannable(filter)?, &n_names),
            LogicalPlan::Projection(projection) => named_projection(projection, &n_names),
            other => Ok(Transformed::no(other)),
        })?;
        Ok(named.data)
    }

    fn name(&self) -> &str {
        "NameOuterColumns"
    }
}

fn named_filter(filter: Filter, n_names: &Cell<usize>) -> Result<Transformed<LogicalPlan>> {
    let schema = Arc::clone(filter.input.schema());
    let Some(names) = Names::needed_for([&filter.predicate].into_iter(), &schema, n_names)? else {
        return Ok(Transformed::no(LogicalPlan::Filter(filter)));
    };
    let predicate = names.in_expr(filter.predicate)?;
    let input = names.given_to(Arc::unwrap_or_clone(filter.input))?;
    let filtered = LogicalPlan::Filter(Filter::try_new(predicate, Arc::new(input))?);
    let restored = schema.columns().into_iter().map(|column| match names.of(&column) {
        Some(named) => Expr::Column(named).alias(&column.name),
        None => Expr::Column(column),
    });
    let restored = restored.collect();
    Ok(Transformed::yes(LogicalPlan::Projection(Projection::try_new(restored, Arc::new(filtered))?)))
}

fn named_projection(projection: Projection, n_names: &Cell<usize>) -> Result<Transformed<LogicalPlan>> {
    let schema = Arc::clone(projection.input.schema());
    let Some(names) = Names::needed_for(projection.expr.iter(), &schema, n_names)? else {
        return Ok(Transformed::no(LogicalPlan::Projection(projection)));
    };
    let input = names.given_to(Arc::unwrap_or_clone(projection.input))?;
    let mut exprs = vec![];
    for (expr, (qualifier, field)) in projection.expr.into_iter().zip(projection.schema.iter()) {
        exprs.push(names.in_expr(expr.unalias())?.alias_qualified(qualifier.cloned(), field.name()));
    }
    Ok(Transformed::yes(LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(input))?)))
}

/// Names for the columns of an input that have no table's.
struct Names {
    table: TableReference,
    columns: HashSet<String>,
}

impl Names {
    /// `None` where no subquery has a column of the same name.
    fn needed_for<'e>(
        exprs: impl Iterator<Item = &'e Expr>,
        input: &DFSchema,
        n_names: &Cell<usize>,
    ) -> Result<Option<Self>> {
        let unnamed = input.iter().filter(|(qualifier, _)| qualifier.is_none());
        let columns: HashSet<String> = unnamed.map(|(_, field)| field.name().clone()).collect();
        let mut is_needed = false;
        for expr in exprs {
            expr.apply(|part| {
                if let Some(subquery) = subquery_of(part) {
                    is_needed |= mentions(&subquery.subquery, &columns)?;
                }
                Ok(TreeNodeRecursion::Continue)
            })?;
        }
        if !is_needed {
            return Ok(None);
        }
        let table = TableReference::bare(format!("outer {}", n_names.replace(n_names.get() + 1)));
        Ok(Some(Self { table, columns }))
    }

    fn of(&self, column: &Column) -> Option<Column> {
        let is_ours = column.relation.is_none() && self.columns.contains(&column.name);
        is_ours.then(|| Column::new(Some(self.table.clone()), &column.name))
    }

    fn given_to(&self, input: LogicalPlan) -> Result<LogicalPlan> {
        let columns = input.schema().columns().into_iter().map(|column| match self.of(&column) {
            Some(named) => Expr::Column(column).alias_qualified(named.relation, named.name),
            None => Expr::Column(column),
        });
        let columns = columns.collect();
        Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(input))?))
    }

    /// The expression over the renamed input, subqueries included.
    fn in_expr(&self, expr: Expr) -> Result<Expr> {
        let renamed = expr.transform_down(|part| match part {
            Expr::Column(column) => Ok(match self.of(&column) {
                Some(named) => Transformed::yes(Expr::Column(named)),
                None => Transformed::no(Expr::Column(column)),
            }),
            Expr::InSubquery(InSubquery { expr, subquery, negated }) => {
                Ok(Transformed::yes(Expr::InSubquery(InSubquery {
                    expr,
                    subquery: self.in_subquery(subquery)?,
                    negated,
                })))
            }
            Expr::Exists(Exists { subquery, negated }) => {
                Ok(Transformed::yes(Expr::Exists(Exists { subquery: self.in_subquery(subquery)?, negated })))
            }
            Expr::ScalarSubquery(subquery) => Ok(Transformed::yes(Expr::ScalarSubquery(self.in_subquery(subquery)?))),
            other => Ok(Transformed::no(other)),
        })?;
        Ok(renamed.data)
    }

    fn in_subquery(&self, subquery: Subquery) -> Result<Subquery> {
        let rename = |expr: Expr| {
            expr.transform_down(|part| match part {
                Expr::OuterReferenceColumn(field, column) => Ok(match self.of(&column) {
                    Some(named) => Transformed::yes(Expr::OuterReferenceColumn(field, named)),
                    None => Transformed::no(Expr::OuterReferenceColumn(field, column)),
                }),
                other => Ok(Transformed::no(other)),
            })
        };
        let plan = Arc::unwrap_or_clone(subquery.subquery);
        let plan = plan.transform_down_with_subqueries(|node| node.map_expressions(rename))?.data;
        let outer_ref_columns = subquery.outer_ref_columns.into_iter().map(|expr| Ok(rename(expr)?.data));
        let outer_ref_columns = outer_ref_columns.collect::<Result<_>>()?;
        Ok(Subquery { subquery: Arc::new(plan), outer_ref_columns, spans: subquery.spans })
    }
}

fn subquery_of(expr: &Expr) -> Option<&Subquery> {
    match expr {
        Expr::InSubquery(InSubquery { subquery, .. }) | Expr::Exists(Exists { subquery, .. }) => Some(subquery),
        Expr::ScalarSubquery(subquery) => Some(subquery),
        _ => None,
    }
}

/// Whether a node of the plan has a column of one of these names: any of them may become a column of the join.
fn mentions(plan: &LogicalPlan, names: &HashSet<String>) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        found |= node.schema().fields().iter().any(|field| names.contains(field.name()));
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

/// A predicate that DataFusion plans rightly: `NOT IN` is left to it only as a condition of its own whose subquery reads
/// nothing from outside.
fn plannable(filter: Filter) -> Result<Filter> {
    let schema = Arc::clone(filter.input.schema());
    let mut conditions = vec![];
    for condition in split_conjunction_owned(filter.predicate) {
        let is_refused = match &condition {
            Expr::InSubquery(InSubquery { subquery, .. }) => !subquery.outer_ref_columns.is_empty(),
            other => other.exists(|part| Ok(matches!(part, Expr::InSubquery(_))))?,
        };
        conditions.push(if is_refused { positive(condition, false, &schema)? } else { with_plain_column(condition)? });
    }
    Filter::try_new(conjunction(conditions).unwrap_or_else(|| lit(true)), filter.input)
}

/// The condition, or what it denies, with `NOT` moved inwards: true for the same rows.
fn positive(condition: Expr, is_denied: bool, schema: &DFSchema) -> Result<Expr> {
    match condition {
        Expr::Not(inner) => positive(*inner, !is_denied, schema),
        Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::And | Operator::Or), right }) => {
            let (left, right) = (positive(*left, is_denied, schema)?, positive(*right, is_denied, schema)?);
            Ok(if (op == Operator::And) == is_denied { left.or(right) } else { left.and(right) })
        }
        Expr::InSubquery(found) if found.negated != is_denied => not_exists_equal(of_plain_column(found)?, schema),
        Expr::InSubquery(found) => with_plain_column(Expr::InSubquery(InSubquery { negated: false, ..found })),
        other => Ok(if is_denied { Expr::Not(Box::new(other)) } else { other }),
    }
}

fn with_plain_column(condition: Expr) -> Result<Expr> {
    match condition {
        Expr::InSubquery(found) => Ok(Expr::InSubquery(of_plain_column(found)?)),
        other => Ok(other),
    }
}

/// `IN` with a subquery whose column belongs to a table. DataFusion stumbles over one that does not, as a computed or
/// coerced one.
fn of_plain_column(found: InSubquery) -> Result<InSubquery> {
    let plan = found.subquery.subquery;
    let is_plain = matches!(plan.head_output_expr()?, Some(Expr::Column(Column { relation: Some(_), .. })) | None);
    let named = |value: Expr| value.alias_qualified(Some("subquery"), "value");
    let plan = match plan.as_ref() {
        _ if is_plain => plan,
        // In its own projection: a coerced column is called like the column that it was made of.
        LogicalPlan::Projection(projection) => {
            let value = projection.expr.iter().take(1).map(|value| named(value.clone().unalias())).collect();
            Arc::new(LogicalPlan::Projection(Projection::try_new(value, Arc::clone(&projection.input))?))
        }
        other => {
            let value = named(Expr::Column(Column::from(other.schema().qualified_field(0))));
            Arc::new(LogicalPlan::Projection(Projection::try_new(vec![value], plan)?))
        }
    };
    Ok(InSubquery { subquery: Subquery { subquery: plan, ..found.subquery }, ..found })
}

fn not_exists_equal(condition: InSubquery, schema: &DFSchema) -> Result<Expr> {
    let Subquery { subquery, outer_ref_columns: mut outer, spans } = condition.subquery;
    let value = condition.expr.transform_down(|part| match part {
        Expr::Column(column) => {
            let field = Arc::clone(schema.field_from_column(&column)?);
            let reference = Expr::OuterReferenceColumn(field, column);
            if !outer.contains(&reference) {
                outer.push(reference.clone());
            }
            Ok(Transformed::yes(reference))
        }
        other => Ok(Transformed::no(other)),
    })?;
    let value = value.data;
    let plan = LogicalPlanBuilder::from(Arc::unwrap_or_clone(subquery));
    let found = Expr::Column(Column::from(plan.schema().qualified_field(0)));
    let might_be = found.clone().eq(value.clone()).or(found.is_null()).or(value.is_null());
    let plan = plan.filter(might_be)?.build()?;
    let subquery = Subquery { subquery: Arc::new(plan), outer_ref_columns: outer, spans };
    Ok(Expr::Exists(Exists { subquery, negated: true }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use datafusion::prelude::SessionContext;

    async fn analyzed(condition: &str) -> String {
        let context = SessionContext::new();
        context.sql("CREATE TABLE t AS SELECT column1 AS k, column2 AS v FROM (VALUES ('x', 1))").await.unwrap();
        let query = format!("SELECT v FROM (SELECT upper(k) AS k, v FROM t) WHERE {condition}");
        let (state, plan) = context.sql(&query).await.unwrap().into_parts();
        NameOuterColumns.analyze(plan, state.config_options()).unwrap().to_string()
    }

    #[tokio::test]
    async fn a_computed_column_gets_a_table_where_a_subquery_has_its_name() {
        let plan = analyzed("k IN (SELECT k FROM t)").await;
        assert!(plan.contains("Filter: outer 0.k IN") && plan.contains("outer 0.k AS k"), "{plan}");
    }

    #[tokio::test]
    async fn what_no_subquery_names_is_left_alone() {
        for condition in ["k = 'x'", "v IN (SELECT v AS w FROM (SELECT 1 AS v) t)"] {
            let plan = analyzed(condition).await;
            assert!(!plan.contains("outer 0"), "{plan}");
        }
    }

    #[tokio::test]
    async fn not_in_is_rewritten_only_where_a_join_does_not_tell_nulls_apart() {
        assert!(analyzed("v NOT IN (SELECT 1)").await.contains("NOT IN"));
        let inside = analyzed("v > 1 OR v NOT IN (SELECT 1)").await;
        assert!(inside.contains("NOT EXISTS") && !inside.contains("NOT IN"), "{inside}");
        let denied = analyzed("NOT (v > 1 AND v IN (SELECT 1))").await;
        assert!(denied.contains("NOT EXISTS") && denied.contains(" OR "), "{denied}");
    }
}
