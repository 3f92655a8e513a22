//! `SUMMARIZE`: a row for each column, in one pass over the rows.
//!
//! ```text
//! FROM docs |> SUMMARIZE   ⇒   Unnest            one row for each struct
//!                                Projection      [struct(column: 'id', …), struct(column: 'text', …)]
//!                                  Aggregate     count(id), approx_distinct(id), …, count(text), …
//! ```
//! Numbers are summed up as they are, texts by their length in characters, lists by how many items they have, truth
//! values as 0 and 1. Distinct values and quantiles are estimates that need little memory.

use super::Binder;
use super::verbs::Bound;
use crate::diag::Span;
use crate::sources::EXTRA_COLUMN;
use arrow::datatypes::DataType;
use datafusion::common::{Column, Result};
use datafusion::functions::core::expr_fn::{get_field, least, named_struct};
use datafusion::functions::math::expr_fn::round;
use datafusion::functions::unicode::expr_fn::character_length;
use datafusion::functions_aggregate::expr_fn::{approx_distinct, approx_percentile_cont, avg, count, max, min};
use datafusion::functions_nested::expr_fn::{array_length, make_array};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, cast, lit};

/// The columns of a summary, in order.
const COLUMNS: [&str; 11] =
    ["column", "type", "measured", "n", "n_null", "n_distinct", "min", "mean", "median", "p95", "max"];

impl Binder<'_> {
    pub(super) fn summarize(&self, plan: LogicalPlan, span: Span) -> Bound<LogicalPlan> {
        self.build(span, || summary(plan))
    }
}

/// What is measured of a column: its values as numbers, and what they are of it.
struct Measure {
    value: Option<Expr>,
    name: &'static str,
}

fn measure(column: Expr, kind: &DataType) -> Measure {
    let (value, name) = match kind {
        kind if kind.is_numeric() => (Some(cast(column, DataType::Float64)), "value"),
        DataType::Boolean => (Some(cast(cast(column, DataType::Int64), DataType::Float64)), "share true"),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            (Some(cast(character_length(column), DataType::Float64)), "characters")
        }
        DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) => {
            (Some(cast(array_length(column), DataType::Float64)), "items")
        }
        _ => (None, ""),
    };
    Measure { value, name }
}

fn summary(plan: LogicalPlan) -> Result<LogicalPlan> {
    // What fits no column is no column of the data.
    let fields: Vec<_> = plan.schema().iter().filter(|(_, field)| field.name() != EXTRA_COLUMN).collect();
    let mut aggregates = vec![count(lit(1i64)).alias("n")];
    let mut rows = vec![];
    for (at, (table, field)) in fields.into_iter().enumerate() {
        let column = Expr::Column(Column::new(table.cloned(), field.name()));
        let kind = field.data_type();
        let Measure { value, name } = measure(column.clone(), kind);
        // Names that no query can write, so that no column has them.
        let made = |what: &str| format!("|> {at} {what}");
        let mut add = |what: &str, aggregate: Expr| {
            aggregates.push(aggregate.alias(made(what)));
            Expr::Column(Column::new_unqualified(made(what)))
        };
        let n_valued = add("n", count(column.clone()));
        let most = n_valued.clone();
        let estimate = |n_distinct: Expr| least(vec![cast(n_distinct, DataType::Int64), most.clone()]);
        let n_distinct = match kind {
            kind if kind.is_nested() => lit_null(DataType::Int64),
            // The estimate has no floating-point numbers, and may come out above the number of values.
            kind if kind.is_floating() => {
                estimate(add("distinct", approx_distinct(cast(column.clone(), DataType::Utf8))))
            }
            _ => estimate(add("distinct", approx_distinct(column.clone()))),
        };
        let numbers: Vec<Expr> = match value {
            Some(value) => {
                let quantile = |share: f64| approx_percentile_cont(value.clone().sort(true, false), lit(share), None);
                vec![
                    add("min", min(value.clone())),
                    round(vec![add("mean", avg(value.clone())), lit(4i64)]),
                    round(vec![add("median", quantile(0.5)), lit(4i64)]),
                    round(vec![add("p95", quantile(0.95)), lit(4i64)]),
                    add("max", max(value)),
                ]
            }
            None => vec![lit_null(DataType::Float64); 5],
        };
        let n = Expr::Column(Column::new_unqualified("n"));
        let counts = [n.clone(), n.clone() - n_valued, n_distinct];
        let shown_type = super::type_name(kind);
        let values = [lit(field.name().clone()), lit(shown_type), lit(name)].into_iter().chain(counts).chain(numbers);
        let pairs = COLUMNS.iter().zip(values).flat_map(|(name, value)| [lit(*name), value]);
        rows.push(named_struct(pairs.collect::<Vec<_>>()));
    }
    let row = Column::new_unqualified("|> row");
    let fields = COLUMNS.iter().map(|name| get_field(Expr::Column(row.clone()), *name).alias(*name));
    LogicalPlanBuilder::from(plan)
        .aggregate(Vec::<Expr>::new(), aggregates)?
        .project([make_array(rows).alias("|> row")])?
        .unnest_column("|> row")?
        .project(fields)?
        .build()
}

fn lit_null(kind: DataType) -> Expr {
    cast(lit(datafusion::common::ScalarValue::Null), kind)
}
