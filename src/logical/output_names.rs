//! Columns are called as they were written: `words(text)`, not `words(/data/web/*.jsonl.gz.text)`.
//!
//! The planner makes the name of an unnamed expression from its plan, in which columns carry the table that they are of; a
//! table that is a file has a long name. So every expression that is no column is named here, while its text is known.

use crate::syntax::{TokenKind, tokens};
use datafusion::sql::sqlparser::ast::{
    Expr as SqlExpr, Function, Ident, ObjectNamePart, Select, SelectItem, Visit, VisitMut, Visitor, VisitorMut,
};
use std::collections::HashSet;
use std::ops::ControlFlow;

/// An item of CQL under the name that it was written as.
pub fn named_as_written(item: SelectItem, written: &str) -> SelectItem {
    match item {
        SelectItem::UnnamedExpr(expr) if !has_unnest(&expr) => {
            SelectItem::ExprWithAlias { expr, alias: Ident::with_quote('"', on_one_line(written)) }
        }
        other => other,
    }
}

/// The same for every SELECT of a statement of SQL, before anything in it is replaced.
pub fn name_as_written(statement: &mut impl VisitMut) {
    let _ = statement.visit(&mut Names);
}

struct Names;

impl VisitorMut for Names {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        // ORDER BY after DISTINCT must repeat what is selected, which it does not if that has another name.
        if select.distinct.is_some() {
            return ControlFlow::Continue(());
        }
        // What is selected twice gets the name once: the planner wants no name twice, and finds another for the copy.
        let mut names = HashSet::new();
        for item in &mut select.projection {
            if let SelectItem::UnnamedExpr(expr) = item
                && is_computed(expr)
                && !has_unnest(expr)
                && let written = expr.to_string()
                && names.insert(written.clone())
            {
                let alias = Ident::with_quote('"', written);
                *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
            }
        }
        ControlFlow::Continue(())
    }
}

/// Whether an expression is one whose name the planner makes up of its parts.
fn is_computed(expr: &SqlExpr) -> bool {
    !matches!(
        expr,
        SqlExpr::Identifier(_) | SqlExpr::CompoundIdentifier(_) | SqlExpr::Wildcard(_) | SqlExpr::QualifiedWildcard(..)
    )
}

/// `unnest` of a struct makes several columns, which cannot have one name.
fn has_unnest(expr: &SqlExpr) -> bool {
    struct Unnest(bool);
    impl Visitor for Unnest {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &SqlExpr) -> ControlFlow<()> {
            let is_unnest = |call: &Function| match call.name.0.as_slice() {
                [ObjectNamePart::Identifier(name)] => name.value.eq_ignore_ascii_case("unnest"),
                _ => false,
            };
            self.0 |= matches!(expr, SqlExpr::Function(call) if is_unnest(call));
            ControlFlow::Continue(())
        }
    }
    let mut unnest = Unnest(false);
    let _ = expr.visit(&mut unnest);
    unnest.0
}

/// A text of the language without comments and line breaks.
fn on_one_line(text: &str) -> String {
    let mut line = String::new();
    let mut end = 0;
    for token in tokens(text).iter().filter(|token| token.kind != TokenKind::Comment) {
        if token.span.start > end && end > 0 {
            line.push(' ');
        }
        line.push_str(token.text(text));
        end = token.span.end;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_the_text_on_one_line() {
        assert_eq!(on_one_line("words( text )"), "words( text )");
        assert_eq!(on_one_line("CASE WHEN a\n    THEN 'x  y' -- why\n  END"), "CASE WHEN a THEN 'x  y' END");
    }
}
