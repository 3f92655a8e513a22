//! Expressions whose value is the same for all rows, computed while a query is bound.

use super::{Binder, planner};
use crate::diag::{Code, Diagnostic};
use arrow::datatypes::DataType;
use datafusion::common::{DFSchema, DFSchemaRef, Result, ScalarValue};
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::sql::planner::PlannerContext;
use datafusion::sql::sqlparser::ast::{Expr as SqlExpr, LimitClause, Query, Spanned, VisitMut, VisitorMut};
use std::ops::ControlFlow;
use std::sync::Arc;

/// The expression with its constant parts computed: a literal, if all of it is constant.
pub fn simplified(state: &SessionState, schema: &DFSchemaRef, expr: Expr) -> Result<Expr> {
    let context = SimplifyContext::builder()
        .with_schema(schema.clone())
        .with_config_options(state.config_options().clone())
        .with_query_execution_start_time(state.execution_props().query_execution_start_time)
        .build();
    let simplifier = ExprSimplifier::new(context);
    simplifier.simplify(simplifier.coerce(expr, schema)?)
}

/// Whether an expression is a constant below 0: no number of rows.
pub fn is_negative(state: &SessionState, schema: &DFSchemaRef, expr: Expr) -> bool {
    match simplified(state, schema, expr) {
        Ok(Expr::Literal(value, _)) if value.data_type().is_integer() => {
            matches!(value.cast_to(&DataType::Int64), Ok(ScalarValue::Int64(Some(..0))))
        }
        _ => false,
    }
}

/// What is said of such a one after `LIMIT` or `OFFSET`.
pub const NEGATIVE_ROWS: &str = "a number of rows is 0 or more";

impl Binder<'_> {
    /// Refuses `LIMIT -1` in SQL while its place is known.
    pub(super) fn check_limits<T: VisitMut>(&self, tree: &mut T) -> Vec<Diagnostic> {
        let mut limits = Limits { binder: self, problems: vec![] };
        let _ = tree.visit(&mut limits);
        limits.problems
    }
}

struct Limits<'a> {
    binder: &'a Binder<'a>,
    problems: Vec<Diagnostic>,
}

impl VisitorMut for Limits<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        match &query.limit_clause {
            Some(LimitClause::LimitOffset { limit, offset, .. }) => {
                limit.iter().for_each(|limit| self.check(limit));
                offset.iter().for_each(|offset| self.check(&offset.value));
            }
            Some(LimitClause::OffsetCommaLimit { offset, limit }) => {
                self.check(offset);
                self.check(limit);
            }
            None => {}
        }
        ControlFlow::Continue(())
    }
}

impl Limits<'_> {
    fn check(&mut self, rows: &SqlExpr) {
        let catalog = self.binder.catalog();
        let no_columns = Arc::new(DFSchema::empty());
        // What does not plan without columns is refused later, in the planner's words.
        let planned = planner(&catalog).sql_to_expr(rows.clone(), &no_columns, &mut PlannerContext::new());
        let is_wrong = planned.is_ok_and(|rows| is_negative(self.binder.context.state, &no_columns, rows));
        if is_wrong && let Some(place) = self.binder.positions.find(rows.span()) {
            self.problems.push(place.error(Code::OptionValue, NEGATIVE_ROWS));
        }
    }
}
