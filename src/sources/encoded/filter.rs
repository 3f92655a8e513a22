//! The filters that row groups are skipped by, in JSON: the few expressions that `prune.rs` takes.

use super::types;
use crate::{Error, Result};
use arrow::datatypes::DataType;
use datafusion::common::{Column, ScalarValue};
use datafusion::logical_expr::expr::{Between, BinaryExpr, Cast, InList};
use datafusion::logical_expr::{Expr, Operator};
use serde::{Deserialize, Serialize};

/// A filter over columns and constants.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FilterForm {
    Column(String),
    Literal {
        #[serde(rename = "type", with = "types::data_type")]
        data_type: DataType,
        /// As text; `None` is null.
        value: Option<String>,
    },
    Not(Box<FilterForm>),
    IsNull(Box<FilterForm>),
    IsNotNull(Box<FilterForm>),
    Cast {
        of: Box<FilterForm>,
        #[serde(with = "types::data_type")]
        to: DataType,
    },
    Between {
        of: Box<FilterForm>,
        low: Box<FilterForm>,
        high: Box<FilterForm>,
        negated: bool,
    },
    In {
        of: Box<FilterForm>,
        items: Vec<FilterForm>,
        negated: bool,
    },
    Binary(Box<FilterForm>, String, Box<FilterForm>),
}

const OPERATORS: [(Operator, &str); 8] = [
    (Operator::Eq, "="),
    (Operator::NotEq, "<>"),
    (Operator::Lt, "<"),
    (Operator::LtEq, "<="),
    (Operator::Gt, ">"),
    (Operator::GtEq, ">="),
    (Operator::And, "AND"),
    (Operator::Or, "OR"),
];

impl FilterForm {
    /// The form of a filter; `None` if it has none.
    pub fn of(filter: &Expr) -> Option<Self> {
        let boxed = |part: &Expr| Self::of(part).map(Box::new);
        Some(match filter {
            Expr::Column(column) => Self::Column(column.name.clone()),
            Expr::Literal(value, _) => literal(value)?,
            Expr::Not(inner) => Self::Not(boxed(inner)?),
            Expr::IsNull(inner) => Self::IsNull(boxed(inner)?),
            Expr::IsNotNull(inner) => Self::IsNotNull(boxed(inner)?),
            Expr::Cast(cast) if types::has_form(cast.field.data_type()) => {
                Self::Cast { of: boxed(&cast.expr)?, to: cast.field.data_type().clone() }
            }
            Expr::Between(Between { expr, negated, low, high }) => {
                Self::Between { of: boxed(expr)?, low: boxed(low)?, high: boxed(high)?, negated: *negated }
            }
            Expr::InList(InList { expr, list, negated }) => {
                let items = list.iter().map(Self::of).collect::<Option<_>>()?;
                Self::In { of: boxed(expr)?, items, negated: *negated }
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
                let (_, name) = OPERATORS.iter().find(|(known, _)| known == op)?;
                Self::Binary(boxed(left)?, (*name).to_string(), boxed(right)?)
            }
            _ => return None,
        })
    }

    /// The filter again.
    pub fn filter(self) -> Result<Expr> {
        let boxed = |form: Box<FilterForm>| form.filter().map(Box::new);
        Ok(match self {
            Self::Column(name) => Expr::Column(Column::new_unqualified(name)),
            Self::Literal { data_type, value } => Expr::Literal(scalar(&data_type, value)?, None),
            Self::Not(inner) => Expr::Not(boxed(inner)?),
            Self::IsNull(inner) => Expr::IsNull(boxed(inner)?),
            Self::IsNotNull(inner) => Expr::IsNotNull(boxed(inner)?),
            Self::Cast { of, to } => Expr::Cast(Cast::new(boxed(of)?, to)),
            Self::Between { of, low, high, negated } => {
                Expr::Between(Between::new(boxed(of)?, negated, boxed(low)?, boxed(high)?))
            }
            Self::In { of, items, negated } => {
                let list = items.into_iter().map(Self::filter).collect::<Result<_>>()?;
                Expr::InList(InList::new(boxed(of)?, list, negated))
            }
            Self::Binary(left, name, right) => {
                let known = OPERATORS.iter().find(|(_, known)| *known == name);
                let (operator, _) = known.ok_or_else(|| Error::Data(format!("`{name}` is no operator of a filter")))?;
                Expr::BinaryExpr(BinaryExpr::new(boxed(left)?, *operator, boxed(right)?))
            }
        })
    }
}

/// A constant, if its text gives the same constant again.
fn literal(value: &ScalarValue) -> Option<FilterForm> {
    let data_type = value.data_type();
    let text = match value.cast_to(&DataType::Utf8).ok()? {
        ScalarValue::Utf8(text) => text,
        _ => return None,
    };
    let is_same = types::has_form(&data_type) && scalar(&data_type, text.clone()).is_ok_and(|again| again == *value);
    is_same.then_some(FilterForm::Literal { data_type, value: text })
}

fn scalar(data_type: &DataType, value: Option<String>) -> Result<ScalarValue> {
    Ok(match value {
        Some(text) => ScalarValue::try_from_string(text, data_type)?,
        None => ScalarValue::try_from(data_type)?,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use datafusion::logical_expr::{cast, col, lit};

    #[test]
    fn filters_come_back_as_they_were() {
        let date = Expr::Literal(ScalarValue::Date32(Some(19_000)), None);
        let null = Expr::Literal(ScalarValue::Int64(None), None);
        for filter in [
            col("id").gt(lit(5_i64)).and(col("lang").eq(lit("it's"))),
            col("n").not_eq(lit(7_u8)).or(!col("is_kept")),
            col("a").is_null().and(col("B c").is_not_null()),
            col("day").between(date.clone(), date),
            col("lang").in_list(vec![lit("en"), lit("de")], true),
            cast(col("n"), DataType::Int64).lt_eq(null),
        ] {
            let text = serde_json::to_string(&FilterForm::of(&filter).unwrap()).unwrap();
            let again: FilterForm = serde_json::from_str(&text).unwrap();
            // Names are taken as they are, not read as SQL.
            assert_eq!(again.filter().unwrap().to_string(), filter.to_string(), "{text}");
        }
        assert!(FilterForm::of(&(col("n") + lit(1)).gt(lit(5))).is_none());
    }
}
