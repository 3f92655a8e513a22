//! The SQL that expressions and statements are written in: the generic dialect, with lambdas and `ORDER BY ALL`.
//!
//! `dialect()` answers with the generic dialect's identity, so that the parser's own "is this generic?"
//! questions keep their answers.

use datafusion::sql::sqlparser::ast::Expr;
use datafusion::sql::sqlparser::dialect::{Dialect, GenericDialect, Precedence};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use std::any::TypeId;

/// Generic SQL plus `x -> x + 1` and `ORDER BY ALL`.
#[derive(Debug)]
pub struct CuratorDialect;

macro_rules! as_generic {
    ($($method:ident),* $(,)?) => {
        $(fn $method(&self) -> bool {
            GenericDialect.$method()
        })*
    };
}

impl Dialect for CuratorDialect {
    fn dialect(&self) -> TypeId {
        TypeId::of::<GenericDialect>()
    }

    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        GenericDialect.is_delimited_identifier_start(ch)
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        GenericDialect.is_identifier_start(ch)
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        GenericDialect.is_identifier_part(ch)
    }

    /// `a IS DISTINCT FROM b AND c`: the parser itself takes `b AND c` for the right side.
    fn parse_infix(&self, parser: &mut Parser, left: &Expr, _precedence: u8) -> Option<Result<Expr, ParserError>> {
        let distinct = parser.parse_keywords(&[Keyword::IS, Keyword::DISTINCT, Keyword::FROM]);
        if !distinct && !parser.parse_keywords(&[Keyword::IS, Keyword::NOT, Keyword::DISTINCT, Keyword::FROM]) {
            return None;
        }
        let right = match parser.parse_subexpr(self.prec_value(Precedence::Is)) {
            Ok(right) => Box::new(right),
            Err(error) => return Some(Err(error)),
        };
        let left = Box::new(left.clone());
        Some(Ok(if distinct { Expr::IsDistinctFrom(left, right) } else { Expr::IsNotDistinctFrom(left, right) }))
    }

    fn supports_lambda_functions(&self) -> bool {
        true
    }

    fn supports_order_by_all(&self) -> bool {
        true
    }

    as_generic!(
        supports_unicode_string_literal,
        supports_partition_by_after_order_by,
        supports_array_join_syntax,
        supports_group_by_expr,
        supports_group_by_with_modifier,
        supports_left_associative_joins_without_parens,
        supports_pipe_operator,
        supports_window_function_null_treatment_arg,
        supports_dictionary_syntax,
        supports_window_clause_named_window_reference,
        supports_parenthesized_set_variables,
        supports_select_wildcard_except,
        support_map_literal_syntax,
        allow_extract_custom,
        allow_extract_single_quotes,
        supports_extract_comma_syntax,
        supports_parens_around_table_factor,
        supports_values_as_table_factor,
        supports_explain_with_utility_options,
        supports_from_first_select,
        supports_projection_trailing_commas,
        supports_try_convert,
        supports_bitwise_shift_operators,
        supports_named_fn_args_with_assignment_operator,
        supports_struct_literal,
        supports_nested_comments,
        supports_string_escape_constant,
        supports_array_typedef_with_brackets,
        supports_comma_separated_set_assignments,
        supports_filter_during_aggregation,
        supports_select_wildcard_exclude,
        supports_data_type_signed_suffix,
        supports_interval_options,
        supports_select_wildcard_replace,
        supports_comma_separated_trim,
    );
}
