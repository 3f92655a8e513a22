//! `SWEEP` to the SQL that says the same, with its mistakes told at their places.

use super::function::NAME;
use super::thresholds::{MOST_THRESHOLDS, Refusal, thresholds};
use crate::diag::{Code, Span};
use crate::logical::Binder;
use crate::logical::constant::simplified;
use crate::logical::tree::object_name;
use crate::logical::verbs::{Bound, type_name};
use crate::syntax::ast::{Slice, Sweep};
use crate::syntax::one_line;
use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan};
use datafusion::sql::sqlparser::ast::{
    AccessExpr, Expr as SqlExpr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments,
    Ident, SelectItem, Subscript, Value,
};

/// The column whose bytes are counted unless another is named.
const TEXT_COLUMN: &str = "text";
/// What the rows of a sweep are called while they are structs.
const ROWS: &str = "s";

impl Binder<'_> {
    pub(in crate::logical) fn sweep(
        &self,
        plan: LogicalPlan,
        sweeps: &[Sweep],
        bytes_of: Option<Slice>,
        span: Span,
    ) -> Bound<LogicalPlan> {
        let sizes = match bytes_of {
            Some(slice) => Some(self.text_to_measure(&plan, slice)?),
            None => text_column(&plan),
        }
        .map(|text| call("octet_length", vec![text]));
        let mut lists = Vec::new();
        let mut problems = Vec::new();
        for sweep in sweeps {
            match self.sweep_call(&plan, sweep, sizes.clone()) {
                Ok(list) => lists.push(list),
                Err(found) => problems.extend(found),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        // Named step by step, so that the plan can be read: the lists, the rows of the lists, the fields of the rows.
        let names: Vec<String> = (0..lists.len()).map(|at| format!("{ROWS}{at}")).collect();
        let lists = lists.into_iter().zip(&names).map(|(list, name)| named(list, name)).collect();
        let lists = self.select(plan, lists, span, |_| {})?;
        let list = match names.as_slice() {
            [name] => column(name),
            names => call("array_concat", names.iter().map(|name| column(name)).collect()),
        };
        let rows = self.select(lists, vec![named(call("unnest", vec![list]), ROWS)], span, |_| {})?;
        let fields = ["rule", "threshold", "documents", "share", "bytes", "bytes_share"];
        let n_fields = if sizes.is_some() { fields.len() } else { fields.len() - 2 };
        let fields = fields[..n_fields].iter().map(|name| named(field(name), name)).collect();
        self.select(rows, fields, span, |_| {})
    }

    /// `sweep(value, 'value >=', low, high, step [, sizes])`
    fn sweep_call(&self, plan: &LogicalPlan, sweep: &Sweep, sizes: Option<SqlExpr>) -> Bound<SqlExpr> {
        let value = self.swept(plan, sweep.value)?;
        let [low, high, step] = [("first threshold", sweep.low), ("last threshold", sweep.high), ("step", sweep.step)]
            .map(|(what, slice)| self.constant(plan, slice, what));
        let ((low, low_number), (high, high_number), (step, step_number)) = (low?, high?, step?);
        if let Err(refusal) = thresholds(low_number, high_number, step_number) {
            let place = match refusal {
                Refusal::Backwards => sweep.high,
                Refusal::Step | Refusal::TooMany | Refusal::NotFinite => sweep.step,
            };
            let help = match refusal {
                Refusal::Backwards => Some(format!("write `{high_number} TO {low_number}`")),
                Refusal::TooMany => {
                    // Three digits are enough to say it; rounded up, so that it is wide enough.
                    let least = (high_number - low_number) / (MOST_THRESHOLDS - 1) as f64 * 1.005;
                    let least: f64 = format!("{least:.2e}").parse().unwrap_or(f64::INFINITY);
                    least.is_finite().then(|| format!("a step of {least} or more is wide enough"))
                }
                Refusal::Step | Refusal::NotFinite => None,
            };
            let problem = self.error(Code::OptionValue, refusal.to_string(), place.span);
            return Err(vec![problem.maybe_help(help)]);
        }
        let rule =
            format!("{} {}", one_line(self.source, sweep.value.span), one_line(self.source, sweep.comparison.span));
        let rule = SqlExpr::value(Value::SingleQuotedString(rule));
        Ok(call(NAME, [value, rule, low, high, step].into_iter().chain(sizes).collect()))
    }

    /// What moves past the thresholds: a number of one row.
    fn swept(&self, plan: &LogicalPlan, slice: Slice) -> Bound<SqlExpr> {
        let expr = self.expr(plan, slice)?;
        let planned = self.check(plan, &expr, slice.span)?;
        self.refuse_other_rows(plan, &expr, &planned, slice.span, "SWEEP")?;
        match planned.get_type(plan.schema()) {
            Ok(kind) if kind.is_numeric() || kind.is_null() => Ok(expr),
            Ok(DataType::Boolean) => Err(vec![
                self.error(Code::Type, "SWEEP needs a number to compare, this is a condition", slice.span)
                    .help("sweep the number inside it, or CASE WHEN … THEN 1 ELSE 0 END"),
            ]),
            Ok(kind) => Err(vec![self.error(
                Code::Type,
                format!("SWEEP needs a number to compare, this is {}", type_name(&kind)),
                slice.span,
            )]),
            Err(error) => Err(self.blame().explain(error, slice.span)),
        }
    }

    fn text_to_measure(&self, plan: &LogicalPlan, slice: Slice) -> Bound<SqlExpr> {
        let expr = self.expr(plan, slice)?;
        let planned = self.check(plan, &expr, slice.span)?;
        self.refuse_other_rows(plan, &expr, &planned, slice.span, "SWEEP")?;
        match planned.get_type(plan.schema()) {
            Ok(kind) if kind.is_string() => Ok(expr),
            Ok(kind) => Err(vec![self.error(
                Code::Type,
                format!("BYTES OF needs a text, this is {}", type_name(&kind)),
                slice.span,
            )]),
            Err(error) => Err(self.blame().explain(error, slice.span)),
        }
    }

    /// A number that is the same for all rows.
    fn constant(&self, plan: &LogicalPlan, slice: Slice, what: &str) -> Bound<(SqlExpr, f64)> {
        let expr = self.expr(plan, slice)?;
        let planned = self.check(plan, &expr, slice.span)?;
        let simple = simplified(self.context.state, plan.schema(), planned);
        let number = match simple {
            Ok(Expr::Literal(value, _)) if value.data_type().is_numeric() => value.cast_to(&DataType::Float64).ok(),
            _ => None,
        };
        match number {
            Some(ScalarValue::Float64(Some(number))) => Ok((expr, number)),
            _ => {
                let message = format!("the {what} of a sweep is a number that is the same for all rows");
                Err(vec![self.error(Code::Type, message, slice.span)])
            }
        }
    }
}

/// The text of a document, if the plan has one column that looks like it.
fn text_column(plan: &LogicalPlan) -> Option<SqlExpr> {
    match plan.schema().fields_with_unqualified_name(TEXT_COLUMN).as_slice() {
        [field] if field.data_type().is_string() => Some(SqlExpr::Identifier(Ident::with_quote('"', TEXT_COLUMN))),
        _ => None,
    }
}

fn call(name: &str, arguments: Vec<SqlExpr>) -> SqlExpr {
    let args = arguments.into_iter().map(|argument| FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))).collect();
    SqlExpr::Function(Function {
        name: object_name(Ident::new(name)),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList { duplicate_treatment: None, args, clauses: vec![] }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: vec![],
    })
}

fn column(name: &str) -> SqlExpr {
    SqlExpr::Identifier(Ident::new(name))
}

/// `s['name']`
fn field(name: &str) -> SqlExpr {
    let index = SqlExpr::value(Value::SingleQuotedString(name.to_string()));
    SqlExpr::CompoundFieldAccess {
        root: Box::new(column(ROWS)),
        access_chain: vec![AccessExpr::Subscript(Subscript::Index { index })],
    }
}

fn named(expr: SqlExpr, name: &str) -> SelectItem {
    SelectItem::ExprWithAlias { expr, alias: Ident::new(name) }
}
