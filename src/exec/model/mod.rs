//! `ModelExec`: calls of models on batches of the size that the models ask for.
//!
//! ```text
//! ModelExec: id, label(text), counts(text)          input   ▒▒  ▒   ▒▒▒    ▒  ▒▒▒▒  small batches that rules left
//!   │ label(text), counts(text): … on cpu: …   ⇐            └───┬────┘
//!   │   batches of 1024 rows or 4.2 MB                gathered   ▒▒▒▒▒▒▒▒▒▒▒▒         one run of each group of models
//! ```
//! Rows keep their order. Of a call that stands in a branch of CASE, or behind AND and OR, a column says for which rows it is wanted;
//! the others have null there, and nobody reads it.
//! It stands for DataFusion's `ProjectionExec`, which it keeps inside: its schema, properties and statistics are the projection's.
//!
//! Invariant: a model is prepared when the first row comes, once for all partitions; what it holds and works with is claimed from the
//! memory of the query. A row that a model does not take is set aside, with its place and the reason.
//! Not here: which calls come here, and in what order (`physical::BatchModels`).

mod counts;
mod gathering;
mod group;
mod worker;

use crate::exec::COMPUTED;
use crate::logical::{ModelCall, is_model_call};
use crate::ops::ModelSetting;
use crate::sources::RejectLog;
use arrow::array::RecordBatch;
use counts::ModelCounts;
use datafusion::common::Statistics;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{CaseExpr, Column};
use datafusion::physical_plan::execution_plan::CardinalityEffect;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildStats, ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties,
    ReplaceChildrenOptions, SendableRecordBatchStream, StatisticsArgs,
};
use futures::StreamExt;
use futures::stream::try_unfold;
use group::ModelGroup;
use std::fmt;
use std::sync::Arc;
use worker::Worker;

/// A column that the node gives out.
#[derive(Debug, Clone)]
pub struct ModelOutput {
    /// A column of the input, or the call of a model on columns, which may stand in a CASE that says when it is wanted.
    pub expr: Arc<dyn PhysicalExpr>,
    /// The name of the column.
    pub name: String,
    /// As a user would write it.
    pub label: String,
    /// What the query lets the model use.
    pub setting: ModelSetting,
}

/// Where a column that is given out comes from.
#[derive(Debug, Clone, Copy)]
enum Source {
    Input(usize),
    Model { group: usize, place: usize },
}

/// Runs models. See the module's text.
#[derive(Debug, Clone)]
pub struct ModelExec {
    given: Vec<ModelOutput>,
    sources: Vec<Source>,
    groups: Vec<Arc<ModelGroup>>,
    /// The projection that it stands for.
    projection: Arc<dyn ExecutionPlan>,
    input: Arc<dyn ExecutionPlan>,
    metrics: ExecutionPlanMetricsSet,
}

impl ModelExec {
    /// A node that gives out these columns of `input`'s rows.
    pub fn try_new(given: Vec<ModelOutput>, input: Arc<dyn ExecutionPlan>) -> Result<Self> {
        let exprs =
            given.iter().map(|output| ProjectionExpr { expr: Arc::clone(&output.expr), alias: output.name.clone() });
        let projection = Arc::new(ProjectionExec::try_new(exprs.collect::<Vec<_>>(), Arc::clone(&input))?);
        let (mut groups, mut sources): (Vec<ModelGroup>, Vec<Source>) = (vec![], vec![]);
        for (place, output) in given.iter().enumerate() {
            // What is given out twice is computed once.
            if let Some(same) = given[..place].iter().position(|earlier| earlier.expr.eq(&output.expr)) {
                sources.push(sources[same]);
                continue;
            }
            if let Some(column) = output.expr.downcast_ref::<Column>() {
                sources.push(Source::Input(column.index()));
                continue;
            }
            let (call, when) = guarded_call(&output.expr)?;
            let new = ModelGroup::of(call, when, output)?;
            let group = groups.iter().position(|group| group.takes(&new));
            let group = match group {
                Some(group) => {
                    groups[group].join(new);
                    group
                }
                None => {
                    groups.push(new);
                    groups.len() - 1
                }
            };
            sources.push(Source::Model { group, place: groups[group].n_models() - 1 });
        }
        let groups = groups.into_iter().map(Arc::new).collect();
        Ok(Self { given, sources, groups, projection, input, metrics: ExecutionPlanMetricsSet::new() })
    }

    /// The models that run together.
    pub fn groups(&self) -> &[Arc<ModelGroup>] {
        &self.groups
    }

    /// What it is thought to cost for a row.
    pub fn ns_per_row(&self, text_bytes: usize) -> f64 {
        self.groups.iter().map(|group| group.facts().cost.total_ns(1, text_bytes)).sum()
    }

    /// What its models hold together.
    pub fn held_bytes(&self) -> usize {
        self.groups.iter().map(|group| group.facts().held_bytes).sum()
    }

    /// The bytes of a batch that it gathers, of the columns that models read.
    pub fn batch_bytes(&self) -> usize {
        self.groups.iter().map(|group| group.facts().batch.bytes).min().unwrap_or(0)
    }

    /// What it has done so far; may be asked while the query runs.
    pub fn counts(&self) -> ModelCounts {
        ModelCounts::of(&self.metrics.clone_inner())
    }

    /// Its counters, to add what an earlier run has counted.
    pub(in crate::exec) fn metrics_set(&self) -> &ExecutionPlanMetricsSet {
        &self.metrics
    }

    /// Lines for EXPLAIN: each group of models, where it runs and what it takes.
    pub fn notes(&self) -> Vec<String> {
        self.groups.iter().flat_map(|group| group.notes()).collect()
    }
}

/// One partition under way.
struct Running {
    /// `None` once it ended.
    input: Option<SendableRecordBatchStream>,
    worker: Worker,
    baseline: BaselineMetrics,
}

impl Running {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.worker.next_batch(self.input.is_none())? {
                let timer = self.baseline.elapsed_compute().timer();
                let done = self.worker.run(&batch)?;
                timer.done();
                if done.num_rows() > 0 {
                    self.baseline.record_output(done.num_rows());
                    return Ok(Some(done));
                }
                continue;
            }
            let Some(rows) = &mut self.input else { return Ok(None) };
            match rows.next().await.transpose()? {
                Some(batch) => self.worker.gather(batch),
                None => self.input = None,
            }
        }
    }
}

/// A call of a model, and the column that says for which rows it is wanted.
fn guarded_call(expr: &Arc<dyn PhysicalExpr>) -> Result<(ModelCall, Option<usize>)> {
    let refused = || crate::bug!("a node for models is given `{expr}`");
    let (call, when) = match expr.downcast_ref::<CaseExpr>().map(CaseExpr::when_then_expr) {
        _ if is_model_call(expr) => (expr, None),
        Some([(when, call)]) => {
            let when = when.downcast_ref::<Column>().map(Column::index);
            (call, Some(when.ok_or_else(refused)?))
        }
        _ => return Err(refused().into()),
    };
    Ok((ModelCall::of(call.as_ref()).ok_or_else(refused)?, when))
}

impl DisplayAs for ModelExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        let shown = self.given.iter().map(|ModelOutput { name, label, .. }| match name == label {
            false if !name.starts_with(COMPUTED) => format!("{label} AS {name}"),
            _ => label.clone(),
        });
        let shown: Vec<String> = shown.collect();
        write!(f, "ModelExec: {}", shown.join(", "))
    }
}

impl ExecutionPlan for ModelExec {
    fn name(&self) -> &str {
        "ModelExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.projection.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.projection.apply_expressions(f)
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Ok([input]) = <[Arc<dyn ExecutionPlan>; 1]>::try_from(children) else {
            return Err(crate::bug!("a node for models takes one input").into());
        };
        Ok(Arc::new(Self::try_new(self.given.clone(), input)?))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, Arc::clone(&context))?;
        let baseline = BaselineMetrics::new(&self.metrics, partition);
        let rejects = context.session_config().get_extension::<RejectLog>();
        let worker = Worker::new(self, partition, context, rejects);
        let running = Running { input: Some(input), worker, baseline };
        let rows = try_unfold(running, |mut running| async move {
            let batch = running.next().await?;
            Ok::<_, DataFusionError>(batch.map(|batch| (batch, running)))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(&self, inputs: &[Arc<Statistics>], args: &StatisticsArgs) -> Result<Arc<Statistics>> {
        self.projection.statistics_from_inputs(inputs, args)
    }

    /// A row may be set aside.
    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::LowerEqual
    }
}
