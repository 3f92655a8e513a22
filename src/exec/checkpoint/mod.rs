//! `CheckpointExec`: the rows of a scan and of what is done to each row alone, kept unit by unit, so that a later attempt of
//! the same run need not read and compute them again.
//!
//! ```text
//!                 ┌─ unit 0: kept by an earlier attempt ──► rows, rejects, dropped rows, counts from disk ─┐
//! units ──taken───┼─ unit 1: kept …                                                                        ├──► rows
//! in their order  └─ unit 2: scan ► rules ──► rows ──► also into a file; when all have come, a record ─────┘
//! ```
//! A unit is some neighbouring splits of the source. The same plan is run for each unit, with a configuration that names its
//! splits ([`SplitShare`](crate::sources::SplitShare)) and has its own log of rejects and drop ledger, which pass on what
//! they are told and keep it. What comes after the chain (a `DEDUP`, a join, the output) is done again from the rows.
//!
//! Invariant: a partition gives the rows of whole units, in ascending order; the rows of a unit are the same whether it was
//! kept or not. A run that keeps nothing (`EXPLAIN ANALYZE`, a query without `INTO`) has the chain's own partitions.
//! Not here: where kept files are (`store::kept`), whose they are (`session::journal`), which chains are kept
//! (`physical::CheckpointSplits`).

mod counts;
mod drops;
mod run;
mod stage;
mod unit;

pub(in crate::exec) use drops::{KeptDropWriter, KeptDrops};
use run::Part;
pub use run::{CheckpointedChain, Checkpoints, Shard};
pub use stage::KeptStage;

use arrow::array::RecordBatch;
use datafusion::common::Statistics;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::execution_plan::CardinalityEffect;
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricBuilder, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildStats, ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties,
    PlanProperties, ReplaceChildrenOptions, SendableRecordBatchStream, StatisticsArgs,
};
use futures::stream::{select_all, try_unfold};
use futures::{StreamExt, TryStreamExt};
use std::fmt;
use std::sync::Arc;
use unit::Worker;

/// Bytes of the source that need not be read, because an earlier attempt has kept what they gave.
pub const BYTES_KEPT: &str = "bytes_kept";

/// Keeps the rows of a chain. See the module's text.
#[derive(Debug)]
pub struct CheckpointExec {
    input: Arc<dyn ExecutionPlan>,
    chain: CheckpointedChain,
    metrics: ExecutionPlanMetricsSet,
}

impl CheckpointExec {
    /// Keeps the rows of `input`, a scan of files below nodes that look at each row alone.
    pub fn new(input: Arc<dyn ExecutionPlan>, chain: CheckpointedChain) -> Self {
        Self { input, chain, metrics: ExecutionPlanMetricsSet::new() }
    }

    /// Whether a run keeps what such nodes give.
    pub fn keeps(context: &TaskContext) -> bool {
        let checkpoints = context.session_config().get_extension::<Checkpoints>();
        checkpoints.is_some_and(|checkpoints| !checkpoints.only_keeps())
    }

    /// The rows that a partition has given, all of them, once more.
    pub fn given_again(
        &self,
        partition: usize,
        context: &TaskContext,
    ) -> crate::Result<impl Iterator<Item = crate::Result<RecordBatch>> + Send + use<>> {
        let checkpoints = context.session_config().get_extension::<Checkpoints>();
        let checkpoints = checkpoints.ok_or_else(|| crate::bug!("rows were asked for that nobody kept"))?;
        let part = checkpoints.part(&self.chain)?;
        let units = part.given_by(partition);
        Ok(units.into_iter().flat_map(move |number| unit::rows_of(&part, number)))
    }
}

/// The nodes of a plan whose work is kept.
pub fn checkpoints_of(plan: &Arc<dyn ExecutionPlan>) -> Vec<Arc<dyn ExecutionPlan>> {
    match plan.is::<CheckpointExec>() {
        true => vec![Arc::clone(plan)],
        false => plan.children().into_iter().flat_map(checkpoints_of).collect(),
    }
}

/// The chains of a plan whose work is kept.
pub fn checkpointed_chains(plan: &Arc<dyn ExecutionPlan>) -> Vec<CheckpointedChain> {
    let nodes = checkpoints_of(plan);
    nodes.iter().filter_map(|node| node.downcast_ref::<CheckpointExec>()).map(|node| node.chain.clone()).collect()
}

/// Does the work of a plan that can be kept, and nothing else; no rows come.
pub fn keep_only(plan: &Arc<dyn ExecutionPlan>, context: &Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
    let mut partitions = vec![];
    for node in checkpoints_of(plan) {
        for partition in 0..node.output_partitioning().partition_count() {
            let rows = node.execute(partition, Arc::clone(context))?;
            let work = datafusion::common::runtime::SpawnedTask::spawn(rows.try_for_each(|_| async { Ok(()) }));
            let done = async move { work.join().await.map_err(|error| crate::bug!("a unit died: {error}"))? };
            let nothing = futures::stream::once(done).try_filter_map(|()| async { Ok(None) });
            partitions.push(nothing.boxed());
        }
    }
    Ok(Box::pin(RecordBatchStreamAdapter::new(plan.schema(), select_all(partitions))))
}

impl DisplayAs for CheckpointExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "CheckpointExec: kept in {} units until the run is committed", self.chain.n_units)
    }
}

impl ExecutionPlan for CheckpointExec {
    fn name(&self) -> &str {
        "CheckpointExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
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
            return Err(crate::bug!("a checkpoint takes one input").into());
        };
        Ok(Arc::new(Self::new(input, self.chain.clone())))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let Some(checkpoints) = context.session_config().get_extension::<Checkpoints>() else {
            return self.input.execute(partition, context);
        };
        let worker = Worker {
            chain: Arc::clone(&self.input),
            part: checkpoints.part(&self.chain)?,
            checkpoints,
            partition,
            context,
            unit: None,
            bytes_kept: MetricBuilder::new(&self.metrics).counter(BYTES_KEPT, partition),
        };
        // Nodes nearer to the source come first in the ledger, though their units begin later.
        drop(worker.drop_writers()?);
        let batches = try_unfold(worker, |mut worker| async move {
            let batch = worker.next().await?;
            Ok(batch.map(|batch| (batch, worker)))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), batches)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(&self, inputs: &[Arc<Statistics>], _args: &StatisticsArgs) -> Result<Arc<Statistics>> {
        inputs.first().cloned().ok_or_else(|| crate::bug!("statistics of no input").into())
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::Equal
    }
}
