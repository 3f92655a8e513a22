//! `SELECT DISTINCT upper(k) … ORDER BY upper(k)`: what is selected can be sorted by.
//!
//! SQL's planner looks for `k` among the selected columns and does not find it. So a key that is written as one of the
//! selected expressions becomes its number: `ORDER BY 1`.

use datafusion::sql::sqlparser::ast::{
    Distinct, Expr as SqlExpr, OrderByKind, Query, Select, SelectItem, SetExpr, Value, VisitMut, VisitorMut,
};
use std::ops::ControlFlow;

/// Writes such keys as numbers, in every query of a tree.
pub fn number_distinct_keys<T: VisitMut>(tree: &mut T) {
    let _ = tree.visit(&mut Keys);
}

struct Keys;

impl VisitorMut for Keys {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let SetExpr::Select(select) = query.body.as_ref() else { return ControlFlow::Continue(()) };
        if let Some(Distinct::Distinct) = select.distinct
            && let Some(OrderByKind::Expressions(keys)) = query.order_by.as_mut().map(|order| &mut order.kind)
        {
            for key in keys {
                if let Some(number) = number_of(&key.expr, select) {
                    key.expr = SqlExpr::value(Value::Number(number.to_string(), false));
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// The number of the column that is written as `key`. A plain name is found without it, and nobody knows how many
/// columns a `*` is.
fn number_of(key: &SqlExpr, select: &Select) -> Option<usize> {
    if matches!(key, SqlExpr::Identifier(_) | SqlExpr::CompoundIdentifier(_) | SqlExpr::Value(_)) {
        return None;
    }
    let known = select.projection.iter().map_while(|item| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    });
    Some(known.into_iter().position(|expr| expr == key)? + 1)
}
