//! Where `IN (SELECT …)` and `EXISTS (SELECT …)` cannot stand, said while the query is bound.
//!
//! Filters may have them, and columns (`optimizer::JoinColumnSubqueries`); what is left elsewhere in an analyzed plan has no
//! executor.

use super::Binder;
use super::positions::from_datafusion;
use crate::diag::{Code, Diagnostic, Span};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::{Expr, LogicalPlan, Subquery};

/// A subquery where none can stand.
struct Misplaced {
    reads_outside: bool,
    place: Option<datafusion::common::Span>,
}

impl Misplaced {
    fn of(expr: &Expr) -> Option<Self> {
        let (asked, subquery) = match expr {
            Expr::InSubquery(InSubquery { expr, subquery, .. }) => (Some(expr), subquery),
            Expr::Exists(Exists { subquery, .. }) => (None, subquery),
            _ => return None,
        };
        let asked = asked.into_iter().flat_map(|asked| asked.column_refs());
        let place = asked.filter_map(|column| column.spans.first()).next().or_else(|| place_of(subquery));
        Some(Self { reads_outside: !subquery.outer_ref_columns.is_empty(), place })
    }
}

/// What a subquery selects first.
fn place_of(subquery: &Subquery) -> Option<datafusion::common::Span> {
    let selected = || subquery.subquery.expressions().first()?.column_refs().into_iter().find_map(|c| c.spans.first());
    subquery.spans.first().or_else(selected)
}

impl Binder<'_> {
    /// Refuses what no executor computes.
    pub(super) fn refuse_misplaced_subqueries(
        &self,
        analyzed: &LogicalPlan,
        span: Span,
    ) -> std::result::Result<(), Vec<Diagnostic>> {
        let found = find(analyzed).map_err(|error| self.blame().explain(error, span))?;
        let Some(Misplaced { reads_outside, place }) = found else { return Ok(()) };
        let (message, help) = if reads_outside {
            let message = "IN and EXISTS with a subquery that reads columns from outside can stand only in WHERE";
            (message, "use WHERE, SEMI JOIN or ANTI JOIN; or LEFT JOIN, and ask IS NOT NULL of the other side")
        } else {
            let message = "IN and EXISTS with a subquery can stand only in WHERE and in a column";
            (message, "make it a column first, with EXTEND or in a SELECT below, and use that")
        };
        let diagnostic = match place.and_then(|place| self.positions.find(from_datafusion(place))) {
            Some(place) => place.error(Code::Unsupported, message),
            None => self.error(Code::Unsupported, message, span),
        };
        Err(vec![diagnostic.help(help)])
    }
}

fn find(plan: &LogicalPlan) -> Result<Option<Misplaced>> {
    let mut found = None;
    plan.apply_with_subqueries(|node| {
        if matches!(node, LogicalPlan::Filter(_)) {
            return Ok(TreeNodeRecursion::Continue);
        }
        node.apply_expressions(|expr| {
            expr.apply(|part| {
                found = Misplaced::of(part);
                Ok(if found.is_some() { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
            })
        })
    })?;
    Ok(found)
}
