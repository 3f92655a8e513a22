//! `ExternalSortExec`: rows in order, however many they are and however large.
//!
//! ```text
//! partition 0: batches ──► held, with their keys ──memory is used up──► sorted run on disk ┐
//!                                                                  ──► sorted run on disk  ┼─ merged ──► batches
//! partition 1: batches ──► held, with their keys ──► sorted in memory                      ┘
//! ```
//! Does what DataFusion's sort and the merge above it do, with one difference: whatever is held, written, read back and given
//! is measured in bytes, not in rows. 8,192 documents of a megabyte are one batch there, of which a merge needs several.
//!
//! Invariant: what is held is claimed from the memory of the run, and goes to disk when that is refused. A merge takes a few
//! batches of each run; runs that are too many for that are merged in several passes. A row that is larger than all of it
//! goes through alone.

mod keys;
mod merge;
mod runs;

use self::keys::SortKeys;
use self::merge::Merge;
use self::runs::{Collector, Runs};
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::physical_expr::{LexOrdering, OrderingRequirements, PhysicalExpr};
use datafusion::physical_plan::common::spawn_buffered;
use datafusion::physical_plan::execution_plan::{Boundedness, CardinalityEffect, EmissionType};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning,
    PlanProperties, ReplaceChildrenOptions, SendableRecordBatchStream,
};
use futures::stream::{once, try_unfold};
use futures::{StreamExt, TryStreamExt};
use std::fmt;
use std::sync::Arc;

/// What comes of the partitions of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sorting {
    /// Each is sorted alone.
    EachPartition,
    /// All become one.
    IntoOne,
    /// They are sorted already, and become one.
    OfSorted,
}

/// Sorts rows. See the module's text.
#[derive(Debug)]
pub struct ExternalSortExec {
    input: Arc<dyn ExecutionPlan>,
    order: LexOrdering,
    sorting: Sorting,
    /// The bytes that a batch given out aims at.
    batch_bytes: usize,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl ExternalSortExec {
    /// Sorts `input`; `None` if rows cannot be compared by such keys.
    pub fn try_new(
        input: Arc<dyn ExecutionPlan>,
        order: LexOrdering,
        sorting: Sorting,
        batch_bytes: usize,
    ) -> Result<Option<Self>> {
        if !SortKeys::can_compare(&order, &input.schema())? {
            return Ok(None);
        }
        let mut equivalence = input.equivalence_properties().clone();
        equivalence.reorder(order.clone())?;
        let partitioning = match sorting {
            Sorting::EachPartition => input.output_partitioning().clone(),
            Sorting::IntoOne | Sorting::OfSorted => Partitioning::UnknownPartitioning(1),
        };
        let properties = PlanProperties::new(equivalence, partitioning, EmissionType::Final, Boundedness::Bounded);
        let (properties, metrics) = (Arc::new(properties), ExecutionPlanMetricsSet::new());
        Ok(Some(Self { input, order, sorting, batch_bytes, properties, metrics }))
    }

    /// The partitions, each of which works while the others do.
    fn sorted_inputs(&self, n_inputs: usize, context: &Arc<TaskContext>) -> Result<Runs> {
        let rows = |input| Ok(spawn_buffered(self.input.execute(input, Arc::clone(context))?, 1));
        let on_disk = (0..n_inputs).map(rows).collect::<Result<_>>()?;
        let reservation = MemoryConsumer::new("ExternalSort").register(context.memory_pool());
        Ok(Runs { in_memory: None, on_disk, reservation })
    }

    fn collector(&self, input: usize, context: &TaskContext) -> Result<Collector> {
        Collector::new(self.schema(), &self.order, (self.batch_bytes, input), context, &self.metrics)
    }
}

impl DisplayAs for ExternalSortExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "ExternalSortExec: {}", self.order)?;
        match self.sorting {
            Sorting::EachPartition => write!(f, ", each partition"),
            Sorting::IntoOne => Ok(()),
            Sorting::OfSorted => write!(f, ", of sorted partitions"),
        }
    }
}

impl ExecutionPlan for ExternalSortExec {
    fn name(&self) -> &str {
        "ExternalSortExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        let mut recursion = TreeNodeRecursion::Continue;
        for key in self.order.iter() {
            recursion = recursion.visit_sibling(|| f(&key.expr))?;
        }
        Ok(recursion)
    }

    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        let is_required = self.sorting == Sorting::OfSorted;
        vec![is_required.then(|| OrderingRequirements::from(self.order.clone()))]
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
            return Err(crate::bug!("a sort takes one input").into());
        };
        match Self::try_new(input, self.order.clone(), self.sorting, self.batch_bytes)? {
            Some(sort) => Ok(Arc::new(sort)),
            None => Err(crate::bug!("the keys of a sort have changed").into()),
        }
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let n_inputs = self.input.output_partitioning().partition_count();
        let inputs = match self.sorting {
            Sorting::EachPartition => partition..partition + 1,
            Sorting::IntoOne => 0..n_inputs,
            Sorting::OfSorted if n_inputs == 1 => return self.input.execute(0, context),
            Sorting::OfSorted => 0..0,
        };
        let sorted = match self.sorting {
            Sorting::OfSorted => Some(self.sorted_inputs(n_inputs, &context)?),
            _ => None,
        };
        let mut collecting = Vec::with_capacity(inputs.len());
        for input in inputs {
            let rows = self.input.execute(input, Arc::clone(&context))?;
            collecting.push(SpawnedTask::spawn(collect(self.collector(input, &context)?, rows)));
        }
        let baseline = BaselineMetrics::new(&self.metrics, partition);
        let schema = self.schema();
        let limits = (context.session_config().batch_size(), self.batch_bytes);
        let (order, result_schema) = (self.order.clone(), schema.clone());
        let merged = once(async move {
            let mut runs = Vec::with_capacity(collecting.len() + 1);
            runs.extend(sorted);
            for collected in collecting {
                runs.push(collected.join().await.map_err(|died| crate::bug!("a sort ended early: {died}"))??);
            }
            let merge = Merge::new(runs, SortKeys::new(&order, &result_schema)?, result_schema, limits).await?;
            Ok::<_, DataFusionError>(try_unfold((merge, baseline), next_batch))
        });
        let batches = merged.try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::Equal
    }
}

type Merging = (Merge, BaselineMetrics);

async fn next_batch((mut merge, baseline): Merging) -> Result<Option<(arrow::array::RecordBatch, Merging)>> {
    let batch = merge.next().await?;
    Ok(batch.map(|batch| {
        baseline.record_output(batch.num_rows());
        (batch, (merge, baseline))
    }))
}

/// Takes all rows of a partition; what is left are sorted runs, few enough to be merged at once.
async fn collect(mut collector: Collector, mut rows: SendableRecordBatchStream) -> Result<Runs> {
    while let Some(batch) = rows.next().await {
        collector.push(batch?)?;
    }
    drop(rows);
    collector.finish().await
}

#[cfg(test)]
mod tests;
