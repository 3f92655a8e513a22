//! The names of columns that verbs give and take: there must be such a column, one of them, or none yet.

use super::Binder;
use super::verbs::Bound;
use crate::diag::{Code, Diagnostic};
use crate::syntax::ast::{Assignment, Name, Slice};
use datafusion::common::{Column, DataFusionError};
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr as SqlExpr, SelectItem};

impl Binder<'_> {
    pub(super) fn existing_columns<'n>(&self, plan: &LogicalPlan, names: impl Iterator<Item = &'n Name>) -> Bound<()> {
        let problems: Vec<Diagnostic> =
            names.filter_map(|name| self.existing_column(plan, name).err()).flatten().collect();
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    fn existing_column(&self, plan: &LogicalPlan, name: &Name) -> Bound<()> {
        let schema = plan.schema();
        if schema.has_column_with_unqualified_name(&name.text) {
            return Ok(());
        }
        let field = Box::new(Column::new_unqualified(&name.text));
        let error = datafusion::common::SchemaError::FieldNotFound { field, valid_fields: schema.columns() };
        Err(self.blame().explain(DataFusionError::SchemaError(Box::new(error), Box::new(None)), name.span))
    }

    /// A column that only one source of the pipeline has.
    pub(super) fn one_column(&self, plan: &LogicalPlan, name: &Name) -> Bound<()> {
        self.existing_column(plan, name)?;
        if plan.schema().columns_with_unqualified_name(&name.text).len() == 1 {
            return Ok(());
        }
        let message = format!("`{}` could be a column of either side", name.text);
        let help = format!("SELECT first, with another name for one of them: SELECT a.{0}, b.{0} AS …", name.text);
        Err(vec![self.error(Code::Ambiguous, message, name.span).at("which one?").help(help)])
    }

    /// The column that a `SET` changes.
    pub(super) fn set_column(&self, plan: &LogicalPlan, assignment: &Assignment) -> Bound<()> {
        let name = &assignment.column;
        self.one_column(plan, name).map_err(|problems| {
            let value = self.source.slice(assignment.value.span);
            let help = format!("SET changes a column; to add one, write `EXTEND {value} AS {}`", name.text);
            problems.into_iter().map(|problem| reworded(problem, Code::UnknownColumn, &help)).collect()
        })
    }

    /// Refuses `EXTEND n = words(text)`, which would be a comparison with a column `n`.
    pub(super) fn refuse_assignments(&self, plan: &LogicalPlan, items: &[Slice]) -> Bound<()> {
        let problems = items.iter().filter_map(|item| {
            let SelectItem::UnnamedExpr(SqlExpr::BinaryOp { left, op: BinaryOperator::Eq, right }) =
                self.reader().select_item(item.span).ok()?
            else {
                return None;
            };
            let SqlExpr::Identifier(name) = *left else { return None };
            if plan.schema().has_column_with_unqualified_name(&name.value) {
                return None;
            }
            let message = format!("EXTEND names a column with AS, not with `{} = …`", name.value);
            let found = self.error(Code::Syntax, message, item.span);
            Some(found.help(format!("write `EXTEND {right} AS {name}`")))
        });
        let problems: Vec<Diagnostic> = problems.collect();
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// Names that may stand once each, and not at all if `taken` says so.
    pub(super) fn refuse_repeated<'n>(
        &self,
        names: impl Iterator<Item = &'n Name>,
        taken: impl Fn(&str) -> bool,
    ) -> Bound<()> {
        let mut seen: Vec<&Name> = Vec::new();
        for name in names {
            let first = seen.iter().find(|other| other.text == name.text);
            if first.is_some() || taken(&name.text) {
                let problem = self.error(Code::Duplicate, format!("two columns named `{}`", name.text), name.span);
                return Err(vec![match first {
                    Some(first) => problem.and_at(self.source, first.span, "the first is here"),
                    None => problem.at("there is one already").help("DROP the other first, or choose another name"),
                }]);
            }
            seen.push(name);
        }
        Ok(())
    }

    pub(super) fn refuse_existing_names(
        &self,
        plan: &LogicalPlan,
        added: &[SelectItem],
        slices: &[Slice],
    ) -> Bound<()> {
        let clash = added.iter().zip(slices).find_map(|(item, slice)| {
            let name = output_name(item)?;
            plan.schema().has_column_with_unqualified_name(&name).then_some((name, slice.span))
        });
        match clash {
            None => Ok(()),
            Some((name, span)) => Err(vec![
                self.error(Code::Duplicate, format!("there is a column `{name}` already"), span)
                    .help(format!("SET {name} = … replaces it; or give the new column another name with AS")),
            ]),
        }
    }
}

/// The diagnostic with another way out, if it is of this kind and has no near name to offer.
fn reworded(problem: Diagnostic, code: Code, help: &str) -> Diagnostic {
    let has_near = problem.help.as_ref().is_some_and(|help| help.starts_with("did you mean"));
    if problem.code != code || has_near { problem } else { problem.replace_help(help) }
}

/// The name a select item gives its column, where it is plain to see.
pub(super) fn output_name(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.clone()),
        SelectItem::UnnamedExpr(SqlExpr::Identifier(name)) => Some(name.value.clone()),
        _ => None,
    }
}
