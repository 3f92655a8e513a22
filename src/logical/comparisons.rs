//! Comparisons that could be planned and cannot be meant: a text with a number, a condition with a value, anything with NULL.
//!
//! DataFusion casts the text while the query runs, and the first document that is no number ends the run. What is compared
//! with NULL is never true, so that a rule drops everything in silence. Here both are known with their place.
//!
//! Not here: types that do not compare at all, which the planner refuses (`blame.rs`).

use super::positions::Place;
use super::{Binder, planner};
use crate::diag::{Code, Diagnostic, Span};
use arrow::datatypes::DataType;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator};
use datafusion::sql::planner::PlannerContext;
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr as SqlExpr, Query, Spanned, Value, Visit, Visitor};
use std::ops::ControlFlow;

/// What two sides are that do not belong in one comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Clash {
    /// A text, and a number.
    TextAndNumber,
    /// A condition, and a value of another kind.
    ConditionAndValue,
}

impl Binder<'_> {
    /// Refuses the comparisons of an expression that cannot be meant; its types are those of `schema`.
    pub(super) fn refuse_comparisons(&self, expr: &SqlExpr, schema: &DFSchema, span: Span) -> Result<(), Diagnostic> {
        let mut comparisons = Comparisons::default();
        let _ = expr.visit(&mut comparisons);
        if comparisons.found.is_empty() {
            return Ok(());
        }
        let catalog = self.catalog();
        let planner = planner(&catalog);
        let planned = |side: &SqlExpr| planner.sql_to_expr(side.clone(), schema, &mut PlannerContext::new()).ok();
        for comparison in &comparisons.found {
            for (left, right) in sides(comparison) {
                // What cannot be planned is refused by the planner, in its words.
                let (Some(left_planned), Some(right_planned)) = (planned(left), planned(right)) else { continue };
                let is_joined = matches!(comparison, SqlExpr::BinaryOp { op: BinaryOperator::StringConcat, .. });
                let clash = if is_joined {
                    joins_conditions(&left_planned, &right_planned, schema).then_some(Clash::ConditionAndValue)
                } else {
                    clash(&left_planned, &right_planned, schema)
                };
                let Some(clash) = clash else { continue };
                let place = self.positions.find(comparison.span()).unwrap_or_else(|| self.place(span));
                // What a preset is made of is not what the user compared.
                let place = if self.is_macro_itself(left, right) { place.outermost().clone() } else { place };
                if is_joined || clash == Clash::ConditionAndValue && (has_join(left) || has_join(right)) {
                    return Err(place
                        .error(Code::Type, "`||` joins texts, and these are conditions")
                        .help("between conditions write OR"));
                }
                let kind = |side: &Expr| side.get_type(schema).ok();
                let (left_kind, right_kind) = (kind(&left_planned), kind(&right_planned));
                return Err(match clash {
                    Clash::TextAndNumber => {
                        let is_text_left = left_kind.as_ref().is_some_and(is_text);
                        let (text, number) = if is_text_left { (left, right) } else { (right, left) };
                        self.text_and_number(&place, text, number)
                    }
                    Clash::ConditionAndValue => {
                        let is_left = left_kind == Some(DataType::Boolean);
                        let (condition, other) = if is_left { (left, right_kind) } else { (right, left_kind) };
                        self.condition_and_value(&place, condition, other.as_ref())
                    }
                });
            }
        }
        Ok(())
    }

    /// Whether a side of a comparison is a macro's use as a whole.
    fn is_macro_itself(&self, left: &SqlExpr, right: &SqlExpr) -> bool {
        let in_macro = |side: &SqlExpr| self.positions.find(side.span()).is_some_and(|place| place.call.is_some());
        in_macro(left) != in_macro(right)
    }

    fn text_and_number(&self, place: &Place, text: &SqlExpr, number: &SqlExpr) -> Diagnostic {
        let (shown_text, shown_number) = (self.shown(text), self.shown(number));
        let found = place.error(Code::Type, format!("{shown_text} is text, {shown_number} is a number"));
        match (is_literal(text), is_literal(number)) {
            (true, _) => found.help(format!("compare {shown_number} with a number: > 50, without quotes")),
            (false, true) => found.help(format!(
                "for the length of a text write words({shown_text}) or chars({shown_text}); for the number in it \
                 TRY_CAST({shown_text} AS DOUBLE); for the same characters '{shown_number}'"
            )),
            (false, false) => found.help(format!("write TRY_CAST({shown_text} AS DOUBLE) for the number in it")),
        }
    }

    fn condition_and_value(&self, place: &Place, condition: &SqlExpr, other: Option<&DataType>) -> Diagnostic {
        let shown = self.shown(condition);
        let what = other.map_or("a value".to_string(), super::type_name);
        place
            .error(Code::Type, format!("{shown} is true or false, and is compared with {what}"))
            .help(format!("it is a condition by itself: write WHERE {shown} or WHERE NOT {shown}"))
    }

    /// An expression as the user wrote it; of a macro its call.
    fn shown(&self, expr: &SqlExpr) -> String {
        let mut call = self.positions.find(expr.span()).and_then(|place| place.call);
        let mut name = None;
        while let Some((called, place)) = call {
            name = Some(called);
            call = place.call;
        }
        if let Some(name) = name {
            return format!("{name}(…)");
        }
        let text = expr.to_string();
        match text.char_indices().nth(40) {
            Some((cut, _)) => format!("{}…", &text[..cut]),
            None => text,
        }
    }

    /// The same for a whole statement of SQL, of which only columns know their place.
    pub(super) fn refuse_comparisons_of(&self, plan: &LogicalPlan, span: Span) -> Result<(), Diagnostic> {
        let mut found = None;
        let walked = plan.apply_with_subqueries(|node| {
            let schema = merge_schema(&node.inputs());
            node.apply_expressions(|expr| {
                expr.apply(|part| {
                    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = part else {
                        return Ok(TreeNodeRecursion::Continue);
                    };
                    if is_comparison(*op) && clash(left, right, &schema) == Some(Clash::TextAndNumber) {
                        found = Some((left.as_ref().clone(), right.as_ref().clone(), schema.clone()));
                        return Ok(TreeNodeRecursion::Stop);
                    }
                    Ok(TreeNodeRecursion::Continue)
                })
            })
        });
        let (Ok(_), Some((left, right, schema))) = (walked, found) else { return Ok(()) };
        let columns = left.column_refs().into_iter().chain(right.column_refs());
        let place = columns
            .filter_map(|column| column.spans.first())
            .find_map(|span| self.positions.find(super::positions::from_datafusion(span)))
            .unwrap_or_else(|| self.place(span));
        let is_text_left = left.get_type(&schema).is_ok_and(|kind| is_text(&kind));
        let (text, number) = if is_text_left { (&left, &right) } else { (&right, &left) };
        let name = |side: &Expr| match side {
            Expr::Literal(value, _) => value.to_string(),
            other => other.schema_name().to_string(),
        };
        let message = format!("`{}` is text, `{}` is a number", name(text), name(number));
        let help = "compare numbers with numbers; TRY_CAST(… AS DOUBLE) reads the number in a text";
        Err(place.error(Code::Type, message).help(help))
    }

    /// Refuses `lang = NULL`, which is true of nothing.
    pub(super) fn refuse_null_comparisons(&self, tree: &impl Visit) -> Result<(), Vec<Diagnostic>> {
        let mut nulls = ComparedNulls { binder: self, problems: vec![] };
        let _ = tree.visit(&mut nulls);
        if nulls.problems.is_empty() { Ok(()) } else { Err(nulls.problems) }
    }
}

/// Whether two sides of a comparison do not belong together.
fn clash(left: &Expr, right: &Expr, schema: &DFSchema) -> Option<Clash> {
    let (left_kind, right_kind) = (left.get_type(schema).ok()?, right.get_type(schema).ok()?);
    let one_way = |one: &DataType, this: &Expr, other: &DataType, that: &Expr| {
        if is_text(one) && other.is_numeric() {
            let reads_as_number = literal_text(this).is_some_and(|text| text.trim().parse::<f64>().is_ok());
            return (!reads_as_number).then_some(Clash::TextAndNumber);
        }
        if *one != DataType::Boolean {
            return None;
        }
        let is_odd = other.is_numeric() || literal_text(that).is_some_and(|text| !is_truth(text));
        is_odd.then_some(Clash::ConditionAndValue)
    };
    one_way(&left_kind, left, &right_kind, right).or_else(|| one_way(&right_kind, right, &left_kind, left))
}

fn joins_conditions(left: &Expr, right: &Expr, schema: &DFSchema) -> bool {
    [left, right].iter().any(|side| side.get_type(schema).is_ok_and(|kind| kind == DataType::Boolean))
}

fn is_text(kind: &DataType) -> bool {
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}

fn is_truth(text: &str) -> bool {
    matches!(
        text.to_ascii_lowercase().as_str(),
        "true" | "false" | "t" | "f" | "yes" | "no" | "y" | "n" | "1" | "0" | "on" | "off"
    )
}

fn literal_text(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Literal(ScalarValue::Utf8(text) | ScalarValue::LargeUtf8(text) | ScalarValue::Utf8View(text), _) => {
            text.as_deref()
        }
        Expr::Alias(alias) => literal_text(&alias.expr),
        _ => None,
    }
}

fn is_literal(expr: &SqlExpr) -> bool {
    match expr {
        SqlExpr::Value(_) => true,
        SqlExpr::Nested(inner) => is_literal(inner),
        _ => false,
    }
}

fn is_comparison(op: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}

fn compares(op: &BinaryOperator) -> bool {
    use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}

/// What is compared with what.
fn sides(comparison: &SqlExpr) -> Vec<(&SqlExpr, &SqlExpr)> {
    match comparison {
        SqlExpr::BinaryOp { left, right, .. } => vec![(left, right)],
        SqlExpr::Between { expr, low, high, .. } => vec![(expr, low), (expr, high)],
        SqlExpr::InList { expr, list, .. } => list.iter().map(|value| (expr.as_ref(), value)).collect(),
        _ => vec![],
    }
}

/// Whether a `||` stands in an expression.
fn has_join(expr: &SqlExpr) -> bool {
    struct Joins(bool);
    impl Visitor for Joins {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &SqlExpr) -> ControlFlow<()> {
            self.0 |= matches!(expr, SqlExpr::BinaryOp { op: BinaryOperator::StringConcat, .. });
            if self.0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    let mut joins = Joins(false);
    let _ = expr.visit(&mut joins);
    joins.0
}

/// Collects the comparisons of an expression that are over its own columns, outer ones first.
#[derive(Default)]
struct Comparisons {
    n_inside: usize,
    found: Vec<SqlExpr>,
}

impl Visitor for Comparisons {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.n_inside += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.n_inside -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &SqlExpr) -> ControlFlow<()> {
        self.n_inside += usize::from(matches!(expr, SqlExpr::Lambda(_)));
        let is_one = match expr {
            SqlExpr::BinaryOp { op, .. } => compares(op) || *op == BinaryOperator::StringConcat,
            SqlExpr::Between { .. } | SqlExpr::InList { .. } => true,
            _ => false,
        };
        if is_one && self.n_inside == 0 {
            self.found.push(expr.clone());
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &SqlExpr) -> ControlFlow<()> {
        self.n_inside -= usize::from(matches!(expr, SqlExpr::Lambda(_)));
        ControlFlow::Continue(())
    }
}

struct ComparedNulls<'a> {
    binder: &'a Binder<'a>,
    problems: Vec<Diagnostic>,
}

impl Visitor for ComparedNulls<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &SqlExpr) -> ControlFlow<()> {
        let SqlExpr::BinaryOp { left, op, right } = expr else { return ControlFlow::Continue(()) };
        let is_null = |side: &SqlExpr| matches!(side, SqlExpr::Value(value) if value.value == Value::Null);
        if compares(op) && (is_null(left) || is_null(right)) {
            let other = if is_null(left) { right } else { left };
            let test = if *op == BinaryOperator::NotEq { "IS NOT NULL" } else { "IS NULL" };
            if let Some(place) = self.binder.positions.find(expr.span()) {
                let message = format!("`{op} NULL` is never true");
                self.problems.push(place.error(Code::Type, message).help(format!("write `{other} {test}`")));
            }
        }
        ControlFlow::Continue(())
    }
}
