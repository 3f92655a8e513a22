//! Conditions as written to aggregates over hidden columns, and expressions over their results.

use super::verb::{Aggregate, Argument, Assert, AssertRequest, Condition};
use crate::Error;
use crate::diag::{Code, Diagnostic};
use crate::logical::type_name;
use crate::verb::verb_plan;
use crate::verbs::dedup::bind::asked::Keyed;
use crate::verbs::dedup::bind::label::{listed, written};
use arrow::datatypes::{DataType, Schema};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema, Result};
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::utils::{find_aggregate_exprs, find_window_exprs};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use std::sync::Arc;

/// What a query asks of `ASSERT`.
pub(super) struct Asked {
    pub conditions: Vec<Keyed>,
    pub by: Vec<Keyed>,
}

impl Asked {
    pub fn bind(self, plan: LogicalPlan) -> Result<LogicalPlan> {
        let mut hidden = Hidden::over(&plan);
        let mut aggregates = Vec::new();
        let mut conditions = Vec::new();
        for asked in &self.conditions {
            conditions.push(condition(asked, &plan, &mut aggregates, &mut hidden)?);
        }
        for key in &self.by {
            key.refuse_other_rows("ASSERT … GROUP BY").map_err(Error::from)?;
        }
        let by = self.by.iter().map(|key| (hidden.column(key.expr.clone()), written(&key.expr))).collect::<Vec<_>>();
        let group_by = if by.is_empty() {
            String::new()
        } else {
            format!(" GROUP BY {}", listed(self.by.iter().map(|key| &key.expr)))
        };
        let label = format!(
            "ASSERT {}{group_by}",
            self.conditions.iter().map(|asked| shown(&asked.expr)).collect::<Vec<_>>().join(", ")
        );
        let columns = hidden.columns();
        let rows = hidden.project(plan)?;
        let request = AssertRequest { label, conditions, aggregates, by, hidden: columns };
        verb_plan(Assert { request: Arc::new(request) }, vec![rows])
    }
}

fn refuse(asked: &Keyed, code: Code, message: String, help: &str) -> Error {
    let problem: Diagnostic = asked.place.error(code, message);
    Error::from(problem.help(help))
}

/// A condition over the results of aggregates, which are added to the others.
fn condition(
    asked: &Keyed,
    plan: &LogicalPlan,
    aggregates: &mut Vec<Aggregate>,
    hidden: &mut Hidden,
) -> Result<Condition> {
    let schema = plan.schema();
    let only = std::iter::once(&asked.expr);
    if !find_window_exprs(only.clone()).is_empty() {
        let message = "a window function cannot stand in ASSERT".to_string();
        return Err(refuse(asked, Code::Unsupported, message, "EXTEND with it first, then ASSERT max(…) of it").into());
    }
    if find_aggregate_exprs(only).is_empty() {
        let message = "ASSERT takes conditions on aggregates, which look at all rows".to_string();
        return Err(refuse(
            asked,
            Code::Type,
            message,
            "write ASSERT count(*) > 0, or bool_and(…) for each row; WHERE drops rows",
        )
        .into());
    }
    if asked.expr.exists(|expr| Ok(expr_reads_a_query(expr)))? {
        let message = "a subquery cannot stand in ASSERT".to_string();
        return Err(refuse(asked, Code::Unsupported, message, "compare with a constant or a $parameter").into());
    }
    let simplifier = ExprSimplifier::new(SimplifyContext::builder().with_schema(Arc::clone(schema)).build());
    let typed = simplifier.coerce(asked.expr.clone(), schema)?;
    match typed.get_type(schema)? {
        DataType::Boolean | DataType::Null => {}
        other => {
            let message = format!("ASSERT needs a condition, this is {}", type_name(&other));
            return Err(refuse(asked, Code::Type, message, "compare it with something: … > 0").into());
        }
    }
    let over_results = typed.transform_down(|expr| match expr {
        Expr::AggregateFunction(function) => {
            let at = aggregate(function, schema, aggregates, hidden, asked)?;
            Ok(Transformed::new(
                Expr::Column(Column::new_unqualified(format!("_{at}"))),
                true,
                datafusion::common::tree_node::TreeNodeRecursion::Jump,
            ))
        }
        other => Ok(Transformed::no(other)),
    })?;
    if let Some(column) = over_results
        .data
        .column_refs()
        .into_iter()
        .find(|column| column.relation.is_some() || result_number(column).is_none())
    {
        let message = format!("`{}` stands outside of an aggregate: it differs from row to row", column.name);
        return Err(
            refuse(asked, Code::Type, message, "put it into min(…), max(…), bool_and(…) or another aggregate").into()
        );
    }
    let mut about: Vec<usize> =
        over_results.data.column_refs().iter().filter_map(|column| result_number(column)).collect();
    about.sort_unstable();
    Ok(Condition { shown: shown(&asked.expr), expr: over_results.data, about })
}

/// An expression as one would write it; `count(*)` is planned as a count of ones.
fn shown(expr: &Expr) -> String {
    let plain = expr.clone().transform(|expr| match expr {
        Expr::Alias(alias) => Ok(Transformed::yes(*alias.expr)),
        other => Ok(Transformed::no(other)),
    });
    let text = plain.map_or_else(|_| written(expr), |plain| written(&plain.data));
    text.replace("count(Int64(1))", "count(*)").replace("count(1)", "count(*)")
}

/// The aggregate whose result a column is.
fn result_number(column: &Column) -> Option<usize> {
    column.name.strip_prefix('_')?.parse().ok()
}

fn expr_reads_a_query(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarSubquery(_) | Expr::InSubquery(_) | Expr::Exists(_) | Expr::OuterReferenceColumn(..))
}

/// Where the result of an aggregate stands among all of them.
fn aggregate(
    function: AggregateFunction,
    schema: &DFSchema,
    aggregates: &mut Vec<Aggregate>,
    hidden: &mut Hidden,
    asked: &Keyed,
) -> Result<usize> {
    let whole = Expr::AggregateFunction(function.clone());
    let shown = shown(&whole);
    if let Some(at) = aggregates.iter().position(|known| known.shown == shown) {
        return Ok(at);
    }
    if !function.params.order_by.is_empty() {
        let message = format!("`{shown}` depends on an order, which ASSERT does not see");
        return Err(refuse(asked, Code::Unsupported, message, "leave ORDER BY out").into());
    }
    let (_, field) = whole.to_field(schema)?;
    let args = function.params.args.into_iter().map(|arg| match arg {
        Expr::Literal(value, _) => Argument::Constant(value),
        other => Argument::Column(hidden.column(other)),
    });
    aggregates.push(Aggregate {
        shown,
        function: function.func,
        args: args.collect(),
        is_distinct: function.params.distinct,
        filter: function.params.filter.map(|filter| hidden.column(*filter)),
        result: Arc::new(field.as_ref().clone().with_name(format!("_{}", aggregates.len())).with_nullable(true)),
    });
    Ok(aggregates.len() - 1)
}

/// The columns that are added for the verb and end there.
struct Hidden {
    taken: Vec<String>,
    exprs: Vec<(Expr, Column)>,
}

impl Hidden {
    fn over(plan: &LogicalPlan) -> Self {
        let taken = plan.schema().fields().iter().map(|field| field.name().clone()).collect();
        Self { taken, exprs: vec![] }
    }

    fn column(&mut self, expr: Expr) -> Column {
        if let Some((_, column)) = self.exprs.iter().find(|(known, _)| *known == expr) {
            return column.clone();
        }
        let mut name = format!("_assert_{}", self.exprs.len());
        while self.taken.contains(&name) {
            name.push('_');
        }
        let column = Column::new_unqualified(name);
        self.exprs.push((expr, column.clone()));
        column
    }

    fn columns(&self) -> Vec<Column> {
        self.exprs.iter().map(|(_, column)| column.clone()).collect()
    }

    fn project(self, plan: LogicalPlan) -> Result<LogicalPlan> {
        if self.exprs.is_empty() {
            return Ok(plan);
        }
        let there = plan.schema().columns().into_iter().map(Expr::Column);
        let added = self.exprs.into_iter().map(|(expr, column)| expr.alias(column.name));
        let columns: Vec<Expr> = there.chain(added).collect();
        LogicalPlanBuilder::from(plan).project(columns)?.build()
    }
}

/// The columns of the aggregates' results.
pub(super) fn results_schema(aggregates: &[Aggregate]) -> Schema {
    Schema::new(aggregates.iter().map(|aggregate| Arc::clone(&aggregate.result)).collect::<Vec<_>>())
}
