//! `DEDUP` and `DECONTAMINATE` in SQL: functions after FROM.
//!
//! ```text
//! SELECT id FROM dedup_fuzzy(docs, text, threshold => 0.7, keep => 'FIRST PER source BY score DESC')
//! ```
//! The first argument is a table, a file in quotes or a query in parentheses; then what stands after `ON`; then options
//! by name. `keep` holds CQL's clause as a text. Its expressions are opened before anything is planned, so that macros
//! and operators in it are what they are everywhere.

use super::asked::{Asked, AskedIndex, AskedKeep, AskedOrder, Given, Keyed, which_of};
use super::bind::bind_dedup;
use super::decontaminate::{AskedDecontaminate, bind_decontaminate};
use crate::Error;
use crate::dedup::AgainstMode;
use crate::diag::{Code, Diagnostic, SourceText, Span};
use crate::logical::catalog::{Relations, number_of};
use crate::logical::positions::{Place, Positions};
use crate::logical::sqltext::SqlReader;
use crate::logical::tree::{named_table, object_name};
use crate::sources::SourceSpec;
use crate::syntax::ast::{DedupMethod, KeepWord};
use crate::syntax::parse_keep;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::LogicalPlan;
use datafusion::logical_expr::planner::RelationPlannerContext;
use datafusion::sql::sqlparser::ast::{
    Expr as SqlExpr, FunctionArg, FunctionArgExpr, Ident, ObjectName, ObjectNamePart, Spanned, TableFactor,
    TableFunctionArgs, Value, VisitMut, VisitorMut,
};
use datafusion::sql::sqlparser::tokenizer::Span as SqlSpan;
use std::ops::ControlFlow;
use std::sync::Arc;

/// A function after FROM that is ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableFunction {
    /// `dedup_exact(…)` and the like.
    Dedup(DedupMethod),
    /// `decontaminate(…)`
    Decontaminate,
}

/// Every function, by name.
pub const TABLE_FUNCTIONS: [(&str, TableFunction); 8] = [
    ("dedup_exact", TableFunction::Dedup(DedupMethod::Exact)),
    ("dedup_fuzzy", TableFunction::Dedup(DedupMethod::Fuzzy)),
    ("dedup_lines", TableFunction::Dedup(DedupMethod::Lines)),
    ("dedup_paragraphs", TableFunction::Dedup(DedupMethod::Paragraphs)),
    ("dedup_sentences", TableFunction::Dedup(DedupMethod::Sentences)),
    ("dedup_substring", TableFunction::Dedup(DedupMethod::Substring)),
    ("dedup_semantic", TableFunction::Dedup(DedupMethod::Semantic)),
    ("decontaminate", TableFunction::Decontaminate),
];

impl TableFunction {
    /// The function that a name stands for.
    pub fn named(name: &ObjectName) -> Option<(Self, Ident)> {
        let [ObjectNamePart::Identifier(ident)] = name.0.as_slice() else { return None };
        let found = TABLE_FUNCTIONS.iter().find(|(name, _)| name.eq_ignore_ascii_case(&ident.value));
        found.map(|(_, function)| (*function, ident.clone()))
    }
}

impl Relations {
    /// Plans a call after FROM.
    pub(in crate::logical) fn table_function(
        &self,
        function: TableFunction,
        name: &Ident,
        arguments: TableFunctionArgs,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<LogicalPlan> {
        let call = self.arguments(name, arguments.args)?;
        // A SELECT * around the rows says nothing; without it the plan is CQL's.
        let plan = match context.plan(call.input)? {
            LogicalPlan::Projection(projection) if projection.schema == *projection.input.schema() => {
                Arc::unwrap_or_clone(projection.input)
            }
            other => other,
        };
        let mut on = Vec::new();
        for expr in call.on {
            let place = self.place(expr.span());
            on.push(Keyed { expr: context.sql_to_expr(expr, plan.schema())?, place });
        }
        let place = self.place(name.span);
        let mut given = Vec::new();
        let mut clauses = Clauses::default();
        for (name, value) in call.named {
            match (function, name.value.as_str()) {
                (TableFunction::Dedup(_), "keep") => clauses.keep = Some(value),
                (TableFunction::Dedup(_), "against_index") => clauses.against = Some(value),
                (TableFunction::Dedup(_), "index_mode") => clauses.mode = Some(value),
                (TableFunction::Decontaminate, "against") => clauses.against = Some(value),
                _ => given.push(self.given(&name, &value)?),
            }
        }
        match function {
            TableFunction::Dedup(method) => {
                if on.is_empty() {
                    let problem = place.error(Code::Arguments, format!("`{name}` needs what to compare"));
                    return Err(Error::from(problem.help(format!("write `{name}(docs, text)`"))).into());
                }
                let keep = clauses.keep.map(|keep| self.keep(keep, plan.schema(), context)).transpose()?;
                let against = self.against_index(clauses.against, clauses.mode)?;
                let asked = Asked { method, place, on, given, keep, against };
                bind_dedup(plan, asked, context.context_provider())
            }
            TableFunction::Decontaminate => {
                let Some(against) = clauses.against else {
                    let problem = place.error(Code::Arguments, "`decontaminate` needs `against`, the evaluation files");
                    return Err(Error::from(problem.help("write against => 'evals/*.jsonl'")).into());
                };
                if let Some(second) = on.get(1) {
                    return Err(
                        Error::from(second.place.error(Code::Arguments, "`decontaminate` reads one text")).into()
                    );
                }
                let evals_place = self.place(against.span());
                let location = self.text(&against, "against")?;
                let spec = SourceSpec { location, ..SourceSpec::default() };
                let evals = self.scan_with_file(&spec, against.span())?;
                bind_decontaminate(
                    plan,
                    AskedDecontaminate {
                        place,
                        on: on.into_iter().next(),
                        given,
                        evals: spec.location,
                        eval_rows: evals,
                        evals_place,
                    },
                )
            }
        }
    }

    /// The table, what is compared, the options.
    fn arguments(&self, function: &Ident, arguments: Vec<FunctionArg>) -> Result<Call> {
        let refuse = |problem: Diagnostic| Err(Error::from(problem).into());
        let mut input = None;
        let mut on = Vec::new();
        let mut named: Vec<(Ident, SqlExpr)> = Vec::new();
        for argument in arguments {
            match argument {
                FunctionArg::Named { name, arg: FunctionArgExpr::Expr(value), .. } => named.push((name, value)),
                FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) if !named.is_empty() => {
                    let problem = self.place(value.span()).error(Code::Arguments, "what has no name comes first");
                    return refuse(problem.help("put the named options at the end"));
                }
                FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) if input.is_none() => {
                    let place = self.place(value.span());
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
                    let place = self.place(other.span());
                    return refuse(place.error(Code::Arguments, format!("`{other}` cannot stand in `{function}`")));
                }
            }
        }
        match input {
            Some(input) => Ok(Call { input, on, named }),
            None => {
                let problem = self.place(function.span).error(Code::Arguments, format!("`{function}` needs a table"));
                refuse(problem.help(format!("write `{function}(docs, text)`")))
            }
        }
    }

    fn given(&self, name: &Ident, value: &SqlExpr) -> Result<Given> {
        Ok(Given {
            name: name.value.clone(),
            value: self.text(value, &name.value)?,
            name_place: self.place(name.span),
            value_place: self.place(value.span()),
        })
    }

    /// The value of an option as text.
    fn text(&self, value: &SqlExpr, option: &str) -> Result<String> {
        constant(value).ok_or_else(|| {
            let message = format!("option `{option}`: `{value}` is not a constant");
            Error::from(self.place(value.span()).error(Code::OptionValue, message)).into()
        })
    }

    fn against_index(&self, path: Option<SqlExpr>, mode: Option<SqlExpr>) -> Result<Option<AskedIndex>> {
        let refuse = |value: &SqlExpr, message: String| {
            Error::from(self.place(value.span()).error(Code::OptionValue, message)).into()
        };
        let chosen = match &mode {
            None => AgainstMode::Append,
            Some(mode) => match self.text(mode, "index_mode")?.to_ascii_lowercase().as_str() {
                "append" => AgainstMode::Append,
                "read only" => AgainstMode::ReadOnly,
                other => {
                    let message = format!("option `index_mode`: '{other}' is neither 'append' nor 'read only'");
                    return Err(refuse(mode, message));
                }
            },
        };
        match (path, mode) {
            (Some(path), _) => {
                let place = self.place(path.span());
                Ok(Some(AskedIndex { path: self.text(&path, "against_index")?, mode: chosen, place }))
            }
            (None, Some(mode)) => {
                Err(refuse(&mode, "option `index_mode`: there is no index; give `against_index`".to_string()))
            }
            (None, None) => Ok(None),
        }
    }

    /// The clause that [`open_keep_texts`] has opened.
    fn keep(&self, keep: SqlExpr, schema: &DFSchema, context: &mut dyn RelationPlannerContext) -> Result<AskedKeep> {
        let place = self.place(keep.span());
        let opened = if let SqlExpr::Tuple(parts) = keep { parts } else { vec![] };
        let mut parts = opened.into_iter();
        let word = parts.next().and_then(|word| constant(&word));
        let Some((_, which)) = KEEP_WORDS.iter().find(|(name, _)| word.as_deref() == Some(name)) else {
            let problem = place.error(Code::OptionValue, "option `keep`: a text is expected");
            return Err(Error::from(problem.help("write keep => 'FIRST BY length(text) DESC'")).into());
        };
        let (mut per, mut by) = (Vec::new(), Vec::new());
        while let (Some(expr), Some(direction)) = (parts.next(), parts.next()) {
            let direction = constant(&direction).unwrap_or_default();
            if direction == "PER" {
                let place = self.place(expr.span());
                per.push(Keyed { expr: context.sql_to_expr(expr, schema)?, place });
                continue;
            }
            let nulls_first = match direction.contains("NULLS") {
                true => Some(direction.ends_with("FIRST")),
                false => None,
            };
            by.push(AskedOrder {
                place: self.place(expr.span()),
                expr: context.sql_to_expr(expr, schema)?,
                descending: direction.starts_with("DESC"),
                nulls_first,
            });
        }
        Ok(AskedKeep { which: which_of(*which), per, by, place })
    }
}

struct Call {
    input: TableFactor,
    on: Vec<SqlExpr>,
    named: Vec<(Ident, SqlExpr)>,
}

/// Options that are clauses in CQL.
#[derive(Default)]
struct Clauses {
    keep: Option<SqlExpr>,
    against: Option<SqlExpr>,
    mode: Option<SqlExpr>,
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
fn constant(value: &SqlExpr) -> Option<String> {
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

const KEEP_WORDS: [(&str, KeepWord); 4] =
    [("FIRST", KeepWord::First), ("LAST", KeepWord::Last), ("ANY", KeepWord::Any), ("NONE", KeepWord::None)];

/// Opens every `keep => 'FIRST BY …'` of a tree: the text becomes `('FIRST', expression, 'DESC', …)`, where `'PER'`
/// stands in place of the direction of what is after `PER`.
pub fn open_keep_texts<T: VisitMut>(tree: &mut T, positions: &Positions) -> Result<(), Vec<Diagnostic>> {
    let mut opener = KeepTexts { positions, problems: vec![] };
    let _ = tree.visit(&mut opener);
    if opener.problems.is_empty() { Ok(()) } else { Err(opener.problems) }
}

struct KeepTexts<'a> {
    positions: &'a Positions,
    problems: Vec<Diagnostic>,
}

impl VisitorMut for KeepTexts<'_> {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        let TableFactor::Table { name, args: Some(arguments), .. } = factor else { return ControlFlow::Continue(()) };
        if !matches!(TableFunction::named(name), Some((TableFunction::Dedup(_), _))) {
            return ControlFlow::Continue(());
        }
        for argument in &mut arguments.args {
            let FunctionArg::Named { name, arg: FunctionArgExpr::Expr(value), .. } = argument else { continue };
            if name.value != "keep" {
                continue;
            }
            let SqlExpr::Value(text) = value else { continue };
            let Value::SingleQuotedString(keep) = &text.value else { continue };
            match self.open(keep, text.span) {
                Ok(parts) => *value = SqlExpr::Tuple(parts),
                Err(problem) => self.problems.push(problem),
            }
        }
        ControlFlow::Continue(())
    }
}

impl KeepTexts<'_> {
    fn open(&self, keep: &str, span: SqlSpan) -> Result<Vec<SqlExpr>, Diagnostic> {
        let (source, start) = self.source_of(keep, span);
        let clause = parse_keep(&SourceText::new("keep", keep)).map_err(|mut problem| {
            for label in &mut problem.labels {
                label.span = Span::new(label.span.start + start, label.span.end + start);
                label.source = source.clone();
            }
            problem
        })?;
        let text = |text: &str| SqlExpr::Value(Value::SingleQuotedString(text.to_string()).with_span(span));
        let word = KEEP_WORDS.iter().find(|(_, word)| *word == clause.which).map_or("", |(name, _)| *name);
        let mut parts = vec![text(word)];
        let origin = self.positions.add_text(&source);
        let reader = SqlReader::new(self.positions, origin, &source);
        for item in &clause.per {
            parts.push(reader.expr(Span::new(item.span.start + start, item.span.end + start))?);
            parts.push(text("PER"));
        }
        for item in &clause.by {
            let order = reader.order_by(Span::new(item.span.start + start, item.span.end + start))?;
            parts.push(order.expr);
            let direction = if order.options.asc == Some(false) { "DESC" } else { "ASC" };
            let nulls = match order.options.nulls_first {
                Some(true) => " NULLS FIRST",
                Some(false) => " NULLS LAST",
                None => "",
            };
            parts.push(text(&format!("{direction}{nulls}")));
        }
        Ok(parts)
    }

    /// The text that the clause stands in, and where in it: the query, unless quotes inside of it were doubled.
    fn source_of(&self, keep: &str, span: SqlSpan) -> (SourceText, usize) {
        let place = self.positions.find(span).filter(|place| place.call.is_none());
        match place {
            Some(Place { source, span, .. })
                if source.slice(span).get(1..).is_some_and(|text| text.starts_with(keep)) =>
            {
                let start = span.start + 1;
                (source, start)
            }
            _ => (SourceText::new("keep", keep), 0),
        }
    }
}
