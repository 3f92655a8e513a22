//! The presets and macros that conditions were written as, for the funnel, which shows their rules under them.
//!
//! A macro is gone once a condition is bound; what it stood for is remembered here, for each call that is a condition by
//! itself: all of a `WHERE`, or one of those that AND joins.

use super::Binder;
use crate::diag::Span;
use crate::syntax::ast::Slice;
use datafusion::common::DFSchemaRef;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr as SqlExpr, Function, ObjectNamePart};

/// One call of a macro as a condition.
#[derive(Debug, Clone)]
pub struct UsedPreset {
    /// As it is written: `gopher_quality(text)`.
    pub call: String,
    /// What it stands for.
    pub condition: Expr,
    /// The columns that it reads.
    pub schema: DFSchemaRef,
}

impl Binder<'_> {
    /// Remembers the macros that a condition is made of.
    pub(super) fn note_presets(&self, plan: &LogicalPlan, condition: Slice) {
        let Ok(expr) = self.reader().expr(condition.span) else { return };
        let mut calls = vec![];
        macro_calls(&expr, &mut |call| self.is_macro(call), &mut calls);
        // A condition that is wrong was reported already.
        let used = calls.into_iter().filter_map(|call| self.used(plan, call, condition.span));
        self.used_presets.borrow_mut().extend(used);
    }

    fn is_macro(&self, call: &Function) -> bool {
        match call.name.0.as_slice() {
            [ObjectNamePart::Identifier(name)] => self.context.scope.macros.contains_key(&name.value.to_lowercase()),
            _ => false,
        }
    }

    fn used(&self, plan: &LogicalPlan, call: SqlExpr, span: Span) -> Option<UsedPreset> {
        let written = call.to_string();
        let mut condition = call;
        self.rewrite(&mut condition).ok()?;
        let condition = self.check(plan, &condition, span).ok()?;
        Some(UsedPreset { call: written, condition, schema: plan.schema().clone() })
    }
}

/// The calls among the conditions that AND joins.
fn macro_calls(expr: &SqlExpr, is_macro: &mut impl FnMut(&Function) -> bool, found: &mut Vec<SqlExpr>) {
    match expr {
        SqlExpr::BinaryOp { left, op: BinaryOperator::And, right } => {
            macro_calls(left, is_macro, found);
            macro_calls(right, is_macro, found);
        }
        SqlExpr::Nested(inner) => macro_calls(inner, is_macro, found),
        SqlExpr::Function(call) if is_macro(call) => found.push(expr.clone()),
        _ => {}
    }
}
