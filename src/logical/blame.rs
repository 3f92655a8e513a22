//! From an error of DataFusion's planner to a message at the right place.
//!
//! Some of its errors know their place (a column that is not there); most do not (a function given the wrong
//! type). For those, [`Blame::check`] plans the parts of an expression, innermost first, and points at the
//! first part that fails on its own.

use super::macros::Macros;
use super::positions::{Place, Positions, from_datafusion};
use crate::Error;
use crate::diag::{Code, Diagnostic, SourceText, Span, did_you_mean};
use crate::ops::Registry;
use datafusion::common::{Column, DFSchema, DataFusionError, Result as DFResult, SchemaError};
use datafusion::logical_expr::planner::ContextProvider;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{Expr, ExprSchemable};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::sql::planner::{PlannerContext, SqlToRel};
use datafusion::sql::sqlparser::ast::{Expr as SqlExpr, LambdaFunction, Query, Spanned, Visit, Visitor};
use datafusion::sql::sqlparser::tokenizer::Span as SqlSpan;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Where to point when an error does not say.
#[derive(Clone, Copy)]
pub struct Blame<'a> {
    /// Where locations lead.
    pub positions: &'a Positions,
    /// The text being bound.
    pub source: &'a SourceText,
    /// What can be called beside SQL's functions.
    pub macros: &'a Macros,
    /// The operators.
    pub operators: &'a Registry,
}

impl Blame<'_> {
    /// Plans and type-checks one expression.
    pub fn check<S: ContextProvider>(
        &self,
        planner: &SqlToRel<'_, S>,
        options: &Arc<datafusion::common::config::ConfigOptions>,
        expr: &SqlExpr,
        schema: &DFSchema,
        span: Span,
    ) -> Result<Expr, Vec<Diagnostic>> {
        let checked = |expr: &SqlExpr| plan_and_type(planner, options, expr, schema);
        checked(expr).map_err(|error| {
            if has_place(&error) {
                return self.explain(error, span);
            }
            let culprit = parts(expr).into_iter().find_map(|part| Some((checked(&part).err()?, part.span())));
            match culprit {
                Some((error, place)) => {
                    let place = self.positions.find(place).unwrap_or_else(|| self.at(span));
                    self.explain_at(error, &place)
                }
                None => self.explain(error, span),
            }
        })
    }

    /// An error as messages, at its own place or else at `span`.
    pub fn explain(&self, error: DataFusionError, span: Span) -> Vec<Diagnostic> {
        self.explain_at(error, &self.at(span))
    }

    /// An error about `tree`: where it does not say, at the one call of the function that it names, or else at `span`.
    pub fn explain_in(&self, tree: &impl Visit, error: DataFusionError, span: Span) -> Vec<Diagnostic> {
        if has_place(&error) {
            return self.explain(error, span);
        }
        let mut calls = CallsNamed { message: error.to_string(), found: vec![] };
        let _ = tree.visit(&mut calls);
        match calls.found.as_slice() {
            [call] => self.explain_at(error, &self.positions.find(*call).unwrap_or_else(|| self.at(span))),
            _ => self.explain(error, span),
        }
    }

    fn at(&self, span: Span) -> Place {
        Place { source: self.source.clone(), span, call: None }
    }

    fn explain_at(&self, error: DataFusionError, place: &Place) -> Vec<Diagnostic> {
        match error {
            DataFusionError::External(inner) => match inner.downcast::<Error>() {
                Ok(ours) => match *ours {
                    Error::Query(diagnostics) => diagnostics
                        .into_iter()
                        .map(
                            |diagnostic| {
                                if diagnostic.labels.is_empty() { placed(diagnostic, place) } else { diagnostic }
                            },
                        )
                        .collect(),
                    other => vec![place.error(Code::Plan, other.to_string())],
                },
                Err(other) => vec![place.error(Code::Plan, other.to_string())],
            },
            DataFusionError::Diagnostic(diagnostic, inner) => {
                let own = diagnostic.span.and_then(|span| self.positions.find(from_datafusion(span)));
                self.explain_at(*inner, own.as_ref().unwrap_or(place))
            }
            DataFusionError::Context(_, inner) => self.explain_at(*inner, place),
            DataFusionError::Collection(errors) => {
                errors.into_iter().flat_map(|error| self.explain_at(error, place)).collect()
            }
            DataFusionError::SchemaError(error, _) => vec![self.schema_error(&error, place)],
            other => vec![planner_error(&other.strip_backtrace(), place)],
        }
    }
}

impl Blame<'_> {
    fn schema_error(&self, error: &SchemaError, place: &Place) -> Diagnostic {
        let found = schema_error(error, place);
        match error {
            SchemaError::FieldNotFound { field, .. } => match self.not_a_column(&field.name, place) {
                // A column that is gone may have the name of a function, too: `lang` after `SELECT id`.
                Some(help) => {
                    let columns = found.help.clone().filter(|help| help.starts_with("the columns here"));
                    found.replace_help([Some(help), columns].into_iter().flatten().collect::<Vec<_>>().join("; "))
                }
                None => found,
            },
            _ => found,
        }
    }

    /// What a name means that is no column: a function without its brackets, or a text in the wrong quotes.
    fn not_a_column(&self, name: &str, place: &Place) -> Option<String> {
        let lower = name.to_lowercase();
        if let Some(found) = self.macros.get(&lower) {
            return Some(format!("`{name}` is a rule to be called: write `{}`", found.short_call()));
        }
        if let Some(operator) = self.operators.find(&lower) {
            let first = operator.params.first().map_or("", |param| param.name);
            return Some(format!("`{name}` is a function: write `{name}({first})`"));
        }
        let is_in_double_quotes = place.call.is_none() && place.source.slice(place.span).starts_with('"');
        is_in_double_quotes.then(|| format!("a text stands in single quotes: '{name}'; double quotes are for names"))
    }
}

fn placed(diagnostic: Diagnostic, place: &Place) -> Diagnostic {
    let help = diagnostic.help.clone();
    place.error(diagnostic.code, diagnostic.message).maybe_help(help)
}

fn has_place(error: &DataFusionError) -> bool {
    match error {
        DataFusionError::Diagnostic(diagnostic, _) => diagnostic.span.is_some(),
        DataFusionError::Context(_, inner) => has_place(inner),
        DataFusionError::External(inner) => matches!(inner.downcast_ref(), Some(Error::Query(_))),
        DataFusionError::Collection(errors) => errors.iter().any(has_place),
        _ => false,
    }
}

fn schema_error(error: &SchemaError, place: &Place) -> Diagnostic {
    match error {
        SchemaError::FieldNotFound { field, valid_fields } => unknown_column(field, valid_fields, place),
        SchemaError::AmbiguousReference { field } => place
            .error(Code::Ambiguous, format!("`{}` could be a column of either side", field.name))
            .at("which one?")
            .help("give each side a name with AS, and write name.column"),
        SchemaError::DuplicateQualifiedField { name, .. } | SchemaError::DuplicateUnqualifiedField { name } => place
            .error(Code::Duplicate, format!("two columns named `{name}`"))
            .help("rename one with AS, or replace the column with SET"),
    }
}

fn unknown_column(field: &Column, valid: &[Column], place: &Place) -> Diagnostic {
    let names: Vec<&str> = valid.iter().map(|column| column.name.as_str()).collect();
    let list = if names.is_empty() {
        "there are no columns here".to_string()
    } else {
        format!(
            "the columns here are {}",
            names.iter().take(20).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        )
    };
    let diagnostic = place.error(Code::UnknownColumn, format!("no column `{}`", field.flat_name()));
    let diagnostic = if place.call.is_none() { diagnostic.at("not found") } else { diagnostic };
    diagnostic.maybe_help(did_you_mean(&field.name, &names)).maybe_help(Some(list))
}

/// The planner's words, less its habits, and a code by what they speak of.
fn planner_error(message: &str, place: &Place) -> Diagnostic {
    let message = [
        "Error during planning: ",
        "This feature is not implemented: ",
        "type_coercion\ncaused by\n",
        "Schema error: ",
    ]
    .iter()
    .fold(message, |message, habit| message.trim_start_matches(habit));
    let unsupported =
        message.contains("not supported") || message.contains("not implemented") || message.contains("Unsupported");
    let (message, advice) = reworded(message);
    let mut lines = message.split('\n').flat_map(|line| line.split(" No function matches")).map(str::trim);
    let first = lines.next().unwrap_or_default().trim_end_matches('.').to_string();
    let (hints, lines): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.starts_with("Hint: "));
    let candidates: Vec<&str> = lines.into_iter().filter(|line| is_signature(line)).collect();
    let advice =
        advice.or_else(|| Some(lower_first(hints.first()?.trim_start_matches("Hint: ").trim_end_matches('.'))));
    let code = match &first {
        text if text.contains("expects") && text.contains("argument") || text.contains("zero arguments") => {
            Code::Arguments
        }
        text if text.contains("requires")
            || text.contains("coerc")
            || text.contains("type")
            || text.contains("non-boolean") =>
        {
            Code::Type
        }
        text if text.contains("in this struct") => Code::UnknownColumn,
        text if text.starts_with("no table or LET") => Code::UnknownTable,
        text if text.contains("not found") && text.contains("table") => Code::UnknownTable,
        text if text.contains("unique expression names") => Code::Duplicate,
        _ if unsupported => Code::Unsupported,
        _ => Code::Plan,
    };
    let (first, help) = match (code, first.split_once("; ")) {
        (Code::UnknownTable, Some((message, help))) => (message.to_string(), Some(help.to_string())),
        (Code::UnknownTable, None) => (
            first,
            Some("a file is named in single quotes: FROM 'docs.jsonl'; a LET must stand before it is used".to_string()),
        ),
        _ => (first, advice),
    };
    let candidates = (!candidates.is_empty()).then(|| format!("it can be called as {}", candidates.join(", ")));
    place.error(code, lower_first(&first)).maybe_help(help).maybe_help(candidates)
}

/// Whether a line is how a function can be called: `sum(Float64)`.
fn is_signature(line: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    line.ends_with(')') && line.split_once('(').is_some_and(|(name, _)| is_name(name))
}

/// What is said of a call that fits no way of calling the function, of which the planner tells what each of them misses.
fn no_signature(function: &str, problems: &str) -> String {
    let counts: Vec<&str> = all_between(problems, "expects ", " argument");
    if !counts.is_empty() {
        return format!("`{function}` expects {} arguments", counts.join(" or "));
    }
    let types = all_between(problems, " requires ", ", but received ");
    match all_between(problems, ", but received ", " (").first() {
        Some(given) => format!("`{function}` requires {}, not {given}", types.join(" or ")),
        None => format!("`{function}` cannot take arguments of these types"),
    }
}

fn all_between<'t>(text: &'t str, before: &str, after: &str) -> Vec<&'t str> {
    text.split(before).skip(1).filter_map(|rest| Some(rest.split_once(after)?.0)).collect()
}

/// Frequent messages in plainer words, some with advice.
fn reworded(message: &str) -> (String, Option<String>) {
    // What stands between two phrases of a message.
    let between = |before: &str, after: &str| Some(message.split_once(before)?.1.split_once(after)?.0);
    if let Some(types) = between("common argument type for comparison operation ", "\n")
        .or_else(|| Some(message.split_once("common argument type for comparison operation ")?.1))
    {
        return (format!("the types of the two sides do not compare: {types}"), None);
    }
    if let Some(column) = between("column \"", "\" must appear in the GROUP BY") {
        let name = column.rsplit('.').next().unwrap_or(column);
        return (
            format!("`{name}` is neither in GROUP BY nor inside an aggregate"),
            Some(format!("add it to GROUP BY, or use for example max({name})")),
        );
    }
    if let Some(function) = between("Function '", "' failed to match any signature, errors: ")
        && let Some((_, problems)) = message.split_once("failed to match any signature, errors: ")
    {
        let (problems, rest) = problems.split_once(" No function matches").unwrap_or((problems, ""));
        return (format!("{}\n{rest}", no_signature(function, problems)), None);
    }
    if message.starts_with("For SELECT DISTINCT, ORDER BY expressions") {
        return (
            "after SELECT DISTINCT, ORDER BY can use only what is selected".to_string(),
            Some("select it too, or ORDER BY a selected column by its name".to_string()),
        );
    }
    if let Some(field) = between("Field ", " not found in struct") {
        return (format!("no field `{field}` in this struct"), None);
    }
    (message.to_string(), None)
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    match (chars.next(), chars.clone().next()) {
        // "UNION" and "LIMIT" stay as they are.
        (Some(first), Some(second)) if first.is_uppercase() && second.is_lowercase() => {
            first.to_lowercase().chain(chars).collect()
        }
        _ => text.to_string(),
    }
}

fn plan_and_type<S: ContextProvider>(
    planner: &SqlToRel<'_, S>,
    options: &Arc<datafusion::common::config::ConfigOptions>,
    expr: &SqlExpr,
    schema: &DFSchema,
) -> DFResult<Expr> {
    let planned = planner.sql_to_expr(expr.clone(), schema, &mut PlannerContext::new())?;
    // `unnest` has a type only in a SELECT list, where the planner takes it apart.
    if planned.to_string().contains("UNNEST") {
        return Ok(planned);
    }
    let context =
        SimplifyContext::builder().with_schema(Arc::new(schema.clone())).with_config_options(options.clone()).build();
    let coerced = ExprSimplifier::new(context).coerce(planned.clone(), schema)?;
    coerced.get_type(schema)?;
    Ok(planned)
}

/// The parts of an expression that can be planned alone, innermost first.
pub fn parts(expr: &SqlExpr) -> Vec<SqlExpr> {
    let mut parts = Parts { subqueries: 0, lambdas: 0, found: vec![] };
    let _ = expr.visit(&mut parts);
    parts.found
}

struct Parts {
    subqueries: usize,
    lambdas: usize,
    found: Vec<SqlExpr>,
}

impl Visitor for Parts {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.subqueries += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.subqueries -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &SqlExpr) -> ControlFlow<()> {
        self.lambdas += usize::from(is_lambda(expr));
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &SqlExpr) -> ControlFlow<()> {
        if is_lambda(expr) {
            self.lambdas -= 1;
        } else if self.subqueries == 0 && self.lambdas == 0 {
            self.found.push(expr.clone());
        }
        ControlFlow::Continue(())
    }
}

fn is_lambda(expr: &SqlExpr) -> bool {
    matches!(expr, SqlExpr::Lambda(LambdaFunction { .. }))
}

/// Finds the calls of functions that a message names in quotes.
struct CallsNamed {
    message: String,
    found: Vec<SqlSpan>,
}

impl Visitor for CallsNamed {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &SqlExpr) -> ControlFlow<()> {
        if let SqlExpr::Function(call) = expr
            && self.message.contains(&format!("'{}'", call.name))
        {
            self.found.push(expr.span());
        }
        ControlFlow::Continue(())
    }
}
