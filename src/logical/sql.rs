//! SQL statements: DataFusion's planner, with our names, files and verbs.
//!
//! `COPY … TO` is `INTO`, `TABLESAMPLE` is `SAMPLE` (in `catalog.rs`); everything else is SQL as DataFusion has it.

use super::output_names::name_as_written;
use super::{Binder, CopyTo, planner};
use crate::diag::{Code, Diagnostic, Span};
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::parser::{CopyToSource, CopyToStatement, Statement as DFStatement};
use datafusion::sql::sqlparser::ast::{Query, Statement, Value, Visit, Visitor};
use std::collections::HashSet;
use std::ops::ControlFlow;

impl Binder<'_> {
    pub(super) fn sql_statement(&self, span: Span) -> Result<LogicalPlan, Vec<Diagnostic>> {
        let statement = self.reader().statement(span).map_err(|problem| vec![problem])?;
        match statement {
            DFStatement::CopyTo(copy) => self.copy_to(copy, span),
            DFStatement::Statement(statement) => {
                let mut statement = *statement;
                self.refuse_null_comparisons(&statement)?;
                name_as_written(&mut statement);
                self.rewrite(&mut statement)?;
                self.hide_lets_behind(&statement);
                self.plan_sql(DFStatement::Statement(Box::new(statement)), span)
            }
            other => self.plan_sql(other, span),
        }
    }

    fn plan_sql(&self, statement: DFStatement, span: Span) -> Result<LogicalPlan, Vec<Diagnostic>> {
        let catalog = self.catalog();
        let planned = planner(&catalog).statement_to_plan(statement.clone());
        let planned = planned.map_err(|error| match &statement {
            DFStatement::Statement(statement) => self.blame().explain_in(statement.as_ref(), error, span),
            _ => self.blame().explain(error, span),
        })?;
        self.refuse_comparisons_of(&planned, span).map_err(|problem| vec![problem])?;
        Ok(planned)
    }

    /// `COPY (query) TO 'path' [STORED AS format] [PARTITIONED BY (…)] [OPTIONS (…)]`
    fn copy_to(&self, copy: CopyToStatement, span: Span) -> Result<LogicalPlan, Vec<Diagnostic>> {
        let mut query = match copy.source {
            CopyToSource::Query(query) => *query,
            CopyToSource::Relation(name) => self.select_all(name),
        };
        self.refuse_null_comparisons(&query)?;
        name_as_written(&mut query);
        self.rewrite(&mut query)?;
        let statement = Statement::Query(Box::new(query));
        self.hide_lets_behind(&statement);
        let input = self.plan_sql(DFStatement::Statement(Box::new(statement)), span)?;
        let mut options = Vec::new();
        if let Some(format) = copy.stored_as {
            options.push(("format".to_string(), format.to_lowercase()));
        }
        if !copy.partitioned_by.is_empty() {
            options.push(("partition_by".to_string(), copy.partitioned_by.join(",")));
        }
        for (name, value) in copy.options {
            let value = match value {
                Value::SingleQuotedString(text) | Value::DoubleQuotedString(text) => text,
                other => other.to_string(),
            };
            // `OPTIONS (format.compression 'zstd')` is DataFusion's spelling of the same.
            options.push((name.trim_start_matches("format.").to_lowercase(), value));
        }
        let span = self.relations.quoted(&copy.target).unwrap_or(span);
        let copy = CopyTo { location: copy.target, options, span };
        let bound = self.context.rooms.iter().find_map(|room| room.bind_copy(self, &input, &copy));
        let missing = || Err(vec![self.error(Code::Unsupported, "no verb takes a COPY", span)]);
        bound.unwrap_or_else(missing).map_err(|problems| {
            let in_sql = |help: String| help.replace("WITH (overwrite = true)", "OPTIONS (overwrite true)");
            let reworded = problems.into_iter().map(|mut problem| {
                problem.message = in_sql(problem.message);
                problem.help = problem.help.map(in_sql);
                problem
            });
            reworded.collect::<Vec<_>>()
        })
    }

    /// `WITH name AS (…)` comes before a `LET` of the same name.
    fn hide_lets_behind(&self, statement: &Statement) {
        let mut names = WithNames::default();
        let _ = statement.visit(&mut names);
        self.relations.shadow(names.found);
    }
}

#[derive(Default)]
struct WithNames {
    found: HashSet<String>,
}

impl Visitor for WithNames {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.found.insert(cte.alias.name.value.clone());
        }
        ControlFlow::Continue(())
    }
}
