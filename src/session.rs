//! The whole of curator as a library: parse, compile, explain, execute.

use crate::diag::{Diagnostic, SourceText};
use crate::exec::{Progress, Report};
use crate::syntax::ast::Script;
use crate::{Config, Result, bug};
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::logical_expr::LogicalPlan;

/// The language a text is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Language {
    /// Pipes; SQL statements are welcome too.
    #[default]
    Cql,
    /// SQL only: `FROM t |> …` is SQL's own pipe syntax.
    Sql,
}

/// The stages of a plan that can be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The syntax tree.
    Ast,
    /// The plan as written.
    Logical,
    /// The plan after the optimizer.
    Optimized,
    /// The plan as executed.
    Physical,
}

/// How a plan is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExplainFormat {
    /// An indented tree.
    Tree,
    /// JSON.
    Json,
    /// Graphviz.
    Dot,
}

/// A statement, understood.
pub enum Compiled {
    /// Nothing to run: a `SET`, `LET` or `DEFINE` took effect.
    Done,
    /// Rows to produce or write.
    Query(Plan),
    /// A text to show: `EXPLAIN`, `DESCRIBE`.
    Explain {
        /// What to explain.
        plan: Plan,
        /// Run it too.
        analyze: bool,
        /// Show each rule.
        verbose: bool,
    },
}

/// A bound query.
#[derive(Debug, Clone)]
pub struct Plan {
    /// As the binder made it.
    pub logical: LogicalPlan,
}

/// The settings, tables and macros of one user.
pub struct Session {
    config: Config,
}

impl Session {
    /// A new session.
    pub fn new(config: Config) -> Result<Self> {
        Ok(Self { config })
    }

    /// The settings in force.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Gives `$name` a value, as `-D name=value` does: a number, `true`/`false`, `null`, else text.
    pub fn set_parameter(&mut self, name: &str, value: &str) {
        let _ = (name, value);
    }

    /// Text to statements.
    pub fn parse(&self, source: &SourceText, language: Language) -> Result<Script> {
        Err(bug!("parse {} {language:?}", source.name()))
    }

    /// One statement of a script to a plan. Applies `SET`, `LET`, `DEFINE` to the session.
    pub async fn compile(&mut self, script: &Script, index: usize) -> Result<Compiled> {
        Err(bug!("compile {} {index}", script.source.name()))
    }

    /// Every error of a text, without running anything.
    pub async fn check(&mut self, source: &SourceText, language: Language) -> Vec<Diagnostic> {
        let _ = (source, language);
        vec![]
    }

    /// A plan as text.
    pub async fn explain(&self, plan: &Plan, stage: Stage, format: ExplainFormat) -> Result<String> {
        Err(bug!("explain {plan:?} {stage:?} {format:?}"))
    }

    /// Runs a plan and shows, per operator, rows, bytes and time, and per conjunct the rows it dropped.
    pub async fn explain_analyze(&self, plan: &Plan) -> Result<(String, Report)> {
        Err(bug!("explain {plan:?}"))
    }

    /// Starts a plan.
    pub async fn execute(&self, plan: &Plan) -> Result<Run> {
        Err(bug!("execute {plan:?}"))
    }

    /// Names of tables: `LET`s and SQL tables, with their columns and types.
    pub fn tables(&self) -> Vec<(String, SchemaRef)> {
        vec![]
    }

    /// Names of all functions, macros and operators.
    pub fn function_names(&self) -> Vec<String> {
        vec![]
    }
}

/// A query under way. Dropping it cancels it; unfinished outputs are removed.
pub struct Run {
    schema: SchemaRef,
}

impl Run {
    /// The columns of the rows to come. Empty if the query writes its rows (`INTO`).
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// Whether the rows go to files (`INTO`), so that there is nothing to print but the report.
    pub fn writes(&self) -> bool {
        false
    }

    /// The next batch of rows.
    pub async fn next(&mut self) -> Option<Result<RecordBatch>> {
        None
    }

    /// A handle that tells how far the run is while `next` is awaited elsewhere.
    pub fn progress(&self) -> impl Fn() -> Progress + Send + Sync + 'static {
        Progress::default
    }

    /// What happened, once `next` gave `None`.
    pub fn report(&self) -> Report {
        Report::default()
    }
}
