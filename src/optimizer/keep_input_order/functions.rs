//! Functions whose result depends on the order of rows: they get the input order, or it breaks their ties.
//!
//! Invariant: the column that a call makes keeps its name.

use super::carried::Carried;
use datafusion::common::{Column, Result};
use datafusion::logical_expr::expr::{AggregateFunction, WindowFunction};
use datafusion::logical_expr::{Expr, SortExpr, WindowFrameUnits};

/// DataFusion's aggregates over the order of rows. Their own answer to "are you order-sensitive?" is yes by default,
/// for `count` too, so it cannot be asked.
const ORDERED_AGGREGATES: &[&str] = &["array_agg", "first_value", "last_value", "nth_value", "string_agg"];

/// Window functions that number rows or look at neighbours, whatever the frame says.
const ROW_BY_ROW: &[&str] = &["lag", "lead", "ntile", "row_number"];

/// `array_agg(x)` becomes `array_agg(x ORDER BY _seq)`.
pub(super) fn order_aggregates(exprs: Vec<Expr>, input: &Carried) -> Result<Vec<Expr>> {
    exprs.into_iter().map(|expr| keep_name(expr, |expr| order_aggregate(expr, &sort_exprs(input)))).collect()
}

fn order_aggregate(expr: Expr, order: &[SortExpr]) -> Expr {
    match expr {
        Expr::Alias(mut alias) => {
            alias.expr = Box::new(order_aggregate(*alias.expr, order));
            Expr::Alias(alias)
        }
        // DISTINCT aggregates can only be ordered by their argument.
        Expr::AggregateFunction(AggregateFunction { func, mut params })
            if ORDERED_AGGREGATES.contains(&func.name()) && !params.distinct =>
        {
            extend(&mut params.order_by, order);
            Expr::AggregateFunction(AggregateFunction { func, params })
        }
        other => other,
    }
}

/// `row_number() OVER (ORDER BY x)` becomes `row_number() OVER (ORDER BY x, _seq)`. Not for functions and frames that
/// treat equal rows alike, as `rank()` and `RANGE` do.
pub(super) fn order_windows(exprs: Vec<Expr>, input: &Carried) -> Result<Vec<Expr>> {
    exprs.into_iter().map(|expr| keep_name(expr, |expr| order_window(expr, &sort_exprs(input)))).collect()
}

fn order_window(expr: Expr, order: &[SortExpr]) -> Expr {
    match expr {
        Expr::Alias(mut alias) => {
            alias.expr = Box::new(order_window(*alias.expr, order));
            Expr::Alias(alias)
        }
        Expr::WindowFunction(mut window) if depends_on_each_row(&window) => {
            extend(&mut window.params.order_by, order);
            Expr::WindowFunction(window)
        }
        other => other,
    }
}

/// Windows and aggregates over orders that are columns, and what computes these columns. DataFusion 55 does not see that
/// rows are sorted by some expressions, as `abs(coalesce(a, b))`, and refuses its own plan.
pub(super) fn computed_keys(calls: Vec<Expr>, name: impl Fn() -> String) -> Result<(Vec<Expr>, Vec<Expr>)> {
    let mut columns: Vec<(Expr, String)> = vec![];
    let mut as_column = |expr: Expr| {
        let known = columns.iter().find(|(computed, _)| *computed == expr).map(|(_, name)| name.clone());
        let name = known.unwrap_or_else(|| {
            let name = name();
            columns.push((expr, name.clone()));
            name
        });
        Expr::Column(Column::new_unqualified(name))
    };
    let mut changed = vec![];
    for call in calls {
        changed.push(keep_name(call, |mut call| {
            let mut inner = &mut call;
            while let Expr::Alias(alias) = inner {
                inner = &mut alias.expr;
            }
            let order_by = match inner {
                Expr::WindowFunction(window) => Some(&mut window.params.order_by),
                // DISTINCT aggregates can only be ordered by their argument.
                Expr::AggregateFunction(call) if !call.params.distinct => Some(&mut call.params.order_by),
                _ => None,
            };
            for key in order_by.into_iter().flatten() {
                if !matches!(key.expr, Expr::Column(_) | Expr::Literal(..)) {
                    key.expr = as_column(std::mem::take(&mut key.expr));
                }
            }
            call
        })?);
    }
    Ok((changed, columns.into_iter().map(|(expr, name)| expr.alias(name)).collect()))
}

fn depends_on_each_row(window: &WindowFunction) -> bool {
    let name = window.fun.name();
    let over_rows = window.params.window_frame.units == WindowFrameUnits::Rows;
    ROW_BY_ROW.contains(&name) || (over_rows && !matches!(name, "rank" | "dense_rank" | "percent_rank" | "cume_dist"))
}

/// Adds what breaks ties. What an earlier key decides does not, and DataFusion would stumble over it.
fn extend(order_by: &mut Vec<SortExpr>, order: &[SortExpr]) {
    for key in std::mem::take(order_by).iter().chain(order) {
        if order_by.iter().all(|earlier| earlier.expr != key.expr) {
            order_by.push(key.clone());
        }
    }
}

fn sort_exprs(input: &Carried) -> Vec<SortExpr> {
    let keys = input.order.iter().flat_map(|order| &order.keys);
    keys.map(|key| key.sort_expr(input.plan.schema())).collect()
}

/// Nodes above refer to a call by how it was written.
fn keep_name(expr: Expr, change: impl FnOnce(Expr) -> Expr) -> Result<Expr> {
    let name = expr.schema_name().to_string();
    let before = expr.clone();
    let changed = change(expr);
    if changed == before || matches!(changed, Expr::Alias(_)) { Ok(changed) } else { Ok(changed.alias(name)) }
}
