//! The plan of joins whose keys are merged.

use super::{HIDDEN, OwnKey, merging};
use crate::Error;
use crate::diag::Code;
use crate::logical::catalog::Relations;
use datafusion::common::{Column, JoinType, Result};
use datafusion::functions::core::expr_fn::coalesce;
use datafusion::logical_expr::planner::RelationPlannerContext;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion::sql::sqlparser::ast::{Ident, TableFactor, TableWithJoins};

impl Relations {
    /// Plans joins, the last of which with merged keys is at `last`.
    pub(in crate::logical) fn merging_joins(
        &self,
        mut tables: TableWithJoins,
        last: usize,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<LogicalPlan> {
        let after = tables.joins.split_off(last + 1);
        let join = tables.joins.pop();
        let Some((join, (join_type, keys))) = join.as_ref().and_then(|join| Some((join, merging(join)?))) else {
            return Err(crate::bug!("a join with USING is none").into());
        };
        let in_brackets = |relation, joins| TableFactor::NestedJoin {
            table_with_joins: Box::new(TableWithJoins { relation, joins }),
            alias: None,
        };
        if !after.is_empty() {
            tables.joins.push(join.clone());
            return context.plan(in_brackets(in_brackets(tables.relation, tables.joins), after));
        }
        let left = match tables.joins.is_empty() {
            true => context.plan(tables.relation)?,
            false => context.plan(in_brackets(tables.relation, tables.joins))?,
        };
        let right = context.plan(join.relation.clone())?;
        let (hidden, names): (Vec<&Ident>, Vec<&Ident>) =
            keys.into_iter().partition(|key| key.value.starts_with(HIDDEN));
        self.join_merged(left, right, join_type, &names, &hidden)
    }

    /// A join whose keys stand once: those of the side that keeps all its rows, after FULL of whichever has the row.
    fn join_merged(
        &self,
        left: LogicalPlan,
        right: LogicalPlan,
        join_type: JoinType,
        names: &[&Ident],
        hidden: &[&Ident],
    ) -> Result<LogicalPlan> {
        for name in names {
            for (side, plan) in [("left", &left), ("right", &right)] {
                if !plan.schema().has_column_with_unqualified_name(&name.value) {
                    let message = format!("no column `{}` on the {side} side of the join", name.value);
                    return Err(Error::from(self.error(Code::UnknownColumn, message, name.span)).into());
                }
            }
        }
        let names_of_keys: Vec<&str> = names.iter().map(|name| name.value.as_str()).collect();
        let (left, right) =
            (with_named_keys(left, "left", &names_of_keys)?, with_named_keys(right, "right", &names_of_keys)?);
        let n_left = left.schema().fields().len();
        let keys = names.iter().map(|name| Column::from_name(&name.value)).collect();
        let joined = LogicalPlanBuilder::from(left).join_using(right, join_type, keys)?.build()?;
        let all = joined.schema().columns();
        let (left, right) = all.split_at(n_left.min(all.len()));
        let is_key = |column: &Column| names.iter().any(|name| name.value == column.name);
        let mut columns = vec![];
        for (at, column) in left.iter().enumerate() {
            if !is_key(column) {
                columns.push(Expr::Column(column.clone()));
            } else if !left[..at].iter().any(|before| before.name == column.name) {
                let other = right.iter().find(|other| other.name == column.name).unwrap_or(column);
                columns.push(match join_type {
                    JoinType::Right => own_name(other),
                    JoinType::Full => {
                        let either = coalesce(vec![Expr::Column(column.clone()), Expr::Column(other.clone())]);
                        // Of no table, but told from the key of a table that is joined next.
                        let of = column.relation.as_ref().map(|table| format!("{OF_NO_TABLE}{}", table.table()));
                        either.alias_qualified(of, column.name.clone())
                    }
                    _ => own_name(column),
                });
            }
        }
        columns.extend(right.iter().filter(|column| !is_key(column)).cloned().map(Expr::Column));
        for name in hidden {
            let own = |column: &&Column| {
                let table = column.relation.as_ref().map_or("", |relation| relation.table()).to_string();
                OwnKey { table, column: column.name.clone() }.hidden_name() == name.value
            };
            let Some(column) = all.iter().find(own) else {
                let message = format!("no column `{}`", name.value.trim_start_matches(HIDDEN));
                return Err(Error::from(self.error(Code::UnknownColumn, message, name.span)).into());
            };
            columns.push(Expr::Column(column.clone()).alias(&name.value));
        }
        LogicalPlanBuilder::from(joined).project(columns)?.build()
    }
}

/// What the names of tables begin with that no user can write.
const OF_NO_TABLE: &str = "|> ";

/// The plan with a table's name for keys that are computed and have none: they could be taken for the other side's.
pub(super) fn with_named_keys(plan: LogicalPlan, side: &str, keys: &[&str]) -> Result<LogicalPlan> {
    let is_computed = |column: &Column| column.relation.is_none() && keys.contains(&column.name.as_str());
    let columns = plan.schema().columns();
    if !columns.iter().any(is_computed) {
        return Ok(plan);
    }
    let named = columns.into_iter().map(|column| {
        let (name, is_computed) = (column.name.clone(), is_computed(&column));
        let column = Expr::Column(column);
        if is_computed { column.alias_qualified(Some(format!("{OF_NO_TABLE}{side}")), name) } else { column }
    });
    let named: Vec<Expr> = named.collect();
    LogicalPlanBuilder::from(plan).project(named)?.build()
}

/// A column under the name that it had before `with_named_keys`.
pub(super) fn own_name(column: &Column) -> Expr {
    let is_named = column.relation.as_ref().is_some_and(|table| ["|> left", "|> right"].contains(&table.table()));
    let expr = Expr::Column(column.clone());
    if is_named { expr.alias(&column.name) } else { expr }
}
