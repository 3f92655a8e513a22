//! The value of an expression for one row, and of an aggregate for several. Truth has three values, as in SQL.

use super::columns::{Checked, Column, find};
use super::data::Table;
use super::query::*;
use super::values::{Row, Value, compare};
use std::cmp::Ordering;

/// One row and what its columns are called; `outer` is the row that a subquery stands in.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    pub tables: &'a [Table],
    pub columns: &'a [Column],
    pub row: &'a Row,
    pub outer: Option<&'a Scope<'a>>,
}

fn truth(value: &Value) -> Checked<Option<bool>> {
    match value {
        Value::Null => Ok(None),
        Value::Bool(value) => Ok(Some(*value)),
        other => Err(format!("{other:?} is not a truth value")),
    }
}

fn from_truth(value: Option<bool>) -> Value {
    value.map_or(Value::Null, Value::Bool)
}

fn int(value: &Value) -> Checked<i64> {
    match value {
        Value::Int(value) => Ok(*value),
        other => Err(format!("{other:?} is not a number")),
    }
}

fn text(value: &Value) -> Checked<&str> {
    match value {
        Value::Text(value) => Ok(value),
        other => Err(format!("{other:?} is not a text")),
    }
}

fn and(left: Option<bool>, right: Option<bool>) -> Option<bool> {
    match (left, right) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

/// `value IN (list)`: unknown if it is not found and either it or one of the list is null.
fn is_in(value: &Value, list: &[Value]) -> Option<bool> {
    if list.is_empty() {
        Some(false)
    } else if value.is_null() {
        None
    } else if list.contains(value) {
        Some(true)
    } else if list.contains(&Value::Null) {
        None
    } else {
        Some(false)
    }
}

impl Scope<'_> {
    pub fn holds(&self, condition: &Expr) -> Checked<bool> {
        Ok(truth(&self.value(condition)?)? == Some(true))
    }

    pub fn values(&self, exprs: &[Expr]) -> Checked<Row> {
        exprs.iter().map(|expr| self.value(expr)).collect()
    }

    pub fn value(&self, expr: &Expr) -> Checked<Value> {
        let negate = |value: Option<bool>, negated: &bool| if *negated { value.map(|value| !value) } else { value };
        match expr {
            Expr::Column(called) => match (find(self.columns, called), self.outer) {
                (Ok(index), _) => Ok(self.row[index].clone()),
                (Err(_), Some(outer)) => outer.value(expr),
                (Err(error), None) => Err(error),
            },
            Expr::Literal(value) => Ok(value.clone()),
            Expr::Compare(comparison, left, right) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                if left.is_null() || right.is_null() {
                    return Ok(Value::Null);
                }
                let order = left.cmp(&right);
                Ok(Value::Bool(match comparison {
                    Comparison::Equal => order == Ordering::Equal,
                    Comparison::Unequal => order != Ordering::Equal,
                    Comparison::Less => order == Ordering::Less,
                    Comparison::LessOrEqual => order != Ordering::Greater,
                    Comparison::Greater => order == Ordering::Greater,
                    Comparison::GreaterOrEqual => order != Ordering::Less,
                }))
            }
            Expr::Distinct { left, right, negated } => {
                Ok(Value::Bool((self.value(left)? != self.value(right)?) != *negated))
            }
            // Where the first side decides, the second may be one that cannot be computed.
            Expr::And(left, right) => match truth(&self.value(left)?)? {
                Some(false) => Ok(Value::Bool(false)),
                left => Ok(from_truth(and(left, truth(&self.value(right)?)?))),
            },
            // a OR b is NOT (NOT a AND NOT b), with three values too.
            Expr::Or(left, right) => match truth(&self.value(left)?)? {
                Some(true) => Ok(Value::Bool(true)),
                left => {
                    let right = truth(&self.value(right)?)?;
                    Ok(from_truth(and(left.map(|left| !left), right.map(|right| !right)).map(|value| !value)))
                }
            },
            Expr::Not(inner) => Ok(from_truth(truth(&self.value(inner)?)?.map(|value| !value))),
            Expr::IsNull { value, negated } => Ok(Value::Bool(self.value(value)?.is_null() != *negated)),
            Expr::IsTrue { value, negated } => Ok(Value::Bool(self.holds(value)? != *negated)),
            Expr::Between { value, low, high, negated } => {
                let compare = |comparison, bound: &Expr| {
                    self.value(&Expr::Compare(comparison, value.clone(), Box::new(bound.clone())))
                };
                let above = truth(&compare(Comparison::GreaterOrEqual, low)?)?;
                let below = truth(&compare(Comparison::LessOrEqual, high)?)?;
                Ok(from_truth(negate(and(above, below), negated)))
            }
            Expr::InList { value, list, negated } => Ok(from_truth(negate(is_in(&self.value(value)?, list), negated))),
            Expr::InQuery { value, query, negated } => {
                let list = self.subquery(query)?;
                Ok(from_truth(negate(is_in(&self.value(value)?, &list), negated)))
            }
            Expr::Exists { query, negated } => Ok(Value::Bool(self.subquery(query)?.is_empty() == *negated)),
            Expr::Scalar(query) => match self.subquery(query)?.as_slice() {
                [] => Ok(Value::Null),
                [value] => Ok(value.clone()),
                _ => Err("a scalar subquery of several rows".to_string()),
            },
            Expr::Arithmetic(operator, left, right) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                if left.is_null() || right.is_null() {
                    return Ok(Value::Null);
                }
                let (left, right) = (int(&left)?, int(&right)?);
                let result = match operator {
                    Operator::Add => left.checked_add(right),
                    Operator::Subtract => left.checked_sub(right),
                    Operator::Multiply => left.checked_mul(right),
                    Operator::Divide => left.checked_div(right),
                    Operator::Remainder => left.checked_rem(right),
                };
                // Types of 32 bits are among those that curator computes with.
                let small = result.filter(|result| result.abs() < 1 << 30);
                small.map(Value::Int).ok_or("a number that is too large, or a division by zero".to_string())
            }
            Expr::Case { when, then, otherwise } => match (self.holds(when)?, otherwise) {
                (true, _) => self.value(then),
                (false, Some(otherwise)) => self.value(otherwise),
                (false, None) => Ok(Value::Null),
            },
            Expr::Call(function, arguments) => self.call(*function, arguments),
        }
    }

    fn call(&self, function: Function, arguments: &[Expr]) -> Checked<Value> {
        let values = self.values(arguments)?;
        match function {
            Function::Coalesce => {
                return Ok(values.into_iter().find(|value| !value.is_null()).unwrap_or(Value::Null));
            }
            Function::NullIf => {
                return Ok(if values[0] == values[1] { Value::Null } else { values[0].clone() });
            }
            _ if values.contains(&Value::Null) => return Ok(Value::Null),
            _ => {}
        }
        Ok(match function {
            Function::Upper => Value::Text(text(&values[0])?.to_uppercase()),
            Function::Length => Value::Int(text(&values[0])?.chars().count() as i64),
            Function::Concat => Value::Text(values.iter().map(text).collect::<Checked<Vec<_>>>()?.concat()),
            Function::Abs => Value::Int(int(&values[0])?.abs()),
            Function::IsNumber => {
                let value = text(&values[0])?;
                Value::Bool(!value.is_empty() && value.chars().all(|c| c.is_ascii_digit()))
            }
            Function::ToInt => {
                let value = text(&values[0])?;
                Value::Int(value.parse::<i32>().map_err(|_| format!("'{value}' is not a number"))?.into())
            }
            Function::Coalesce | Function::NullIf => Value::Null,
        })
    }

    /// The one column that a subquery gives.
    fn subquery(&self, query: &Subquery) -> Checked<Vec<Value>> {
        let table = &self.tables[query.table];
        let mut columns = table.columns.clone();
        columns.iter_mut().for_each(|column| column.name.qualifier = Some(query.alias.clone()));
        let mut rows = vec![];
        for row in &table.rows {
            let scope = Scope { tables: self.tables, columns: &columns, row, outer: Some(self) };
            if query.filter.as_ref().map_or(Ok(true), |filter| scope.holds(filter))? {
                rows.push(row.clone());
            }
        }
        let mut rows = sort(self.tables, &columns, &rows, &query.order)?;
        rows.truncate(query.limit.unwrap_or(usize::MAX));
        match &query.what {
            Selected::Value(expr) => rows
                .iter()
                .map(|row| Scope { tables: self.tables, columns: &columns, row, outer: Some(self) }.value(expr))
                .collect(),
            Selected::Aggregate(call) => Ok(vec![aggregate(self.tables, &columns, &rows, call)?]),
        }
    }
}

/// The rows in an order; equal ones stay as they are.
pub fn sort(tables: &[Table], columns: &[Column], rows: &[Row], order: &[Order]) -> Checked<Vec<Row>> {
    let exprs: Vec<Expr> = order.iter().map(|order| order.expr.clone()).collect();
    let mut keyed = vec![];
    for row in rows {
        keyed.push((Scope { tables, columns, row, outer: None }.values(&exprs)?, row.clone()));
    }
    keyed.sort_by(|(left, _), (right, _)| compare_keys(left, right, order));
    Ok(keyed.into_iter().map(|(_, row)| row).collect())
}

/// Nulls are larger than all values, unless it is said where they stand.
pub fn compare_keys(left: &Row, right: &Row, order: &[Order]) -> Ordering {
    let keys = left.iter().zip(right).zip(order);
    keys.map(|((left, right), order)| {
        compare(left, right, order.descending, order.nulls_first.unwrap_or(order.descending))
    })
    .find(|ordering| *ordering != Ordering::Equal)
    .unwrap_or(Ordering::Equal)
}

pub fn aggregate(tables: &[Table], columns: &[Column], rows: &[Row], call: &Aggregate) -> Checked<Value> {
    let mut values = vec![];
    for row in sort(tables, columns, rows, &call.order)? {
        let scope = Scope { tables, columns, row: &row, outer: None };
        if call.filter.as_ref().map_or(Ok(true), |filter| scope.holds(filter))? {
            values.push(call.argument.as_ref().map_or(Ok(Value::Bool(true)), |argument| scope.value(argument))?);
        }
    }
    fold(call.function, values)
}

/// An aggregate of values in their order. All but `first_value`, `last_value` and `array_agg` pass over nulls.
pub fn fold(function: AggregateFunction, values: Vec<Value>) -> Checked<Value> {
    let known: Vec<Value> = values.iter().filter(|value| !value.is_null()).cloned().collect();
    Ok(match function {
        AggregateFunction::Count => Value::Int(known.len() as i64),
        AggregateFunction::CountDistinct => {
            let mut different = known;
            different.sort();
            different.dedup();
            Value::Int(different.len() as i64)
        }
        AggregateFunction::Sum if known.is_empty() => Value::Null,
        AggregateFunction::Sum => Value::Int(known.iter().map(int).sum::<Checked<i64>>()?),
        AggregateFunction::Min => known.into_iter().min().unwrap_or(Value::Null),
        AggregateFunction::Max => known.into_iter().max().unwrap_or(Value::Null),
        AggregateFunction::BoolAnd => known.into_iter().min().unwrap_or(Value::Null),
        AggregateFunction::BoolOr => known.into_iter().max().unwrap_or(Value::Null),
        AggregateFunction::First => values.first().cloned().unwrap_or(Value::Null),
        AggregateFunction::Last => values.last().cloned().unwrap_or(Value::Null),
        AggregateFunction::Second => values.get(1).cloned().unwrap_or(Value::Null),
        AggregateFunction::DistinctList => {
            let mut different = values;
            different.sort_by(|left, right| compare(left, right, false, false));
            different.dedup();
            return fold(AggregateFunction::List, different);
        }
        AggregateFunction::List if values.is_empty() => Value::Null,
        AggregateFunction::List => {
            let show = |value: &Value| match value {
                Value::Null => "_".to_string(),
                Value::Text(value) => value.clone(),
                other => other.literal(),
            };
            Value::Text(values.iter().map(show).collect::<Vec<_>>().join(","))
        }
        AggregateFunction::Concat if known.is_empty() => Value::Null,
        AggregateFunction::Concat => Value::Text(known.iter().map(text).collect::<Checked<Vec<_>>>()?.join("|")),
    })
}
