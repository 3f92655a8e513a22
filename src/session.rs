//! The whole of curator as a library: parse, compile, explain, execute.
//!
//! ```text
//! text ──parse──► Script ──compile──► Plan ──execute──► Run (batches, report)
//!                                       └───explain──► text
//! ```
//! The command line and the prompt call nothing else. A [`Session`] holds what statements leave behind for the
//! next ones: settings, `LET`s, `DEFINE`s, SQL tables.

mod check;
mod identity;
mod incremental;
mod journal;
mod work;

use crate::config::{DeviceChoice, SettingError};
use crate::diag::{Code, Diagnostic, SourceText, Span};
pub use crate::exec::explain::ExplainFormat;
use crate::exec::{MemoryPlan, PresetRules, Progress, Report, Shard};
use crate::logical::{self, Bound, Context, OpenedFiles, Parameter, Scope, UsedPreset};
use crate::ops::{ModelUse, OpSpec, Registry};
use crate::syntax::ast::{OptionValue, Pipeline, Script, Statement, StatementKind};
use crate::{Config, Error, Result, exec, models, physical, syntax, verbs};
use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::DFSchema;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::execution::TaskContext;
use datafusion::execution::context::SessionContext;
use datafusion::execution::memory_pool::{MemoryLimit, MemoryReservation};
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::{DescribeTable, LogicalPlan};
use datafusion::physical_plan::{EmptyRecordBatchStream, ExecutionPlan, SendableRecordBatchStream, execute_stream};
use futures::StreamExt;
use incremental::Increment;
pub use journal::{ScriptOrigin, UnfinishedRun};
use std::sync::Arc;
use std::time::Instant;
use work::{Begun, Purpose, RunWork};

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
    /// The plan of executors, everything on the CPU.
    Physical,
    /// The plan as executed: where each operator runs, and why.
    Placed,
    /// What that plan holds in memory, node by node, and whether it fits.
    Memory,
}

/// A statement, understood.
#[derive(Debug, Clone)]
pub enum Compiled {
    /// Nothing to run: a `SET`, `LET` or `DEFINE` took effect.
    Done,
    /// Rows to produce or write.
    Query(Plan),
    /// A text to show.
    Explain {
        /// What to explain.
        plan: Plan,
        /// Run it too.
        analyze: bool,
        /// Show the plan after each rule.
        verbose: bool,
    },
}

/// A bound query.
#[derive(Debug, Clone)]
pub struct Plan {
    /// As the binder made it.
    pub logical: LogicalPlan,
    /// As the analyzer made it, where the binder asked it, so that it need not be asked again.
    analyzed: Option<LogicalPlan>,
    /// The statement as it is written.
    text: Option<Arc<str>>,
    /// The presets that its conditions were written as, and their rules.
    presets: Arc<Vec<PresetRules>>,
}

impl From<LogicalPlan> for Plan {
    fn from(logical: LogicalPlan) -> Self {
        Self { logical, analyzed: None, text: None, presets: Arc::default() }
    }
}

impl Plan {
    /// Whether it makes, changes or removes a table and gives no rows.
    pub(crate) fn is_definition(&self) -> bool {
        matches!(self.logical, LogicalPlan::Ddl(_) | LogicalPlan::Statement(_))
    }
}

/// The settings, tables and macros of one user.
pub struct Session {
    config: Config,
    operators: Registry,
    scope: Scope,
    state: SessionState,
    opened: Arc<OpenedFiles>,
}

impl Session {
    /// A new session with the built-in operators and presets.
    pub fn new(config: Config) -> Result<Self> {
        let operators = models::builtin()?;
        let state = physical::session_state(&config, &operators)?;
        let scope = Scope { macros: logical::presets().clone(), ..Scope::default() };
        Ok(Self { config, operators, scope, state, opened: Arc::default() })
    }

    /// The settings in force.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The operators, for listing and describing.
    pub fn operators(&self) -> &Registry {
        &self.operators
    }

    /// Adds an operator of the caller's own. It is used, documented and explained like the built-in ones.
    pub fn register(&mut self, operator: OpSpec) -> Result<()> {
        self.operators.register(operator)?;
        self.state = physical::session_state_from(&self.state, &self.config, &self.operators)?;
        Ok(())
    }

    /// Gives `$name` a value, as `-D name=value` does: a number, `true`/`false`, `null`, else text.
    pub fn set_parameter(&mut self, name: &str, value: &str) {
        self.scope.parameters.insert(name.to_string(), Parameter::parse(value));
    }

    /// Text to statements. Files named in earlier texts are looked at again.
    pub fn parse(&self, source: &SourceText, language: Language) -> Result<Script> {
        self.opened.forget();
        syntax::parse(source, language == Language::Sql).map_err(Error::Query)
    }

    /// One statement of a script to a plan. Applies `SET`, `LET`, `DEFINE` to the session.
    ///
    /// Reads the beginning of the files that the statement names, to learn their columns.
    pub async fn compile(&mut self, script: &Script, index: usize) -> Result<Compiled> {
        let Some(statement) = script.statements.get(index) else {
            return Err(crate::bug!("statement {index} of {}", script.statements.len()));
        };
        // What `now()` says, everywhere in the statement.
        self.state.mark_start_execution();
        self.statement_on_files(&script.source, statement).await.map_err(Error::Query)
    }

    /// Binds a statement; files that it names and nobody has looked at are looked at first.
    async fn statement_on_files(
        &mut self,
        source: &SourceText,
        statement: &Statement,
    ) -> Result<Compiled, Vec<Diagnostic>> {
        loop {
            let bound = self.statement(source, statement);
            if !self.opened.look(&self.config).await {
                return bound;
            }
        }
    }

    fn statement(&mut self, source: &SourceText, statement: &Statement) -> Result<Compiled, Vec<Diagnostic>> {
        match &statement.kind {
            StatementKind::Set { name, value, value_span } => {
                self.set(source, (&name.text, name.span), (value, *value_span)).map_err(|problem| vec![problem])?;
                Ok(Compiled::Done)
            }
            StatementKind::Define { name, params, body } => {
                let made = logical::define(source, name, params, body.span)?;
                self.scope.macros.insert(name.text.to_lowercase(), made);
                Ok(Compiled::Done)
            }
            StatementKind::Let { name, pipeline } => {
                let bound = logical::bind_let(self.context(), source, pipeline)?;
                let mut presets = bound.presets;
                presets.extend(self.presets_of_lets(source.slice(statement.span)).cloned());
                self.scope.presets.insert(name.text.clone(), presets);
                self.scope.lets.insert(name.text.clone(), bound.logical);
                Ok(Compiled::Done)
            }
            StatementKind::Describe(pipeline) => {
                let plan = self.bind(source, pipeline)?.logical;
                let described = DescribeTable {
                    schema: Arc::new(plan.schema().as_arrow().clone()),
                    output_schema: DFSchema::try_from(LogicalPlan::describe_schema()).map(Arc::new).map_err(
                        |error| vec![Diagnostic::error(Code::Plan, error.to_string(), source, statement.span)],
                    )?,
                };
                Ok(Compiled::Query(LogicalPlan::DescribeTable(described).into()))
            }
            StatementKind::Explain { analyze, verbose, statement } => match self.statement(source, statement)? {
                Compiled::Query(plan) => Ok(Compiled::Explain { plan, analyze: *analyze, verbose: *verbose }),
                Compiled::Done | Compiled::Explain { .. } => Err(vec![Diagnostic::error(
                    Code::Unsupported,
                    "only a query can be explained",
                    source,
                    statement.span,
                )]),
            },
            StatementKind::Query(pipeline) => {
                let bound = self.bind(source, pipeline)?;
                Ok(Compiled::Query(self.planned_as(bound, source.slice(statement.span))))
            }
            StatementKind::Sql(slice) => {
                let bound = logical::bind_sql(self.context(), source, slice.span)?;
                Ok(Compiled::Query(self.planned_as(bound, source.slice(statement.span))))
            }
        }
    }

    /// A bound statement as it is to run.
    fn planned_as(&self, Bound { logical, analyzed, presets }: Bound, text: &str) -> Plan {
        let used = presets.iter().chain(self.presets_of_lets(text));
        let rules = |used: &UsedPreset| {
            let rules = physical::rule_labels(&self.state, &used.condition, &used.schema);
            // Without the names of its rules a preset is not shown; the rules are.
            Some((used.call.clone(), rules.ok()?))
        };
        let presets = Arc::new(used.filter_map(rules).collect());
        Plan { logical, analyzed, text: Some(text.trim().into()), presets }
    }

    /// The presets of the `LET`s that a statement names.
    fn presets_of_lets<'s>(&'s self, text: &'s str) -> impl Iterator<Item = &'s UsedPreset> {
        let named = self.scope.presets.iter().filter(|(name, _)| syntax::mentions(text, name));
        named.flat_map(|(_, presets)| presets)
    }

    fn bind(&self, source: &SourceText, pipeline: &Pipeline) -> Result<Bound, Vec<Diagnostic>> {
        logical::bind_pipeline(self.context(), source, pipeline)
    }

    fn context(&self) -> Context<'_> {
        Context {
            config: &self.config,
            operators: &self.operators,
            scope: &self.scope,
            state: &self.state,
            opened: &self.opened,
            rooms: verbs::ROOMS,
        }
    }

    fn set(
        &mut self,
        source: &SourceText,
        (name, name_span): (&str, Span),
        (value, value_span): (&OptionValue, Span),
    ) -> Result<(), Diagnostic> {
        let text = match value {
            OptionValue::Parameter(parameter) => match self.scope.parameters.get(parameter) {
                Some(value) => value.as_text(),
                None => return Err(logical::no_value_for(parameter, &self.scope.parameters, source, value_span)),
            },
            other => other.as_text(),
        };
        let refused = |message: String| Diagnostic::error(Code::OptionValue, message, source, value_span);
        if name.starts_with("datafusion.") {
            let options = self.state.config_mut().options_mut();
            return options.set(name, &text).map_err(|error| refused(error.strip_backtrace()));
        }
        self.config.set(name, &text).map_err(|error| match error {
            SettingError::Unknown { help } => {
                Diagnostic::error(Code::UnknownOption, format!("no setting `{name}`"), source, name_span)
                    .at("not found")
                    .maybe_help(help)
                    .maybe_help(Some("`curator settings` lists them".to_string()))
            }
            SettingError::Value(message) => refused(message),
        })?;
        // How they are cut, and how much of them is looked at, may be another thing now.
        self.opened.forget();
        self.state = physical::session_state_from(&self.state, &self.config, &self.operators)
            .map_err(|error| refused(error.to_string()))?;
        Ok(())
    }

    /// A plan as text.
    pub async fn explain(&self, plan: &Plan, stage: Stage, format: ExplainFormat) -> Result<String> {
        match stage {
            Stage::Ast => Err(crate::bug!("the syntax tree is shown by `syntax::tree`, before there is a plan")),
            Stage::Logical => Ok(exec::explain::logical(&plan.logical, format)),
            Stage::Optimized => Ok(exec::explain::logical(&self.optimize(plan)?, format)),
            Stage::Physical => {
                let config = Config { device: DeviceChoice::Cpu, require_gpu: false, ..self.config.clone() };
                let state = physical::session_state_from(&self.state, &config, &self.operators)?;
                Ok(exec::explain::physical(planned(&state, plan).await?.as_ref(), format))
            }
            Stage::Placed => Ok(exec::explain::physical(self.plan(plan).await?.as_ref(), format)),
            Stage::Memory => self.memory_of(&self.plan(plan).await?).shown(format),
        }
    }

    /// The generated kernels of a plan: CUDA C, one text for each group of operators that is fused.
    pub async fn kernels(&self, plan: &Plan) -> Result<Vec<String>> {
        Ok(exec::explain::kernels(self.plan(plan).await?.as_ref()))
    }

    /// The logical plan after each rule that changed it, then the physical plan as it was made first, and after each rule
    /// that changed that.
    pub async fn explain_rules(&self, plan: &Plan) -> Result<String> {
        let mut text = String::new();
        let mut last = exec::explain::logical(&plan.logical, ExplainFormat::Tree);
        let mut show = |now: String, rule: &str| {
            if now != last {
                text.push_str(&format!("after {rule}:\n{now}\n"));
                last = now;
            }
        };
        let mut note = |plan: &LogicalPlan, rule: &str| show(exec::explain::logical(plan, ExplainFormat::Tree), rule);
        let options = self.state.config_options();
        let analyzed = self
            .state
            .analyzer()
            .execute_and_check(plan.logical.clone(), options, |plan, rule| note(plan, rule.name()))?;
        let optimized = self.state.optimizer().optimize(analyzed, &self.state, |plan, rule| note(plan, rule.name()))?;
        physical::plan_rule_by_rule(&self.state, &optimized, |plan, rule| {
            show(exec::explain::physical(plan, ExplainFormat::Tree), rule.unwrap_or("planning"));
        })
        .await?;
        Ok(text)
    }

    /// Runs a plan and shows, per operator, rows, bytes and time, and per conjunct the rows it dropped. Nothing of it is
    /// committed: files and indexes stay as they are.
    pub async fn explain_analyze(&self, plan: &Plan) -> Result<(String, Report)> {
        let mut run = self.start(plan, Purpose::Measure, None).await?;
        while let Some(batch) = run.next().await {
            batch?;
        }
        let plans: Vec<String> = run.plans.iter().map(|plan| exec::explain::analyzed(plan.as_ref())).collect();
        Ok((plans.concat(), run.report()))
    }

    /// The plan after analyzer and optimizer.
    pub fn optimize(&self, plan: &Plan) -> Result<LogicalPlan> {
        optimized(&self.state, plan)
    }

    /// The plan as it will be executed.
    pub async fn plan(&self, plan: &Plan) -> Result<Arc<dyn ExecutionPlan>> {
        let config = &self.config;
        let is_placed = config.uses_rule("OnePass") && config.uses_rule("PlaceOperators") && config.fusion;
        if config.require_gpu && (config.device == DeviceChoice::Cpu || !is_placed) {
            let message = "the run insists on a GPU, and a setting rules it out: device = cpu, optimize or fusion = \
                           false, or disabled_rules";
            return Err(Error::Data(message.to_string()));
        }
        planned(&self.state, plan).await
    }

    fn memory_of(&self, plan: &Arc<dyn ExecutionPlan>) -> MemoryPlan {
        let limit_bytes = match self.state.runtime_env().memory_pool.memory_limit() {
            MemoryLimit::Finite(limit_bytes) => Some(limit_bytes),
            MemoryLimit::Infinite | MemoryLimit::Unknown => None,
        };
        MemoryPlan::of(plan.as_ref(), &self.config, limit_bytes)
    }

    /// Starts a plan. A query with `INTO` takes the places that it will change for itself, or fails at once.
    pub async fn execute(&self, plan: &Plan) -> Result<Run> {
        self.start(plan, Purpose::Commit, None).await
    }

    /// Does a share of the work of a query with `INTO`, and keeps what comes of it beside the output. When all shares are
    /// done, `script`, run by [`UnfinishedRun`], writes the output.
    pub async fn execute_share(&self, plan: &Plan, shard: Shard, script: ScriptOrigin) -> Result<Run> {
        self.start(plan, Purpose::Commit, Some((shard, script))).await
    }

    async fn start(&self, plan: &Plan, purpose: Purpose, share: Option<(Shard, ScriptOrigin)>) -> Result<Run> {
        let started = Instant::now();
        if let LogicalPlan::Ddl(_) | LogicalPlan::Statement(_) = &plan.logical {
            // Tables and views live in the catalog that all of this session's states share.
            let frame =
                SessionContext::new_with_state(self.state.clone()).execute_logical_plan(plan.logical.clone()).await?;
            let stream = frame.execute_stream().await?;
            let schema = stream.schema();
            let work = RunWork::of_rows(&self.config);
            let opened = self.opened.clone();
            let (buffers, hardware, presets) = (None, None, Arc::default());
            let plans = vec![];
            return Ok(Run { schema, stream, plans, work, writes: true, started, opened, hardware, buffers, presets });
        }
        let mut note = None;
        let mut increment = None;
        if self.config.incremental
            && let Some(write) = physical::write_of(&plan.logical)
        {
            match Increment::of(plan, &write, &self.config)? {
                Increment::Everything => {}
                Increment::Nothing => {
                    let told = format!("{} is up to date: no input file is new", write.spec.location);
                    return Ok(self.run_of_nothing(told, started));
                }
                Increment::New(plan, told) => (increment, note) = (Some(plan), Some(told)),
            }
        }
        let plan = increment.as_deref().unwrap_or(plan);
        let presets = Arc::clone(&plan.presets);
        let physical = self.plan(plan).await?;
        let memory = self.memory_of(&physical);
        memory.check()?;
        let buffers = Some(memory.set_aside(&self.state.runtime_env().memory_pool));
        let chains = exec::checkpointed_chains(&physical);
        let is_share = share.is_some();
        let begun = match (physical::write_of(&plan.logical), share) {
            (Some(write), None) => RunWork::begin(self, plan, &write, purpose, chains)?,
            (Some(write), Some(share)) => RunWork::begin_share(self, plan, &write, chains, share).await?,
            (None, Some(_)) => {
                return Err(Error::Data("a share of a run needs a query that writes: its last verb is INTO".into()));
            }
            (None, None) => Begun::Work(Box::new(RunWork::of_rows(&self.config))),
        };
        let work = match begun {
            Begun::Work(work) => *work,
            Begun::IsComplete(place) => {
                let told = format!("{place} is complete: an earlier attempt of this run has committed it");
                return Ok(self.run_of_nothing(told, started));
            }
        };
        note.into_iter().for_each(|told| work.log().note(told));
        let writes = work.writes();
        work.follow(&plan.logical, &physical)?;
        let task = Arc::new(TaskContext::from(&self.state).with_session_config(work.install(self.state.config())));
        let (plans, stream) = match is_share {
            true => (exec::checkpoints_of(&physical), exec::keep_only(&physical, &task)?),
            false => (vec![physical.clone()], execute_stream(physical, task)?),
        };
        let schema = if writes { Arc::new(Schema::empty()) } else { stream.schema() };
        let (opened, hardware) = (self.opened.clone(), self.state.config().get_extension());
        Ok(Run { schema, stream, plans, work, writes, started, opened, hardware, buffers, presets })
    }

    /// The run of an output for which there is nothing to do.
    fn run_of_nothing(&self, told: String, started: Instant) -> Run {
        let schema = Arc::new(Schema::empty());
        let stream = Box::pin(EmptyRecordBatchStream::new(schema.clone()));
        let work = RunWork::of_rows(&self.config);
        work.log().note(told);
        let (opened, hardware, buffers, presets) = (self.opened.clone(), None, None, Arc::default());
        Run { schema, stream, plans: vec![], work, writes: true, started, opened, hardware, buffers, presets }
    }

    /// The models that a plan uses, each call once.
    pub fn models(&self, plan: &Plan) -> Vec<ModelUse> {
        let mut found: Vec<ModelUse> = vec![];
        let setting = physical::model_setting(&self.config);
        let collected = plan.logical.apply_with_subqueries(|node| {
            node.apply_expressions(|expr| {
                expr.apply(|part| {
                    if let Some((call, model)) = logical::model_of(part) {
                        let new = ModelUse { call, facts: model.facts(&setting), files: model.files() };
                        found.extend((!found.contains(&new)).then_some(new));
                    }
                    Ok(TreeNodeRecursion::Continue)
                })
            })
        });
        debug_assert!(collected.is_ok(), "collecting never fails");
        found
    }

    /// Names of tables: `LET`s and SQL tables, with their columns and types.
    pub fn tables(&self) -> Vec<(String, SchemaRef)> {
        let lets =
            self.scope.lets.iter().map(|(name, plan)| (name.clone(), Arc::new(plan.schema().as_arrow().clone())));
        lets.chain(physical::catalog_tables(&self.state)).collect()
    }

    /// Names of all functions, macros and operators.
    pub fn function_names(&self) -> Vec<String> {
        let macros = self.scope.macros.keys().cloned();
        let functions = self.state.scalar_functions().keys().chain(self.state.aggregate_functions().keys());
        let mut names: Vec<String> =
            macros.chain(functions.cloned()).chain(self.state.window_functions().keys().cloned()).collect();
        names.extend(verbs::table_functions().map(str::to_string));
        names.sort();
        names.dedup();
        names
    }
}

fn optimized(state: &SessionState, plan: &Plan) -> Result<LogicalPlan> {
    Ok(match &plan.analyzed {
        Some(analyzed) => state.optimizer().optimize(analyzed.clone(), state, |_, _| {})?,
        None => state.optimize(&plan.logical)?,
    })
}

async fn planned(state: &SessionState, plan: &Plan) -> Result<Arc<dyn ExecutionPlan>> {
    Ok(state.query_planner().create_physical_plan(&optimized(state, plan)?, state).await?)
}

/// A query under way. Dropping it cancels it; nothing that it has staged becomes visible.
pub struct Run {
    schema: SchemaRef,
    stream: SendableRecordBatchStream,
    /// What is executed: of a share of a run, the parts of its plan whose work is kept.
    plans: Vec<Arc<dyn ExecutionPlan>>,
    work: RunWork,
    writes: bool,
    started: Instant,
    opened: Arc<OpenedFiles>,
    hardware: Option<Arc<physical::Hardware>>,
    /// Held as long as the run: operators claim their memory beside it.
    #[expect(dead_code, reason = "given back when it is dropped")]
    buffers: Option<MemoryReservation>,
    presets: Arc<Vec<PresetRules>>,
}

impl Drop for Run {
    /// Device memory that was kept for later batches is given back, however the run ended.
    fn drop(&mut self) {
        self.work.give_up();
        if let Some(hardware) = &self.hardware {
            hardware.release_unused();
        }
    }
}

impl Run {
    /// The columns of the rows to come. Empty if the query writes its rows (`INTO`).
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// Whether the rows go to files (`INTO`), so that there is nothing to print but the report.
    pub fn writes(&self) -> bool {
        self.writes
    }

    /// The next batch of rows. After the last, everything that the run made is committed.
    pub async fn next(&mut self) -> Option<Result<RecordBatch>> {
        loop {
            return match self.stream.next().await {
                // What a written query yields is a count, which the report has.
                Some(Ok(_)) if self.writes => continue,
                Some(Ok(batch)) => Some(Ok(batch)),
                Some(Err(error)) => {
                    // Before the error is seen, so that no half-written file is left when the program ends on it.
                    self.work.give_up();
                    Some(Err(Error::from(error)))
                }
                None => {
                    if self.writes {
                        self.opened.forget();
                    }
                    let steps = exec::report(&self.plans, self.work.log()).steps;
                    let ended = self.work.end(&steps, exec::progress(&self.plans).rows_read);
                    self.work.give_up();
                    ended.err().map(Err)
                }
            };
        }
    }

    /// A handle that tells how far the run is while `next` is awaited elsewhere.
    pub fn progress(&self) -> impl Fn() -> Progress + Send + Sync + 'static {
        let plans = self.plans.clone();
        move || exec::progress(&plans)
    }

    /// What happened, once `next` gave `None`.
    pub fn report(&self) -> Report {
        let mut report = exec::report(&self.plans, self.work.log());
        report.steps = exec::under_presets(report.steps, &self.presets);
        let rejected = self.work.rejected();
        report.rejected = rejected.by_kind.into_iter().map(|(kind, count)| (kind.to_string(), count)).collect();
        report.rejected_examples = rejected.first;
        report.rejects_path = rejected.written_to;
        report.elapsed = self.started.elapsed();
        report
    }
}
