//! Calls of models out of expressions: each is a column of its own, so that a node can compute it for many rows at once.
//!
//! ```text
//! CASE WHEN lang = 'en' THEN score(text) ELSE 0 END     slot 0: lang = 'en'
//!                                                   ⇒   slot 1: CASE WHEN slot 0 THEN score(text) END
//!                                                       CASE WHEN lang = 'en' THEN slot 1 ELSE 0 END
//! ```
//! Invariant: a call that stands in a branch of CASE, or behind AND and OR, is wanted for the rows only for which it would have been
//! computed there. What is not wanted is null, and nobody reads it.

use super::Builder;
use crate::logical::{ModelCall, is_model_call, unhinted};
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::TreeNode;
use datafusion::error::Result;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, CaseExpr, Column, Literal};
use std::sync::Arc;

type Expr = Arc<dyn PhysicalExpr>;

/// Whether an expression has a call of a model in it.
pub(in crate::physical) fn has_model_call(expr: &Expr) -> Result<bool> {
    expr.exists(|part| Ok(is_model_call(part)))
}

impl Builder<'_> {
    /// The expression with columns for its calls of models. `when` says for which rows it is computed; `None`: for all.
    pub(super) fn lifted(&mut self, expr: Expr, when: Option<&Expr>) -> Result<Expr> {
        if !has_model_call(&expr)? {
            return Ok(expr);
        }
        if let Some((inner, hint)) = unhinted(&expr) {
            let lifted = self.lifted(inner, when)?;
            self.note_hint(&lifted, hint);
            return Ok(lifted);
        }
        if is_model_call(&expr) {
            return self.model_column(expr, when);
        }
        if let Some(case) = expr.downcast_ref::<CaseExpr>() {
            return self.lifted_case(case, when);
        }
        if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
            let decides = match binary.op() {
                Operator::And => Some(false),
                Operator::Or => Some(true),
                _ => None,
            };
            if let Some(decides) = decides {
                let left = self.lifted(Arc::clone(binary.left()), when)?;
                let is_open = compared(&left, Operator::IsDistinctFrom, decides);
                let right = self.lifted(Arc::clone(binary.right()), Some(&both(when, is_open)?))?;
                return Ok(Arc::new(BinaryExpr::new(left, *binary.op(), right)));
            }
        }
        let parts = expr.children().into_iter().map(|part| self.lifted(Arc::clone(part), when));
        let parts = parts.collect::<Result<Vec<_>>>()?;
        expr.with_new_children(parts)
    }

    /// The column of a call. What it reads are columns too, computed for the same rows.
    fn model_column(&mut self, call: Expr, when: Option<&Expr>) -> Result<Expr> {
        let Some(n_columns) = ModelCall::of(call.as_ref()).map(|call| call.columns.len()) else { return Ok(call) };
        let mut args = vec![];
        for (place, arg) in call.children().into_iter().enumerate() {
            if place >= n_columns {
                args.push(Arc::clone(arg));
                continue;
            }
            let arg = self.lifted(Arc::clone(arg), when)?;
            let is_column = arg.is::<Column>();
            args.push(if is_column { arg } else { self.slot(only(when, arg)?, None)? });
        }
        let call = call.with_new_children(args)?;
        let value = match when {
            Some(when) if when.is::<Column>() => only(Some(when), call)?,
            Some(when) => {
                let when = self.slot(Arc::clone(when), None)?;
                only(Some(&when), call)?
            }
            None => call,
        };
        self.slot(value, None)
    }

    fn lifted_case(&mut self, case: &CaseExpr, when: Option<&Expr>) -> Result<Expr> {
        let of = case.expr().map(|of| self.lifted(Arc::clone(of), when)).transpose()?;
        let mut reached = when.cloned();
        let mut branches = vec![];
        for (condition, then) in case.when_then_expr() {
            let condition = self.lifted(Arc::clone(condition), reached.as_ref())?;
            let asked: Expr = match &of {
                Some(of) => Arc::new(BinaryExpr::new(Arc::clone(of), Operator::Eq, Arc::clone(&condition))),
                None => Arc::clone(&condition),
            };
            let holds = both(reached.as_ref(), compared(&asked, Operator::IsNotDistinctFrom, true))?;
            branches.push((condition, self.lifted(Arc::clone(then), Some(&holds))?));
            reached = Some(both(reached.as_ref(), compared(&asked, Operator::IsDistinctFrom, true))?);
        }
        let otherwise = case.else_expr().map(|otherwise| self.lifted(Arc::clone(otherwise), reached.as_ref()));
        Ok(Arc::new(CaseExpr::try_new(of, branches, otherwise.transpose()?)?))
    }
}

/// `value`, computed for some rows; null for the others.
fn only(when: Option<&Expr>, value: Expr) -> Result<Expr> {
    match when {
        Some(when) => Ok(Arc::new(CaseExpr::try_new(None, vec![(Arc::clone(when), value)], None)?)),
        None => Ok(value),
    }
}

/// Both conditions; the second is asked only where the first holds.
fn both(first: Option<&Expr>, second: Expr) -> Result<Expr> {
    match first {
        Some(first) => {
            let no: Expr = Arc::new(Literal::new(ScalarValue::Boolean(Some(false))));
            Ok(Arc::new(CaseExpr::try_new(None, vec![(Arc::clone(first), second)], Some(no))?))
        }
        None => Ok(second),
    }
}

/// A comparison with true or false that is never null.
fn compared(value: &Expr, op: Operator, with: bool) -> Expr {
    let constant = Arc::new(Literal::new(ScalarValue::Boolean(Some(with))));
    Arc::new(BinaryExpr::new(Arc::clone(value), op, constant))
}
