//! What stands after FROM and JOIN: files with their options, nested pipelines, SQL's relations; and `$name`
//! where a path or an option's value is expected.

use super::catalog::option_error;
use super::tree::{all_columns, ident, named_table, select_from};
use super::verbs::{Bound, Nesting};
use super::{Binder, no_value_for};
use crate::config::SettingError;
use crate::diag::{Code, Span};
use crate::sources::SourceSpec;
use crate::syntax::ast::{Name, OptionItem, OptionValue, Source, SourceKind};
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::sqlparser::ast::{ObjectName, Query, TableAlias, TableFactor};
use datafusion::sql::sqlparser::tokenizer::Span as SqlSpan;
use std::sync::Arc;

impl Binder<'_> {
    /// What stands after FROM, as SQL's tree.
    pub(super) fn table_factor(&self, source: &Source) -> Bound<TableFactor> {
        let alias = source.alias.as_ref().map(|name| TableAlias {
            explicit: true,
            name: ident(name),
            columns: vec![],
            at: None,
        });
        match &source.kind {
            SourceKind::Relation(slice) => {
                let mut factor = self.reader().relation(slice.span).map_err(|problem| vec![problem])?;
                self.rewrite(&mut factor)?;
                Ok(factor)
            }
            SourceKind::Pipeline(pipeline) => {
                let plan = self.pipeline(pipeline, Nesting::Nested)?;
                Ok(named_table(self.relations.pipe(plan), alias))
            }
            SourceKind::File { path, options } => {
                let mut spec = SourceSpec { location: self.parameter_path(path)?, ..SourceSpec::default() };
                let mut problems = Vec::new();
                for option in options {
                    if let Err(refused) = spec.options.set(&option.name.text, &self.option_text(option)?) {
                        let at = match refused {
                            SettingError::Unknown { .. } => option.name.span,
                            SettingError::Value(_) => option.value_span,
                        };
                        problems.push(option_error(
                            self.error(Code::UnknownOption, "", at),
                            &option.name.text,
                            refused,
                        ));
                    }
                }
                if !problems.is_empty() {
                    return Err(problems);
                }
                let scan = self
                    .relations
                    .scan(&spec, SqlSpan::empty())
                    .map_err(|error| self.blame().explain(error, path.span))?;
                Ok(named_table(self.relations.pipe(scan), alias))
            }
        }
    }

    pub(super) fn plan_factor(&self, factor: TableFactor, span: Span) -> Bound<LogicalPlan> {
        // A plain name needs no SELECT around it: the pipeline so far, a file, a nested pipeline.
        if let TableFactor::Table { name, alias: None, .. } = &factor
            && let Some(plan) = self.relations.piped_name(name)
        {
            return Ok(plan);
        }
        let items = vec![all_columns()];
        let plan = self.plan_query(select_from(factor, items), span)?;
        // The SELECT * around it says nothing; without it the plan reads as the query does.
        match plan {
            LogicalPlan::Projection(projection) if projection.schema == *projection.input.schema() => {
                Ok(Arc::unwrap_or_clone(projection.input))
            }
            other => Ok(other),
        }
    }

    /// `SELECT * FROM name`.
    pub(super) fn select_all(&self, name: ObjectName) -> Query {
        select_from(named_table(name, None), vec![all_columns()])
    }

    pub(crate) fn option_text(&self, option: &OptionItem) -> Bound<String> {
        match &option.value {
            OptionValue::Parameter(name) => self.parameter(name, option.value_span),
            other => Ok(other.as_text()),
        }
    }

    /// A path may be a parameter: `FROM $input`.
    pub(crate) fn parameter_path(&self, path: &Name) -> Bound<String> {
        match (self.source.slice(path.span).strip_prefix('$'), path.text.strip_prefix('$')) {
            (Some(_), Some(name)) => self.parameter(name, path.span),
            _ => Ok(path.text.clone()),
        }
    }

    fn parameter(&self, name: &str, span: Span) -> Bound<String> {
        let parameters = &self.context.scope.parameters;
        match parameters.get(name) {
            Some(value) => Ok(value.as_text()),
            None => Err(vec![no_value_for(name, parameters, self.source, span)]),
        }
    }
}
