//! `AnnotateExec`: computes columns, drops rows by rules, and gives out columns, so that no expression is evaluated
//! twice for a row, and none for a row that a rule dropped before.
//!
//! ```text
//! AnnotateExec: id, text, words(text) AS n
//!   │ pass over text (scan: chars, words): words(text), alpha_ratio(text)
//!   │ words(text) >= 50
//!   │ alpha_ratio(text) > 0.8
//!   │ pass over text (n-grams: words, 5-grams): duplicate_ngram_char_ratio(text)
//!   │ duplicate_ngram_char_ratio(text) < 0.15
//! ```
//! It stands for a chain of DataFusion's `ProjectionExec` and `FilterExec`, which it keeps inside: its rows, their order,
//! its schema, properties and statistics are the chain's. Run one after the other those would walk over the text for
//! every call, evaluate a computed column in each place that reads it, and the right side of an AND on nearly every row.
//!
//! Not here: making the program (`physical::OnePass`).

mod apart;
mod changes;
mod counts;
mod dropped;
mod evaluator;
mod order;
mod program;
mod rows;
mod set_aside;
mod stream;

pub use apart::DocumentTimeout;
pub use counts::{RuleCounts, StepCounts};
pub(in crate::exec) use dropped::is_of_data;
pub(in crate::exec) use evaluator::{Computed, Evaluator};
pub use order::{Estimate, best};
pub use program::{COMPUTED, Compared, Program, ProjectedExpr, Rule, Step, StepKind};
pub(in crate::exec) use set_aside::{Failure, guarded, set_aside};

use super::coalesce::BatchSize;
use super::ledger::{DropPartition, DropWriter, Ledger, ascends};
use crate::exec::admission::ShareSemaphore;
use crate::logical::{OperatorCall, Resources};
use crate::sources::RejectLog;
use apart::Apart;
use datafusion::common::Statistics;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::execution_plan::CardinalityEffect;
use datafusion::physical_plan::filter_pushdown::{
    ChildPushdownResult, FilterDescription, FilterPushdownPhase, FilterPushdownPropagation,
};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::{
    ChildStats, ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties,
    PlanProperties, ReplaceChildrenOptions, SendableRecordBatchStream, StatisticsArgs,
};
use dropped::DropRecorder;
use order::RuleOrder;
use std::fmt;
use std::sync::Arc;
use stream::AnnotateStream;

/// Computes columns and drops rows. See the module's text.
#[derive(Debug, Clone)]
pub struct AnnotateExec {
    program: Arc<Program>,
    /// The nodes it stands for, the last one first; each but the last has the next as its child.
    chain: Vec<Arc<dyn ExecutionPlan>>,
    input: Arc<dyn ExecutionPlan>,
    options: AnnotateOptions,
    order: Arc<RuleOrder>,
    /// How many batches are worked on at once, in all partitions.
    semaphore: Option<Arc<ShareSemaphore>>,
    /// Lines for EXPLAIN: why its operators run here.
    notes: Vec<String>,
    metrics: ExecutionPlanMetricsSet,
}

/// How a program is run.
#[derive(Debug, Clone, Copy)]
pub struct AnnotateOptions {
    /// The bytes that a batch given out aims at.
    pub batch_bytes: usize,
    /// At most so many rows are given out.
    pub fetch: Option<usize>,
    /// Whether the order of the rules may change while running.
    pub learn: bool,
    /// Whether dropped rows go to the run's drop ledger, if it has one.
    pub ledger: bool,
    /// What the query lets it use.
    pub resources: Resources,
}

impl AnnotateExec {
    /// A node that does to `input` what `chain` does, by `program`. The chain's first node is the last to run.
    pub fn try_new(
        program: Arc<Program>,
        chain: Vec<Arc<dyn ExecutionPlan>>,
        input: Arc<dyn ExecutionPlan>,
        options: AnnotateOptions,
    ) -> Result<Self> {
        let chain = on_top_of(&chain, &input)?;
        let order = Arc::new(RuleOrder::new(&program));
        let n_threads = input.output_partitioning().partition_count();
        let semaphore = options.resources.cpus.map(|_| {
            Arc::new(ShareSemaphore::new(
                u32::try_from(options.resources.batches_on_cpu(n_threads)).unwrap_or(u32::MAX),
            ))
        });
        Ok(Self {
            program,
            chain,
            input,
            options,
            order,
            semaphore,
            notes: vec![],
            metrics: ExecutionPlanMetricsSet::new(),
        })
    }

    /// The same with lines for EXPLAIN: why its operators run here.
    pub fn with_notes(self, notes: Vec<String>) -> Self {
        Self { notes, ..self }
    }

    /// Why its operators run here; empty where nothing was to be decided.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// What it computes.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// What each rule did so far; may be asked while the query runs.
    pub fn rule_counts(&self) -> Vec<RuleCounts> {
        counts::of_rules(&self.program, &self.metrics.clone_inner())
    }

    /// The texts that the program changes, as a user would write it, and how many were changed so far.
    pub fn changes(&self) -> Vec<(String, u64)> {
        let metrics = self.metrics.clone_inner();
        let changes = changes::of_program(&self.program, &self.schema());
        changes
            .into_iter()
            .map(|change| (change.label(&self.program), counts::n_changed(&metrics, change.output)))
            .collect()
    }

    /// How many documents operators failed on so far: no rule has seen them.
    pub fn n_set_aside(&self) -> u64 {
        counts::n_set_aside(&self.metrics.clone_inner())
    }

    /// What each step did so far.
    pub fn step_counts(&self) -> Vec<StepCounts> {
        counts::of_steps(&self.program, &self.metrics.clone_inner())
    }

    /// The calls of operators that it evaluates, each once for a row.
    pub fn calls(&self) -> impl Iterator<Item = &OperatorCall> {
        self.program.steps.iter().flat_map(|step| match &step.work {
            StepKind::Pass { statistics, .. } => statistics.iter().map(|(_, call)| call).collect(),
            StepKind::Call { call, .. } => vec![call],
            StepKind::Expr { .. } => vec![],
        })
    }

    /// The nodes it stands for, the last to run first.
    pub fn chain(&self) -> &[Arc<dyn ExecutionPlan>] {
        &self.chain
    }

    /// How it is run.
    pub fn options(&self) -> AnnotateOptions {
        self.options
    }

    /// The node below.
    pub fn input(&self) -> &Arc<dyn ExecutionPlan> {
        &self.input
    }

    /// What runs its program on batches that come some other way than from its input. To be called after the nodes
    /// below were started, as nodes nearer to the source come first in the ledger.
    pub(in crate::exec) fn evaluator(&self, partition: usize, context: &TaskContext) -> Result<Evaluator> {
        let rejects = context.session_config().get_extension::<RejectLog>();
        let timeout = context.session_config().get_extension::<DocumentTimeout>();
        let apart = Apart::new(&self.program, timeout.and_then(|timeout| timeout.0));
        Ok(Evaluator::new(self, self.recorder(partition, context)?, rejects, apart, partition))
    }

    /// Its counters, to add what an earlier run has counted.
    pub(in crate::exec) fn metrics_set(&self) -> &ExecutionPlanMetricsSet {
        &self.metrics
    }

    /// Its way into the run's drop ledger, for rows that were dropped in an earlier run; `None` if it writes none.
    pub(in crate::exec) fn drop_writer(&self, partition: usize, context: &TaskContext) -> Result<Option<DropWriter>> {
        Ok(self.recorder(partition, context)?.map(DropRecorder::into_writer))
    }

    /// What the drop ledger knows it by, if it writes there. All partitions of this node share the order, and no other node
    /// does.
    pub(in crate::exec) fn recorded_program(&self) -> Option<usize> {
        self.options.ledger.then_some(Arc::as_ptr(&self.order) as usize)
    }

    fn recorder(&self, partition: usize, context: &TaskContext) -> Result<Option<DropRecorder>> {
        let ledger = context.session_config().get_extension::<Ledger>();
        let Some((ledger, program)) = ledger.zip(self.recorded_program()) else { return Ok(None) };
        let of = self.input.output_partitioning().partition_count();
        let partition = DropPartition { number: partition, of, ascends: ascends(&self.input) };
        Ok(Some(DropRecorder::open(&ledger, program, &self.input.schema(), partition)?))
    }

    fn top(&self) -> &Arc<dyn ExecutionPlan> {
        self.chain.first().unwrap_or(&self.input)
    }
}

/// The chain's nodes again, the lowest of them over `input`.
fn on_top_of(chain: &[Arc<dyn ExecutionPlan>], input: &Arc<dyn ExecutionPlan>) -> Result<Vec<Arc<dyn ExecutionPlan>>> {
    let mut rebuilt = Vec::with_capacity(chain.len());
    let mut below = Arc::clone(input);
    for node in chain.iter().rev() {
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        below = Arc::clone(node).replace_children(vec![below], options)?;
        rebuilt.push(Arc::clone(&below));
    }
    rebuilt.reverse();
    Ok(rebuilt)
}

impl DisplayAs for AnnotateExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "AnnotateExec: {}", self.program.output_labels.join(", "))?;
        if let Some(fetch) = self.options.fetch {
            write!(f, ", fetch={fetch}")?;
        }
        Ok(())
    }
}

impl ExecutionPlan for AnnotateExec {
    fn name(&self) -> &str {
        "AnnotateExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.top().properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        for node in &self.chain {
            if node.apply_expressions(f)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Ok([input]) = <[Arc<dyn ExecutionPlan>; 1]>::try_from(children) else {
            return Err(crate::bug!("an annotation takes one input").into());
        };
        let made = Self::try_new(Arc::clone(&self.program), self.chain.clone(), input, self.options)?;
        Ok(Arc::new(made.with_notes(self.notes.clone())))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let target = BatchSize { rows: context.session_config().batch_size(), bytes: self.options.batch_bytes };
        // Nodes nearer to the source come first in the ledger.
        let input = self.input.execute(partition, Arc::clone(&context))?;
        let evaluator = self.evaluator(partition, &context)?;
        Ok(Box::pin(AnnotateStream::new(self, target, input, evaluator, partition)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(&self, inputs: &[Arc<Statistics>], args: &StatisticsArgs) -> Result<Arc<Statistics>> {
        let Some(input) = inputs.first() else { return Err(crate::bug!("statistics of no input").into()) };
        let mut statistics = Arc::clone(input);
        for node in self.chain.iter().rev() {
            statistics = node.statistics_from_inputs(&[statistics], args)?;
        }
        Ok(statistics)
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        if self.program.rules.is_empty() { CardinalityEffect::Equal } else { CardinalityEffect::LowerEqual }
    }

    fn gather_filters_for_pushdown(
        &self,
        phase: FilterPushdownPhase,
        parent_filters: Vec<Arc<dyn PhysicalExpr>>,
        config: &ConfigOptions,
    ) -> Result<FilterDescription> {
        match (phase, self.chain.as_slice()) {
            // Filters made while running, as a join's: they pass through to the source.
            (FilterPushdownPhase::Post, [only]) => only.gather_filters_for_pushdown(phase, parent_filters, config),
            // Made after the filters of the query were pushed down; it has none to give.
            _ => Ok(FilterDescription::all_unsupported(&parent_filters, &self.children())),
        }
    }

    fn handle_child_pushdown_result(
        &self,
        _phase: FilterPushdownPhase,
        child_pushdown_result: ChildPushdownResult,
        _config: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        Ok(FilterPushdownPropagation::if_all(child_pushdown_result))
    }

    fn fetch(&self) -> Option<usize> {
        self.options.fetch
    }

    fn with_fetch(&self, fetch: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        let options = AnnotateOptions { fetch, ..self.options };
        Some(Arc::new(Self { options, ..self.clone() }))
    }
}
