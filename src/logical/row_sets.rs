//! What SQL's planner has wrong or not at all about whole sets of rows: `EXCEPT ALL`, `INTERSECT ALL`, `ORDER BY ALL`, and
//! columns that the later sides of a `UNION` select twice.
//!
//! Before planning, each `ALL` becomes a call after FROM, whose name no user can write; `Relations` plans the call with the
//! plans of its queries, so that names of a `WITH` mean there what they mean outside:
//!
//! ```text
//! SELECT a FROM x EXCEPT ALL SELECT b FROM y   ⇒   SELECT * FROM "|> except all"((SELECT a FROM x), (SELECT b FROM y))
//! ```
//! CQL calls [`multiset`] directly.

use super::catalog::Relations;
use super::tree::{all_columns, named_table, object_name, plain_query, select_from};
use crate::Error;
use crate::diag::Code;
use crate::syntax::ast::SetOperationKind;
use datafusion::common::{Column, JoinConstraint, JoinType, NullEquality, Result, plan_datafusion_err};
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::planner::RelationPlannerContext;
use datafusion::logical_expr::type_coercion::binary::comparison_coercion;
use datafusion::logical_expr::{Expr, ExprFunctionExt, Join, LogicalPlan, LogicalPlanBuilder, SortExpr, cast};
use datafusion::sql::sqlparser::ast::{
    Expr as SqlExpr, FunctionArg, FunctionArgExpr, Ident, ObjectName, ObjectNamePart, OrderByKind, OrderByOptions,
    Query, SelectItem, SetExpr, SetOperator, SetQuantifier, Spanned, TableFactor, TableFunctionArgs, Value, Values,
    VisitMut, VisitorMut,
};
use std::ops::ControlFlow;
use std::sync::Arc;

/// A call that a piece of SQL with `ALL` became.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowSet {
    /// `EXCEPT ALL`, with the queries of both sides.
    Except,
    /// `INTERSECT ALL`, the same.
    Intersect,
    /// `ORDER BY ALL`, with the query and the direction.
    OrderBy,
}

impl RowSet {
    const ALL: [Self; 3] = [Self::Except, Self::Intersect, Self::OrderBy];

    fn name(self) -> &'static str {
        match self {
            RowSet::Except => "|> except all",
            RowSet::Intersect => "|> intersect all",
            RowSet::OrderBy => "|> order by all",
        }
    }

    /// The call of that name.
    pub fn named(name: &ObjectName) -> Option<Self> {
        let [ObjectNamePart::Identifier(ident)] = name.0.as_slice() else { return None };
        Self::ALL.into_iter().find(|call| call.name() == ident.value)
    }

    /// `SELECT * FROM "|> …"(arguments)`
    fn call(self, arguments: Vec<SqlExpr>) -> Query {
        let args = arguments.into_iter().map(|value| FunctionArg::Unnamed(FunctionArgExpr::Expr(value))).collect();
        let mut table = named_table(object_name(Ident::with_quote('"', self.name())), None);
        if let TableFactor::Table { args: slot, .. } = &mut table {
            *slot = Some(TableFunctionArgs { args, settings: None });
        }
        select_from(table, vec![all_columns()])
    }
}

/// Makes the calls.
pub fn call_row_sets<T: VisitMut>(tree: &mut T) {
    let _ = tree.visit(&mut Calls);
}

struct Calls;

impl VisitorMut for Calls {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        call_set_operations(&mut query.body);
        if let Some(order_by) = query.order_by.take_if(|order_by| matches!(order_by.kind, OrderByKind::All(_)))
            && let OrderByKind::All(OrderByOptions { asc, nulls_first }) = order_by.kind
        {
            let rows = SqlExpr::Subquery(Box::new(plain_query(std::mem::replace(&mut query.body, nothing()))));
            query.body = RowSet::OrderBy.call(vec![rows, flag(asc), flag(nulls_first)]).body;
        }
        ControlFlow::Continue(())
    }
}

fn call_set_operations(body: &mut Box<SetExpr>) {
    let SetExpr::SetOperation { op, set_quantifier, left, right } = body.as_mut() else { return };
    name_copies(right);
    call_set_operations(left);
    call_set_operations(right);
    let call = match (op, set_quantifier) {
        (SetOperator::Except | SetOperator::Minus, SetQuantifier::All) => RowSet::Except,
        (SetOperator::Intersect, SetQuantifier::All) => RowSet::Intersect,
        _ => return,
    };
    let side = |side: &mut Box<SetExpr>| SqlExpr::Subquery(Box::new(plain_query(std::mem::replace(side, nothing()))));
    *body = call.call(vec![side(left), side(right)]).body;
}

/// `… UNION ALL SELECT a, a`: the columns are called as those of the first side, and the planner wants no name twice.
fn name_copies(side: &mut SetExpr) {
    match side {
        SetExpr::Select(select) => {
            for at in 1..select.projection.len() {
                let (before, rest) = select.projection.split_at_mut(at);
                if let [item, ..] = rest
                    && before.contains(item)
                    && let SelectItem::UnnamedExpr(expr) = item
                {
                    let alias = Ident::with_quote('"', format!("|> column {at}"));
                    *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
                }
            }
        }
        SetExpr::SetOperation { left, .. } => name_copies(left),
        SetExpr::Query(query) => name_copies(&mut query.body),
        _ => {}
    }
}

/// What stands for a moment where something was taken away.
fn nothing() -> Box<SetExpr> {
    Box::new(SetExpr::Values(Values { explicit_row: false, value_keyword: false, rows: vec![] }))
}

fn flag(value: Option<bool>) -> SqlExpr {
    SqlExpr::value(value.map_or(Value::Null, Value::Boolean))
}

impl Relations {
    /// Plans a call.
    pub(super) fn row_set(
        &self,
        call: RowSet,
        arguments: TableFunctionArgs,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<LogicalPlan> {
        let mut plans = vec![];
        let mut flags = vec![];
        for argument in arguments.args {
            let place = argument.span();
            match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(SqlExpr::Subquery(subquery))) => {
                    let rows = TableFactor::Derived { lateral: false, subquery, alias: None, sample: None };
                    plans.push((context.plan(rows)?, place));
                }
                FunctionArg::Unnamed(FunctionArgExpr::Expr(SqlExpr::Value(value))) => flags.push(match value.value {
                    Value::Boolean(flag) => Some(flag),
                    _ => None,
                }),
                _ => {}
            }
        }
        let kind = match call {
            RowSet::Except => SetOperationKind::Except,
            RowSet::Intersect => SetOperationKind::Intersect,
            RowSet::OrderBy => {
                let ([(rows, _)], [asc, nulls_first]) = (plans.as_slice(), flags.as_slice()) else {
                    return Err(crate::bug!("ORDER BY ALL has a query and two flags").into());
                };
                return order_by_all(rows.clone(), *asc, *nulls_first);
            }
        };
        let Ok([(left, _), (right, place)]) = <[_; 2]>::try_from(plans) else {
            return Err(crate::bug!("a set operation has two sides").into());
        };
        let (n_left, n_right) = (left.schema().fields().len(), right.schema().fields().len());
        if n_left != n_right {
            let message = format!("the two sides have {n_left} and {n_right} columns");
            let help = "SELECT the same columns on both sides";
            return Err(Error::from(self.place(place).error(Code::Type, message).help(help)).into());
        }
        multiset(kind, left, right)
    }
}

/// Sorts by every column, from the first to the last.
pub fn order_by_all(rows: LogicalPlan, asc: Option<bool>, nulls_first: Option<bool>) -> Result<LogicalPlan> {
    let asc = asc.unwrap_or(true);
    // As for any other key: nulls are the greatest.
    let nulls_first = nulls_first.unwrap_or(!asc);
    let columns = rows.schema().columns();
    let keys: Vec<_> =
        columns.into_iter().map(|column| SortExpr::new(Expr::Column(column), asc, nulls_first)).collect();
    LogicalPlanBuilder::from(rows).sort(keys)?.build()
}

/// `EXCEPT ALL` and `INTERSECT ALL`: of a row that stands m times on the left and n times on the right, m − n or
/// the lesser of both stay.
///
/// The first, second, … of equal rows are numbered on both sides, so that each on the right answers for one on the left;
/// nulls are equal. (DataFusion 55's own plan drops or keeps all of them.)
pub fn multiset(kind: SetOperationKind, left: LogicalPlan, right: LogicalPlan) -> Result<LogicalPlan> {
    let join_type = match kind {
        SetOperationKind::Except => JoinType::LeftAnti,
        SetOperationKind::Intersect => JoinType::LeftSemi,
        SetOperationKind::Union => return LogicalPlanBuilder::from(left).union(right)?.build(),
    };
    let columns = left.schema().columns();
    let (mut left_keys, mut right_keys) = (vec![], vec![]);
    let sides = left.schema().iter().zip(right.schema().iter());
    for ((left_qualifier, left_field), (right_qualifier, right_field)) in sides {
        let (ours, theirs) = (left_field.data_type(), right_field.data_type());
        let common = comparison_coercion(ours, theirs).ok_or_else(|| {
            let name = left_field.name();
            plan_datafusion_err!("the types of column `{name}` on the two sides do not compare: {ours} and {theirs}")
        })?;
        let key = |column: Column, own| match &common {
            common if common == own => Expr::Column(column),
            common => cast(Expr::Column(column), common.clone()),
        };
        left_keys.push(key((left_qualifier, left_field).into(), ours));
        right_keys.push(key((right_qualifier, right_field).into(), theirs));
    }
    let number = |keys: &[Expr]| row_number().partition_by(keys.to_vec()).build();
    let (left_number, right_number) =
        (number(&left_keys)?.alias("|> copy"), number(&right_keys)?.alias("|> other copy"));
    let left = LogicalPlanBuilder::from(left).window(vec![left_number])?.build()?;
    // The right side keeps nothing but its keys, under names that the left side does not have.
    let other = |at: usize| format!("|> other {at}");
    let names = (0..right_keys.len()).map(other).chain(["|> other copy".to_string()]);
    let right = LogicalPlanBuilder::from(right).window(vec![right_number])?;
    let kept = right_keys.into_iter().enumerate().map(|(at, key)| key.alias(other(at)));
    let right = right.project(kept.chain([Expr::Column(Column::from_name("|> other copy"))]))?.build()?;
    left_keys.push(Expr::Column(Column::from_name("|> copy")));
    let on = left_keys.into_iter().zip(names.map(|name| Expr::Column(Column::from_name(name)))).collect();
    let equal = NullEquality::NullEqualsNull;
    let join = Join::try_new(Arc::new(left), Arc::new(right), on, None, join_type, JoinConstraint::On, equal, false)?;
    LogicalPlanBuilder::from(LogicalPlan::Join(join)).project(columns.into_iter().map(Expr::Column))?.build()
}
