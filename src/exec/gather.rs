//! `GatherExec`: the partitions of a scan as one stream, in the order of the input.
//!
//! ```text
//! partition 0: split 0 … split 4 …  ──ahead of its turn──► batches in memory ┐
//! partition 1: split 1 … split 3 …  ──ahead of its turn──► batches in memory ┼──► split 0, 1, 2, 3, …
//! partition 2: split 2 … split 5 …  ──ahead of its turn──► batches in memory ┘
//! ```
//! Does what DataFusion's merge of sorted partitions does, for partitions that hold long runs of neighbours: rows are passed
//! on in the batches that they are in, without a copy, and partitions whose turn has not come work ahead. So it is with the
//! branches of a `UNION ALL`, whose partitions come branch after branch.
//!
//! Invariant: what waits takes at most `ahead_bytes`, and a batch a partition beyond that. The partition whose turn it
//! is never waits for room.

use super::coalesce::slice_bytes;
use arrow::array::{Array, AsArray, Decimal128Array, RecordBatch, UInt64Array};
use arrow::datatypes::{Decimal128Type, UInt64Type};
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::physical_expr::{LexOrdering, OrderingRequirements, PhysicalExpr};
use datafusion::physical_plan::execution_plan::CardinalityEffect;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, ExecutionPlanProperties,
    InputDistributionRequirements, Partitioning, PlanProperties, ReplaceChildrenOptions, SendableRecordBatchStream,
};
use futures::StreamExt;
use futures::stream::try_unfold;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Puts partitions together, in the order of a position. See the module's text.
#[derive(Debug)]
pub struct GatherExec {
    input: Arc<dyn ExecutionPlan>,
    /// Where the position is in the rows; each partition ascends in it.
    position: usize,
    order: LexOrdering,
    ahead_bytes: usize,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl GatherExec {
    /// Gathers `input`, whose partitions are sorted by `order`. It begins with the column `position`, in which no two
    /// partitions have a value in common.
    pub fn new(input: Arc<dyn ExecutionPlan>, position: usize, order: LexOrdering, ahead_bytes: usize) -> Self {
        let properties = PlanProperties::new(
            input.equivalence_properties().clone(),
            Partitioning::UnknownPartitioning(1),
            input.pipeline_behavior(),
            input.boundedness(),
        );
        let (properties, metrics) = (Arc::new(properties), ExecutionPlanMetricsSet::new());
        Self { input, position, order, ahead_bytes, properties, metrics }
    }

    /// What may wait for its turn.
    pub fn ahead_bytes(&self) -> usize {
        self.ahead_bytes
    }
}

impl DisplayAs for GatherExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "GatherExec: {}", self.order)
    }
}

impl ExecutionPlan for GatherExec {
    fn name(&self) -> &str {
        "GatherExec"
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

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        InputDistributionRequirements::new(vec![Distribution::UnspecifiedDistribution])
    }

    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        vec![Some(OrderingRequirements::from(self.order.clone()))]
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
            return Err(crate::bug!("a gathering takes one input").into());
        };
        Ok(Arc::new(Self::new(input, self.position, self.order.clone(), self.ahead_bytes)))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if partition != 0 {
            return Err(crate::bug!("a gathering has one partition").into());
        }
        let n_inputs = self.input.output_partitioning().partition_count();
        if n_inputs == 1 {
            return self.input.execute(0, context);
        }
        let reservation = MemoryConsumer::new("GatherExec").register(context.memory_pool());
        let shared = Arc::new(Shared::new(n_inputs, self.ahead_bytes, reservation));
        let mut working = Vec::with_capacity(n_inputs);
        for number in 0..n_inputs {
            let rows = self.input.execute(number, Arc::clone(&context))?;
            working.push(SpawnedTask::spawn(work_ahead(rows, number, Arc::clone(&shared))));
        }
        let gathering = Gathering {
            shared,
            position: self.position,
            heads: (0..n_inputs).map(|_| Head::Unknown).collect(),
            baseline: BaselineMetrics::new(&self.metrics, 0),
            _working: working,
        };
        let batches = try_unfold(gathering, |mut gathering| async move {
            let batch = gathering.next().await?;
            Ok(batch.map(|batch| (batch, gathering)))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), batches)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::Equal
    }
}

/// What the partitions have ready.
struct Shared {
    state: Mutex<State>,
    /// Something was taken.
    room: Notify,
    /// Something was added.
    arrived: Notify,
    ahead_bytes: usize,
}

struct State {
    queues: Vec<Queue>,
    n_bytes: usize,
    /// Counts what waits against the memory of the run; where that is used up, nothing more is worked ahead.
    reservation: MemoryReservation,
}

#[derive(Default)]
struct Queue {
    batches: VecDeque<(Result<RecordBatch>, usize)>,
    is_ended: bool,
}

impl Shared {
    fn new(n_inputs: usize, ahead_bytes: usize, reservation: MemoryReservation) -> Self {
        let queues = (0..n_inputs).map(|_| Queue::default()).collect();
        let state = Mutex::new(State { queues, n_bytes: 0, reservation });
        Self { state, room: Notify::new(), arrived: Notify::new(), ahead_bytes }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a batch of a partition, or gives it back if there is no room.
    fn try_add(&self, number: usize, batch: Result<RecordBatch>, n_bytes: usize) -> Option<Result<RecordBatch>> {
        let mut state = self.lock();
        let is_needed = state.queues[number].batches.is_empty();
        let has_room = state.n_bytes + n_bytes <= self.ahead_bytes && state.reservation.try_grow(n_bytes).is_ok();
        if !is_needed && !has_room {
            return Some(batch);
        }
        // What is needed is taken even where the memory of the run is used up, and then not counted.
        let counted = if has_room { n_bytes } else { 0 };
        state.n_bytes += counted;
        state.queues[number].batches.push_back((batch, counted));
        self.arrived.notify_one();
        None
    }

    /// The next batch of a partition, `None` after its last.
    async fn take(&self, number: usize) -> Option<Result<RecordBatch>> {
        loop {
            let arrived = self.arrived.notified();
            {
                let mut state = self.lock();
                if let Some((batch, n_bytes)) = state.queues[number].batches.pop_front() {
                    state.n_bytes -= n_bytes;
                    state.reservation.shrink(n_bytes);
                    self.room.notify_waiters();
                    return Some(batch);
                }
                if state.queues[number].is_ended {
                    return None;
                }
            }
            arrived.await;
        }
    }
}

/// Takes the rows of one partition as long as there is room for them.
async fn work_ahead(mut rows: SendableRecordBatchStream, number: usize, shared: Arc<Shared>) {
    // However the partition ends, who gathers must not wait for it.
    let _end = Ends { number, shared: Arc::clone(&shared) };
    while let Some(batch) = rows.next().await {
        let n_bytes = batch.as_ref().map_or(0, slice_bytes);
        let mut waiting = batch;
        loop {
            let room = shared.room.notified();
            tokio::pin!(room);
            room.as_mut().enable();
            match shared.try_add(number, waiting, n_bytes) {
                None => break,
                Some(batch) => waiting = batch,
            }
            room.await;
        }
    }
}

struct Ends {
    number: usize,
    shared: Arc<Shared>,
}

impl Drop for Ends {
    fn drop(&mut self) {
        self.shared.lock().queues[self.number].is_ended = true;
        self.shared.arrived.notify_one();
    }
}

/// The next rows of a partition.
enum Head {
    Unknown,
    Rows(RecordBatch),
    Ended,
}

struct Gathering {
    shared: Arc<Shared>,
    position: usize,
    heads: Vec<Head>,
    baseline: BaselineMetrics,
    /// Dropped with the stream, which ends them.
    _working: Vec<SpawnedTask<()>>,
}

impl Gathering {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        for number in 0..self.heads.len() {
            while matches!(self.heads[number], Head::Unknown) {
                self.heads[number] = match self.shared.take(number).await.transpose()? {
                    Some(batch) if batch.num_rows() == 0 => Head::Unknown,
                    Some(batch) => Head::Rows(batch),
                    None => Head::Ended,
                };
            }
        }
        let _timer = self.baseline.elapsed_compute().timer();
        let mut firsts: Vec<(i128, usize)> = vec![];
        for (number, head) in self.heads.iter().enumerate() {
            if let Head::Rows(batch) = head {
                firsts.push((Positions::of(batch, self.position)?.at(0), number));
            }
        }
        firsts.sort_unstable();
        let Some(&(_, number)) = firsts.first() else { return Ok(None) };
        let Head::Rows(batch) = std::mem::replace(&mut self.heads[number], Head::Unknown) else {
            return Err(crate::bug!("the head of a partition went away").into());
        };
        let n_rows = match firsts.get(1) {
            Some((next, _)) => Positions::of(&batch, self.position)?.n_before(*next),
            None => batch.num_rows(),
        };
        if n_rows < batch.num_rows() {
            // Of equal positions the first comes first; a position is a row's own, so there are none.
            let n_rows = n_rows.max(1);
            self.heads[number] = Head::Rows(batch.slice(n_rows, batch.num_rows() - n_rows));
            self.baseline.record_output(n_rows);
            return Ok(Some(batch.slice(0, n_rows)));
        }
        self.baseline.record_output(n_rows);
        Ok(Some(batch))
    }
}

/// The positions of rows: of one source, or among the rows of all branches of a union.
enum Positions<'a> {
    OfSource(&'a UInt64Array),
    OfUnion(&'a Decimal128Array),
}

impl<'a> Positions<'a> {
    fn of(batch: &'a RecordBatch, column: usize) -> Result<Self> {
        let column = batch.column(column);
        let of_source = || column.as_primitive_opt::<UInt64Type>().map(Self::OfSource);
        let of_union = || column.as_primitive_opt::<Decimal128Type>().map(Self::OfUnion);
        let positions = of_source().or_else(of_union).filter(|_| column.null_count() == 0);
        positions.ok_or_else(|| crate::bug!("a position is not a whole number").into())
    }

    fn at(&self, row: usize) -> i128 {
        match self {
            Self::OfSource(positions) => i128::from(positions.value(row)),
            Self::OfUnion(positions) => positions.value(row),
        }
    }

    /// How many of the ascending positions are before this one.
    fn n_before(&self, next: i128) -> usize {
        match self {
            Self::OfSource(positions) => positions.values().partition_point(|position| i128::from(*position) < next),
            Self::OfUnion(positions) => positions.values().partition_point(|position| *position < next),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use arrow::compute::SortOptions;
    use arrow::datatypes::{DataType, Field, Schema};
    use datafusion::datasource::memory::MemorySourceConfig;
    use datafusion::physical_expr::PhysicalSortExpr;
    use datafusion::physical_expr::expressions::Column;
    use datafusion::physical_plan::collect;
    use datafusion::prelude::SessionContext;

    fn gather(partitions: &[&[&[u64]]], ahead_bytes: usize) -> Vec<Vec<u64>> {
        let schema = Arc::new(Schema::new(vec![Field::new("_seq", DataType::UInt64, false)]));
        let batch = |values: &&[u64]| {
            RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(UInt64Array::from(values.to_vec()))]).unwrap()
        };
        let partitions: Vec<Vec<RecordBatch>> =
            partitions.iter().map(|batches| batches.iter().map(batch).collect()).collect();
        let source = MemorySourceConfig::try_new_exec(&partitions, Arc::clone(&schema), None).unwrap();
        let key = PhysicalSortExpr::new(Arc::new(Column::new("_seq", 0)), SortOptions::new(false, false));
        let plan = GatherExec::new(source, 0, LexOrdering::new([key]).unwrap(), ahead_bytes);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let batches = runtime.block_on(collect(Arc::new(plan), SessionContext::new().task_ctx())).unwrap();
        let values = |batch: &RecordBatch| batch.column(0).as_primitive::<UInt64Type>().values().to_vec();
        batches.iter().map(values).collect()
    }

    #[test]
    fn rows_come_in_order_in_the_batches_they_are_in() {
        for ahead_bytes in [0, 20, 1 << 20] {
            let gathered = gather(&[&[&[0, 1], &[2], &[30, 31]], &[], &[&[10, 11, 12], &[], &[40]]], ahead_bytes);
            assert_eq!(gathered, [vec![0, 1], vec![2], vec![10, 11, 12], vec![30, 31], vec![40]]);
        }
    }

    #[test]
    fn positions_of_a_union_are_compared_as_those_of_a_source() {
        let positions = Decimal128Array::from(vec![3, 1 << 64, 2 << 64]).with_precision_and_scale(38, 0).unwrap();
        let batch = RecordBatch::try_from_iter([("_seq_2", Arc::new(positions) as _)]).unwrap();
        let positions = Positions::of(&batch, 0).unwrap();
        assert_eq!((positions.at(1), positions.n_before(2 << 64)), (1 << 64, 2));
    }

    #[test]
    fn a_batch_that_holds_two_splits_is_cut_between_them() {
        let gathered = gather(&[&[&[0, 1, 20, 21]], &[&[10, 11, 30]]], 1 << 20);
        assert_eq!(gathered, [vec![0, 1], vec![10, 11], vec![20, 21], vec![30]]);
    }
}
