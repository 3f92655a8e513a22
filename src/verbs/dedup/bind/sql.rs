//! SQL's `FROM dedup_exact(docs, text, keep => 'FIRST BY score DESC')`: arguments to planned expressions.

use super::asked::{Asked, AskedIndex, AskedKeep, AskedOrder, Keyed, which_of};
use super::request::bind_dedup;
use crate::Error;
use crate::dedup::AgainstMode;
use crate::diag::{Code, Diagnostic, SourceText, Span};
use crate::logical::{Place, Positions, Relations, SqlReader};
use crate::syntax::parse_keep;
use crate::verbs::call::{TableCall, constant};
use crate::verbs::dedup::read::{DedupMethod, KeepWord, keep_clause};
use datafusion::error::Result;
use datafusion::logical_expr::LogicalPlan;
use datafusion::logical_expr::planner::RelationPlannerContext;
use datafusion::sql::sqlparser::ast::{
    Expr as SqlExpr, FunctionArg, FunctionArgExpr, Ident, Spanned, TableFunctionArgs, Value,
};
use datafusion::sql::sqlparser::tokenizer::Span as SqlSpan;

/// Every function, in the order of [`DedupMethod::ALL`].
pub const TABLE_FUNCTIONS: [&str; 7] = [
    "dedup_exact",
    "dedup_fuzzy",
    "dedup_lines",
    "dedup_paragraphs",
    "dedup_sentences",
    "dedup_substring",
    "dedup_semantic",
];

/// Plans a call after FROM.
pub fn bind_table_function(
    relations: &Relations,
    function: &Ident,
    arguments: TableFunctionArgs,
    context: &mut dyn RelationPlannerContext,
) -> Result<LogicalPlan> {
    let mut call = TableCall::read(relations, function, arguments, context)?;
    let names = TABLE_FUNCTIONS.iter().zip(DedupMethod::ALL);
    let method = names.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(&function.value));
    let Some((_, method)) = method else { return Err(crate::bug!("`{function}` is no way to find duplicates").into()) };
    let place = relations.place(function.span);
    let [keep, path, mode] = ["keep", "against_index", "index_mode"].map(|name| call.take(name));
    let given = call.given()?;
    if call.on.is_empty() {
        let problem = place.error(Code::Arguments, format!("`{function}` needs what to compare"));
        return Err(Error::from(problem.help(format!("write `{function}(docs, text)`"))).into());
    }
    let keep = keep.map(|keep| asked_keep(&call, keep, context)).transpose()?;
    let against = against_index(&call, path, mode)?;
    let asked = Asked { method, place, on: call.on, given, keep, against };
    bind_dedup(call.plan, asked, context.context_provider())
}

fn against_index(call: &TableCall<'_>, path: Option<SqlExpr>, mode: Option<SqlExpr>) -> Result<Option<AskedIndex>> {
    let refuse = |value: &SqlExpr, message: String| {
        Error::from(call.relations.place(value.span()).error(Code::OptionValue, message)).into()
    };
    let chosen = match &mode {
        None => AgainstMode::Append,
        Some(mode) => match call.text(mode, "index_mode")?.to_ascii_lowercase().as_str() {
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
            let place = call.relations.place(path.span());
            Ok(Some(AskedIndex { path: call.text(&path, "against_index")?, mode: chosen, place }))
        }
        (None, Some(mode)) => {
            Err(refuse(&mode, "option `index_mode`: there is no index; give `against_index`".to_string()))
        }
        (None, None) => Ok(None),
    }
}

/// The clause that [`open_keep_texts`] has opened.
fn asked_keep(call: &TableCall<'_>, keep: SqlExpr, context: &mut dyn RelationPlannerContext) -> Result<AskedKeep> {
    let place = call.relations.place(keep.span());
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
            let place = call.relations.place(expr.span());
            per.push(Keyed { expr: context.sql_to_expr(expr, call.plan.schema())?, place });
            continue;
        }
        let nulls_first = match direction.contains("NULLS") {
            true => Some(direction.ends_with("FIRST")),
            false => None,
        };
        by.push(AskedOrder {
            place: call.relations.place(expr.span()),
            expr: context.sql_to_expr(expr, call.plan.schema())?,
            descending: direction.starts_with("DESC"),
            nulls_first,
        });
    }
    Ok(AskedKeep { which: which_of(*which), per, by, place })
}

const KEEP_WORDS: [(&str, KeepWord); 4] =
    [("FIRST", KeepWord::First), ("LAST", KeepWord::Last), ("ANY", KeepWord::Any), ("NONE", KeepWord::None)];

/// Opens `keep => 'FIRST BY …'`: the text becomes `('FIRST', expression, 'DESC', …)`, where `'PER'`
/// stands in place of the direction of what is after `PER`.
pub fn open_keep_texts(arguments: &mut [FunctionArg], positions: &Positions) -> Vec<Diagnostic> {
    let texts = KeepTexts { positions };
    let mut problems = vec![];
    for argument in arguments {
        let FunctionArg::Named { name, arg: FunctionArgExpr::Expr(value), .. } = argument else { continue };
        if name.value != "keep" {
            continue;
        }
        let SqlExpr::Value(text) = value else { continue };
        let Value::SingleQuotedString(keep) = &text.value else { continue };
        match texts.open(keep, text.span) {
            Ok(parts) => *value = SqlExpr::Tuple(parts),
            Err(problem) => problems.push(problem),
        }
    }
    problems
}

struct KeepTexts<'a> {
    positions: &'a Positions,
}

impl KeepTexts<'_> {
    fn open(&self, keep: &str, span: SqlSpan) -> Result<Vec<SqlExpr>, Diagnostic> {
        let (source, start) = self.source_of(keep, span);
        let part = parse_keep(&SourceText::new("keep", keep)).map_err(|mut problem| {
            for label in &mut problem.labels {
                label.span = Span::new(label.span.start + start, label.span.end + start);
                label.source = source.clone();
            }
            problem
        })?;
        let unread = || Diagnostic::error(Code::Syntax, "cannot read this KEEP", &source, source.span());
        let clause = keep_clause(&part).ok_or_else(unread)?;
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
