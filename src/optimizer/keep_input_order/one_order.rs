//! Aggregates that need different orders in one aggregation.
//!
//! ```text
//! Aggregate: nth_value(v, 2 ORDER BY v),          Projection: array_element(_seq_1, 2), array_to_string(_seq_2, '|')
//!            string_agg(v, '|' ORDER BY w)    ⇒     Aggregate: array_agg(v ORDER BY v) AS _seq_1,
//!                                                              array_agg(v ORDER BY w) AS _seq_2
//! ```
//! `nth_value` and `string_agg` need the input of the whole aggregation sorted for them, so DataFusion refuses a second
//! order; lists are sorted one by one. They hold the values of a group, so a single order is left as it is.
//!
//! `DISTINCT` with an order is done so too: DataFusion gives the order of the input if it is the contrary one.
//! ```text
//! Aggregate: array_agg(DISTINCT v ORDER BY v)   ⇒   Projection: array_sort(_seq_1, 'ASC', 'NULLS LAST')
//!                                                     Aggregate: array_agg(DISTINCT v) AS _seq_1
//! ```

use super::carried::column;
use datafusion::error::Result;
use datafusion::functions_aggregate::array_agg::array_agg_udaf;
use datafusion::functions_nested::expr_fn::{array_element, array_sort, array_to_string};
use datafusion::logical_expr::expr::{AggregateFunction, NullTreatment};
use datafusion::logical_expr::{Aggregate, Expr, ExprSchemable, LogicalPlan, Projection, lit};
use std::sync::Arc;

/// The aggregation, with lists where orders differ; its columns are the same.
pub(super) fn aggregate(
    input: LogicalPlan,
    groups: Vec<Expr>,
    calls: Vec<Expr>,
    name: impl Fn() -> String,
) -> Result<LogicalPlan> {
    let plain = Aggregate::try_new(Arc::new(input.clone()), groups.clone(), calls)?;
    let found: Vec<FromList> = plain.aggr_expr.iter().filter_map(FromList::of).collect();
    let mut orders = found.iter().filter(|found| found.needs_sorted_input()).map(|found| &found.call.params.order_by);
    let first = orders.next();
    if orders.all(|order| Some(order) == first) && !found.iter().any(FromList::sorts) {
        return Ok(LogicalPlan::Aggregate(plain));
    }
    let calls = plain.aggr_expr.iter().map(|call| match FromList::of(call) {
        Some(found) => found.list().alias(name()),
        None => call.clone(),
    });
    let calls = calls.collect();
    let lists = LogicalPlan::Aggregate(Aggregate::try_new(Arc::new(input), groups, calls)?);
    let n_groups = plain.schema.fields().len() - plain.aggr_expr.len();
    let mut columns: Vec<Expr> = (0..n_groups).map(|at| column(lists.schema(), at)).collect();
    for (at, call) in plain.aggr_expr.iter().enumerate() {
        let at = n_groups + at;
        let made = column(lists.schema(), at);
        columns.push(match FromList::of(call) {
            Some(found) => {
                let (qualifier, field) = plain.schema.qualified_field(at);
                let value = found.value(made).cast_to(field.data_type(), lists.schema())?;
                value.alias_qualified(qualifier.cloned(), field.name())
            }
            None => made,
        });
    }
    Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(lists))?))
}

/// A call whose result can be had from the list of its values.
struct FromList<'e> {
    call: &'e AggregateFunction,
    values: &'e Expr,
    made: Made<'e>,
}

/// What is made of the list.
enum Made<'e> {
    List,
    /// One of the values.
    Nth(&'e Expr),
    /// All of them with this between them.
    Joined(&'e Expr),
}

impl<'e> FromList<'e> {
    fn of(expr: &'e Expr) -> Option<Self> {
        let call = match expr {
            Expr::Alias(alias) => return Self::of(&alias.expr),
            Expr::AggregateFunction(call) => call,
            _ => return None,
        };
        let (values, made) = match (call.func.name(), call.params.args.as_slice()) {
            ("array_agg", [values]) => (values, Made::List),
            ("nth_value", [values, n]) => (values, Made::Nth(n)),
            ("string_agg", [values, between]) => (values, Made::Joined(between)),
            _ => return None,
        };
        Some(Self { call, values, made })
    }

    fn needs_sorted_input(&self) -> bool {
        !matches!(self.made, Made::List)
    }

    /// Whether the list is sorted when it is complete. `DISTINCT` can be ordered by its argument alone.
    fn sorts(&self) -> bool {
        self.call.params.distinct && !self.call.params.order_by.is_empty()
    }

    fn list(&self) -> Expr {
        let mut params = self.call.params.clone();
        params.args = vec![self.values.clone()];
        if self.sorts() {
            params.order_by.clear();
        }
        let ignores_nulls = params.null_treatment == Some(NullTreatment::IgnoreNulls);
        if self.needs_sorted_input() {
            params.null_treatment = None;
        }
        if matches!(self.made, Made::Joined(_)) || (ignores_nulls && self.needs_sorted_input()) {
            let is_there = self.values.clone().is_not_null();
            params.filter = Some(Box::new(match params.filter.take() {
                Some(filter) => filter.and(is_there),
                None => is_there,
            }));
        }
        Expr::AggregateFunction(AggregateFunction { func: array_agg_udaf(), params })
    }

    fn value(&self, list: Expr) -> Expr {
        let list = match self.call.params.order_by.first().filter(|_| self.sorts()) {
            Some(key) => {
                let (order, nulls) =
                    (if key.asc { "ASC" } else { "DESC" }, if key.nulls_first { "FIRST" } else { "LAST" });
                array_sort(list, lit(order), lit(format!("NULLS {nulls}")))
            }
            None => list,
        };
        match self.made {
            Made::List => list,
            Made::Nth(n) => array_element(list, n.clone()),
            Made::Joined(between) => array_to_string(list, between.clone()),
        }
    }
}
