//! Whether computing an expression can end in an error for some row.
//!
//! Invariant: when in doubt, it can. What is listed here has an answer for every value; everything else is taken as able
//! to fail: a cast that narrows, `10 / d`, a function that we do not know.
//! Not here: the same question about physical expressions, which `cost` answers for the order of rules.

use crate::logical::{is_hint, is_operator};
use arrow::datatypes::DataType;
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::Result;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, Operator};
use datafusion::physical_expr::expressions::CastExpr;

/// Functions of DataFusion, and of our own plans, that have an answer for every value of every type they take.
const NEVER_FAIL: [&str; 49] = [
    "array_element",
    "array_has",
    "array_length",
    "array_to_string",
    "arrow_typeof",
    "ascii",
    "bit_length",
    "btrim",
    "cardinality",
    "ceil",
    "character_length",
    "coalesce",
    "concat",
    "concat_ws",
    "contains",
    "cos",
    "date_part",
    "dedup_hash",
    "ends_with",
    "exp",
    "find_in_set",
    "floor",
    "get_field",
    "isnan",
    "ln",
    "log10",
    "log2",
    "lower",
    "ltrim",
    "make_array",
    "md5",
    "named_struct",
    "nanvl",
    "nullif",
    "null_fields",
    "nvl",
    "nvl2",
    "octet_length",
    "random",
    "reverse",
    "round",
    "rtrim",
    "signum",
    "sin",
    "sqrt",
    "starts_with",
    "strpos",
    "struct",
    "upper",
];

/// Functions that search with a pattern: one that is written in the query fails for every row or for none.
const SEARCH: [&str; 4] = ["regexp_count", "regexp_like", "regexp_match", "regexp_replace"];

/// Whether some part of `expr` can end in an error for a row of `schema`.
pub fn can_fail(expr: &Expr, schema: &DFSchema) -> Result<bool> {
    expr.exists(|part| part_can_fail(part, schema))
}

fn part_can_fail(part: &Expr, schema: &DFSchema) -> Result<bool> {
    let is_constant = |expr: &Expr| matches!(expr, Expr::Literal(..));
    Ok(match part {
        Expr::Cast(cast) => match cast.expr.as_ref() {
            Expr::Literal(value, _) => value.cast_to(cast.field.data_type()).is_err(),
            inner => !cast_never_fails(&inner.get_type(schema)?, cast.field.data_type()),
        },
        Expr::BinaryExpr(BinaryExpr { op, right, .. }) => match op {
            Operator::Divide | Operator::Modulo => {
                let divides = matches!(right.as_ref(), Expr::Literal(value, _) if is_safe_divisor(value));
                !divides && !right.get_type(schema)?.is_floating()
            }
            // Whole numbers wrap around; decimals and dates report an overflow.
            Operator::Plus | Operator::Minus | Operator::Multiply => !is_plain_number(&part.get_type(schema)?),
            Operator::RegexMatch
            | Operator::RegexIMatch
            | Operator::RegexNotMatch
            | Operator::RegexNotIMatch
            | Operator::LikeMatch
            | Operator::ILikeMatch
            | Operator::NotLikeMatch
            | Operator::NotILikeMatch => !is_constant(right),
            Operator::StringConcat | Operator::BitwiseAnd | Operator::BitwiseOr | Operator::BitwiseXor => false,
            op => !(op.supports_propagation() || op.is_logic_operator()),
        },
        Expr::Negative(inner) => !is_plain_number(&inner.get_type(schema)?),
        Expr::Like(like) | Expr::SimilarTo(like) => !is_constant(&like.pattern),
        Expr::ScalarFunction(call) => {
            let name = call.func.name();
            let searches = SEARCH.contains(&name) && call.args.iter().skip(1).all(is_constant);
            !(is_operator(&call.func) || is_hint(&call.func) || searches || NEVER_FAIL.contains(&name))
        }
        Expr::HigherOrderFunction(_) => true,
        _ => false,
    })
}

fn is_plain_number(kind: &DataType) -> bool {
    kind.is_integer() || kind.is_floating()
}

/// By −1 the least number cannot be divided.
fn is_safe_divisor(divisor: &ScalarValue) -> bool {
    let is = |other: fn(&DataType) -> Result<ScalarValue>| {
        other(&divisor.data_type()).is_ok_and(|number| &number == divisor)
    };
    !is(ScalarValue::new_zero) && !is(ScalarValue::new_negative_one)
}

/// Casts that have an answer for every value.
pub fn cast_never_fails(from: &DataType, to: &DataType) -> bool {
    from == to
        || *from == DataType::Null
        || (holds_text(from) && holds_text(to))
        || (from.is_numeric() && to.is_floating())
        || ((from.is_primitive() || *from == DataType::Boolean) && holds_text(to))
        || (*from == DataType::Boolean && to.is_numeric())
        || (from.is_integer() && to.is_integer() && CastExpr::check_bigger_cast(to, from))
        || (from.is_integer() && holds_whole_numbers(to))
}

/// Decimals with the twenty digits of the largest whole number.
fn holds_whole_numbers(kind: &DataType) -> bool {
    match *kind {
        DataType::Decimal128(digits, scale) | DataType::Decimal256(digits, scale) => {
            i16::from(digits) - i16::from(scale.max(0)) >= 20
        }
        _ => false,
    }
}

/// Texts in any layout.
pub fn holds_text(kind: &DataType) -> bool {
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, value) => holds_text(value),
        _ => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use datafusion::prelude::SessionContext;

    #[tokio::test]
    async fn what_is_not_known_to_have_an_answer_may_fail() {
        let context = SessionContext::new();
        let table = "CREATE TABLE t AS SELECT column1 AS s, column2 AS n, column3 AS f FROM (VALUES ('7', 1, 1.5))";
        context.sql(table).await.unwrap();
        let schema = context.table("t").await.unwrap().schema().clone();
        for (expr, expected) in [
            ("CAST(s AS BIGINT)", true),
            ("CAST(f AS INT)", true),
            ("CAST(n AS SMALLINT)", true),
            ("CAST(n AS DOUBLE)", false),
            ("CAST(n AS VARCHAR)", false),
            ("CAST(n AS DECIMAL(20, 0))", false),
            ("CAST(n AS DECIMAL(20, 2))", true),
            ("CAST('7' AS BIGINT)", false),
            ("TRY_CAST(s AS BIGINT)", false),
            ("arrow_cast(s, 'Int32')", true),
            ("to_timestamp(s)", true),
            ("10 / n", true),
            ("n / 10", false),
            ("n % 0", true),
            ("f / f", false),
            ("n + 1 > 2 AND NOT s IS NULL", false),
            ("upper(s) = 'A' OR s LIKE 'a%'", false),
            ("regexp_like(s, '^[0-9]+$')", false),
            ("regexp_like('a', s)", true),
            ("CASE WHEN n > 0 THEN 10 / n END", true),
        ] {
            let parsed = context.parse_sql_expr(expr, &schema).unwrap();
            assert_eq!(can_fail(&parsed, &schema).unwrap(), expected, "{expr}");
        }
    }
}
