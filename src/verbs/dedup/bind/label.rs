//! How a `DEDUP` is called in plans, the funnel and the ledger: canonical text, made from the plan and not from what was
//! written, so that it is the same in both languages.

use super::asked::{AskedKeep, AskedOrder};
use crate::dedup::{AgainstMode, KeepWhich};
use datafusion::common::Column;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::Expr;

/// An expression as one would write it; columns without the names of their tables.
pub(in crate::verbs) fn written(expr: &Expr) -> String {
    let plain = expr.clone().transform(|expr| {
        Ok(match expr {
            Expr::Column(column) => Transformed::yes(Expr::Column(Column::new_unqualified(column.name))),
            other => Transformed::no(other),
        })
    });
    plain.map_or_else(|_| expr.to_string(), |plain| plain.data.human_display().to_string())
}

/// Expressions with commas between them.
pub(in crate::verbs) fn listed<'a>(exprs: impl Iterator<Item = &'a Expr>) -> String {
    exprs.map(written).collect::<Vec<_>>().join(", ")
}

/// ` WITH (name = value, …)`, or nothing.
pub(in crate::verbs) fn with(shown: &[String]) -> String {
    if shown.is_empty() { String::new() } else { format!(" WITH ({})", shown.join(", ")) }
}

/// ` KEEP …`, or nothing where it says what would be anyway.
pub(in crate::verbs) fn keep(keep: Option<&AskedKeep>) -> String {
    let Some(keep) = keep else { return String::new() };
    let word = match keep.which {
        KeepWhich::First if keep.by.is_empty() && keep.per.is_empty() => return String::new(),
        KeepWhich::First => "FIRST",
        KeepWhich::Last => "LAST",
        KeepWhich::Any => "ANY",
        KeepWhich::None => "NONE",
    };
    let per = match keep.per.as_slice() {
        [] => String::new(),
        per => format!(" PER {}", listed(per.iter().map(|key| &key.expr))),
    };
    if keep.by.is_empty() {
        return format!(" KEEP {word}{per}");
    }
    let item = |item: &AskedOrder| {
        let nulls = item.nulls_first.map_or("", |first| if first { " NULLS FIRST" } else { " NULLS LAST" });
        format!("{}{}{nulls}", written(&item.expr), if item.descending { " DESC" } else { "" })
    };
    format!(" KEEP {word}{per} BY {}", keep.by.iter().map(item).collect::<Vec<_>>().join(", "))
}

/// ` AGAINST INDEX …`, or nothing.
pub(in crate::verbs) fn against(against: Option<(&str, AgainstMode)>) -> String {
    let Some((path, mode)) = against else { return String::new() };
    let mode = if mode == AgainstMode::ReadOnly { " READ ONLY" } else { "" };
    format!(" AGAINST INDEX '{path}'{mode}")
}
