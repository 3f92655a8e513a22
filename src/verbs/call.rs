//! A verb called as SQL's table function, `FROM dedup_exact(docs, text, keep => …)`: its table, what it is about, its options.

use super::dedup::bind::asked::{Given, Keyed};
use crate::Error;
use crate::diag::{Code, Diagnostic};
use crate::logical::{Relations, named_table, number_of, object_name};
use datafusion::error::Result;
use datafusion::logical_expr::LogicalPlan;
use datafusion::logical_expr::planner::RelationPlannerContext;
use datafusion::sql::sqlparser::ast::{
    Expr as SqlExpr, FunctionArg, FunctionArgExpr, Ident, ObjectName, ObjectNamePart, Spanned, TableFactor,
    TableFunctionArgs, Value,
};
use std::sync::Arc;

/// A call, with the table planned.
pub(super) struct TableCall<'r> {
    pub relations: &'r Relations,
    /// The rows.
    pub plan: LogicalPlan,
    /// What follows the table.
    pub on: Vec<Keyed>,
    /// `name => value`
    pub named: Vec<(Ident, SqlExpr)>,
}

impl<'r> TableCall<'r> {
    /// Reads the arguments of a call of `function`.
    pub fn read(
        relations: &'r Relations,
        function: &Ident,
        arguments: TableFunctionArgs,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<Self> {
        let (input, exprs, named) = arguments_of(relations, function, arguments.args)?;
        // A SELECT * around the rows says nothing; without it the plan is CQL's.
        let plan = match context.plan(input)? {
            LogicalPlan::Projection(projection) if projection.schema == *projection.input.schema() => {
                Arc::unwrap_or_clone(projection.input)
            }
            other => other,
        };
        let mut on = Vec::new();
        for expr in exprs {
            let place = relations.place(expr.span());
            on.push(Keyed { expr: context.sql_to_expr(expr, plan.schema())?, place });
        }
        Ok(Self { relations, plan, on, named })
    }

    /// Takes a named argument out.
    pub fn take(&mut self, name: &str) -> Option<SqlExpr> {
        let at = self.named.iter().position(|(given, _)| given.value == name)?;
        Some(self.named.remove(at).1)
    }

    /// The named arguments that are left, as options.
    pub fn given(&self) -> Result<Vec<Given>> {
        let given = |(name, value): &(Ident, SqlExpr)| {
            Ok(Given {
                name: name.value.clone(),
                value: self.text(value, &name.value)?,
                name_place: self.relations.place(name.span),
                value_place: self.relations.place(value.span()),
            })
        };
        self.named.iter().map(given).collect()
    }

    /// The value of an option as text.
    pub fn text(&self, value: &SqlExpr, option: &str) -> Result<String> {
        constant(value).ok_or_else(|| {
            let message = format!("option `{option}`: `{value}` is not a constant");
            Error::from(self.relations.place(value.span()).error(Code::OptionValue, message)).into()
        })
    }
}

type Arguments = (TableFactor, Vec<SqlExpr>, Vec<(Ident, SqlExpr)>);

/// The table, what is compared, the options.
fn arguments_of(relations: &Relations, function: &Ident, arguments: Vec<FunctionArg>) -> Result<Arguments> {
    let refuse = |problem: Diagnostic| Err(Error::from(problem).into());
    let mut input = None;
    let mut on = Vec::new();
    let mut named: Vec<(Ident, SqlExpr)> = Vec::new();
    for argument in arguments {
        match argument {
            FunctionArg::Named { name, arg: FunctionArgExpr::Expr(value), .. } => named.push((name, value)),
            FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) if !named.is_empty() => {
                let problem = relations.place(value.span()).error(Code::Arguments, "what has no name comes first");
                return refuse(problem.help("put the named options at the end"));
            }
            FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) if input.is_none() => {
                let place = relations.place(value.span());
                match table_of(value) {
                    Some(table) => input = Some(table),
                    None => {
                        let problem = place.error(Code::Arguments, format!("`{function}` reads a table first"));
                        return refuse(problem.help("a table's name, a file in quotes, or a query in parentheses"));
                    }
                }
            }
            FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => on.push(value),
            other => {
                let place = relations.place(other.span());
                return refuse(place.error(Code::Arguments, format!("`{other}` cannot stand in `{function}`")));
            }
        }
    }
    match input {
        Some(input) => Ok((input, on, named)),
        None => {
            let problem = relations.place(function.span).error(Code::Arguments, format!("`{function}` needs a table"));
            refuse(problem.help(format!("write `{function}(docs, text)`")))
        }
    }
}

/// The first argument as what stands after FROM.
fn table_of(value: SqlExpr) -> Option<TableFactor> {
    Some(match value {
        SqlExpr::Identifier(ident) => named_table(object_name(ident), None),
        SqlExpr::CompoundIdentifier(parts) => {
            named_table(ObjectName(parts.into_iter().map(ObjectNamePart::Identifier).collect()), None)
        }
        SqlExpr::Value(value) => {
            let span = value.span;
            let Value::SingleQuotedString(path) = value.value else { return None };
            named_table(object_name(Ident::with_quote_and_span('\'', span, path)), None)
        }
        SqlExpr::Subquery(subquery) => TableFactor::Derived { lateral: false, subquery, alias: None, sample: None },
        SqlExpr::Nested(inner) => table_of(*inner)?,
        _ => return None,
    })
}

/// A constant as the text that options are read from.
pub(super) fn constant(value: &SqlExpr) -> Option<String> {
    let list = |items: &[SqlExpr]| Some(items.iter().map(constant).collect::<Option<Vec<_>>>()?.join(","));
    match value {
        SqlExpr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text.clone()),
            Value::Boolean(value) => Some(value.to_string()),
            Value::Number(number, _) => Some(number.clone()),
            _ => None,
        },
        SqlExpr::Identifier(word) => Some(word.value.clone()),
        SqlExpr::Array(array) => list(&array.elem),
        SqlExpr::Tuple(items) => list(items),
        SqlExpr::Nested(inner) => constant(inner),
        other => number_of(other),
    }
}
