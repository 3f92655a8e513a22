//! The executor that reads a source.
//!
//! ```text
//! files ──threads──► queue of units ──► partition 0: decode, assemble ──► batches
//!                                  └──► partition 1: …
//! ```
//!
//! Invariant: each row of the source comes out of exactly one partition, and the rows of a partition are in the order
//! of the source, so `_seq` ascends within it. Which partition gets a row is not determined.

use super::format::{Counters, FormatReader, RowsIter, Scan, Stop};
use super::lines::block_buffers;
use super::origin::Assembler;
use super::queue::{Capacity, UnitQueue};
use super::rejects::RejectLog;
use super::table::{FileTable, POSITION_COLUMN, SourceColumn};
use crate::Error;
use arrow::array::RecordBatch;
use arrow::compute::SortOptions;
use arrow::datatypes::SchemaRef;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Statistics, internal_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_optimizer::pruning::PruningPredicate;
use datafusion::physical_plan::execution_plan::{
    Boundedness, ChildrenPropertiesMode, EmissionType, ReplaceChildrenOptions,
};
use datafusion::physical_plan::metrics::{BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, SendableRecordBatchStream,
};
use futures::stream::try_unfold;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The most that a thread unpacks of a file whose turn has not come.
const MAX_AHEAD_BYTES: usize = 64 << 20;

/// Reads the files of a source.
#[derive(Debug)]
pub struct FileScanExec {
    table: FileTable,
    projection: Vec<usize>,
    schema: SchemaRef,
    /// No partition needs to give more rows than this.
    fetch: Option<usize>,
    /// What the reader may skip rows by; the filter itself is above the scan.
    predicate: Option<Arc<PruningPredicate>>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
    run: Mutex<RunState>,
}

/// The reading that the partitions share.
#[derive(Debug, Default)]
struct RunState {
    queue: Option<Arc<UnitQueue>>,
    run: Weak<Run>,
    is_taken: Vec<bool>,
}

/// Lives as long as a stream of the reading does; then the reader's threads may end.
#[derive(Debug)]
struct Run(Arc<UnitQueue>);

impl Drop for Run {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl FileScanExec {
    pub(crate) fn try_new(
        table: FileTable,
        projection: Vec<usize>,
        n_partitions: usize,
        fetch: Option<usize>,
    ) -> Result<Self> {
        let schema: SchemaRef = Arc::new(table.schema().project(&projection)?);
        let position = schema.index_of(POSITION_COLUMN).ok().filter(|_| table.extra().position);
        let ordering = position.map(|index| {
            let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(POSITION_COLUMN, index));
            [PhysicalSortExpr::new(column, SortOptions::new(false, false))]
        });
        let properties = PlanProperties::new(
            EquivalenceProperties::new_with_orderings(schema.clone(), ordering),
            Partitioning::UnknownPartitioning(n_partitions),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Ok(Self {
            table,
            projection,
            schema,
            fetch,
            predicate: None,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
            run: Mutex::default(),
        })
    }

    /// Lets the reader skip what cannot satisfy `predicate`.
    pub(crate) fn with_predicate(mut self, predicate: Option<Arc<PruningPredicate>>) -> Self {
        self.predicate = predicate;
        self
    }

    /// The same scan, not yet begun.
    fn fresh(&self, fetch: Option<usize>) -> Result<Self> {
        let scan = Self::try_new(self.table.clone(), self.projection.clone(), self.n_partitions(), fetch)?;
        Ok(scan.with_predicate(self.predicate.clone()))
    }

    /// The table that is read.
    pub fn table(&self) -> &FileTable {
        &self.table
    }

    fn n_partitions(&self) -> usize {
        self.properties.partitioning.partition_count()
    }

    /// What one reader of this scan needs: the reading threads (no partition) or a partition.
    fn scan_of(&self, partition: Option<usize>, context: &TaskContext) -> Scan {
        let counter = |name: &'static str| -> Count {
            let builder = MetricBuilder::new(&self.metrics);
            match partition {
                Some(partition) => builder.counter(name, partition),
                None => builder.global_counter(name),
            }
        };
        let data = |index: &usize| match self.table.columns().get(*index) {
            Some(SourceColumn::Data(column)) => Some(*column),
            _ => None,
        };
        Scan {
            input: self.table.input.clone(),
            projection: self.projection.iter().filter_map(data).collect(),
            predicate: self.predicate.clone(),
            batch_rows: context.session_config().batch_size().max(1),
            batch_bytes: self.table.batch_bytes,
            buffers: block_buffers(self.table.batch_bytes),
            counters: Counters {
                bytes_scanned: counter("bytes_scanned"),
                rejected_rows: counter("rejected_rows"),
                pruned_rows: counter("pruned_rows"),
                log: context.session_config().get_extension::<RejectLog>(),
            },
        }
    }

    /// Joins the reading under way, or begins one.
    fn join_run(&self, partition: usize, context: &TaskContext) -> Result<Arc<Run>> {
        let mut state = self.run.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = state.queue.is_none() || state.is_taken.get(partition).copied().unwrap_or(true);
        if is_new {
            state.queue = Some(self.start(context)?);
            state.is_taken = vec![false; self.n_partitions()];
        }
        state.is_taken[partition] = true;
        let Some(queue) = state.queue.clone() else { return internal_err!("a scan without a queue") };
        match state.run.upgrade().filter(|run| Arc::ptr_eq(&run.0, &queue)) {
            Some(run) => Ok(run),
            None if is_new || queue.is_drained() => {
                let run = Arc::new(Run(queue));
                state.run = Arc::downgrade(&run);
                Ok(run)
            }
            None => internal_err!("partition {partition} of a scan was started after the others were dropped"),
        }
    }

    /// Begins a reading: threads that fill the queue.
    fn start(&self, context: &TaskContext) -> Result<Arc<UnitQueue>> {
        let units = self.n_partitions() + 2;
        let n_lanes = self.table.reader.n_lanes(&self.table.input);
        // Unpacking and decoding cost about the same; with few partitions the one thread is enough.
        let n_threads = (self.n_partitions() / 2).clamp(1, n_lanes.max(1));
        let capacity = Capacity {
            units,
            bytes: units.saturating_mul(self.table.batch_bytes),
            ahead_bytes: (self.table.ahead_bytes / n_threads).min(MAX_AHEAD_BYTES),
        };
        let queue = Arc::new(UnitQueue::new(n_lanes, capacity));
        let scan = Arc::new(self.scan_of(None, context));
        for number in 0..n_threads {
            let (queue, scan, reader) = (queue.clone(), scan.clone(), self.table.reader.clone());
            let read = move || read_lanes(&queue, &scan, reader.as_ref());
            let spawned = std::thread::Builder::new().name("curator-read".into()).spawn(read);
            // Fewer threads read everything too.
            if let (Err(error), 0) = (spawned, number) {
                return Err(Error::Data(format!("cannot start a thread to read with: {error}")).into());
            }
        }
        Ok(queue)
    }
}

/// Fills one lane after the other, until none is left, one fails or nobody wants them.
fn read_lanes(queue: &Arc<UnitQueue>, scan: &Scan, reader: &dyn FormatReader) {
    while let Some(lane) = queue.begin_lane() {
        match reader.produce(scan, &lane) {
            Ok(()) | Err(Stop::Cancelled) => lane.end(None),
            Err(Stop::Failed(error)) => return lane.end(Some(error)),
        }
    }
}

/// One partition at work.
struct PartitionState {
    run: Arc<Run>,
    reader: Arc<dyn FormatReader>,
    scan: Scan,
    assembler: Assembler,
    decoding: Option<RowsIter>,
    rows_left: Option<usize>,
    baseline: BaselineMetrics,
}

impl PartitionState {
    async fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        while self.rows_left != Some(0) {
            let Some(decoding) = &mut self.decoding else {
                match self.run.0.pop().await? {
                    Some(unit) => self.decoding = Some(self.reader.decode(unit, &self.scan)?),
                    None => return Ok(None),
                }
                continue;
            };
            let timer = self.baseline.elapsed_compute().timer();
            let rows = decoding.next().transpose()?;
            let batch = rows.map(|rows| self.assembler.assemble(rows)).transpose()?;
            timer.done();
            match batch {
                Some(batch) if batch.num_rows() > 0 => return Ok(Some(self.cut_to_fetch(batch))),
                Some(_) => {}
                None => self.decoding = None,
            }
        }
        Ok(None)
    }

    fn cut_to_fetch(&mut self, mut batch: RecordBatch) -> RecordBatch {
        if let Some(left) = &mut self.rows_left {
            batch = batch.slice(0, batch.num_rows().min(*left));
            *left -= batch.num_rows();
        }
        self.baseline.record_output(batch.num_rows());
        batch
    }
}

impl DisplayAs for FileScanExec {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.schema.fields().iter().map(|field| field.name().as_str()).collect();
        let (location, format, n_files) = (self.table.location(), self.table.format(), self.table.n_files());
        match t {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                let columns = names.join(", ");
                write!(f, "FileScanExec: '{location}' format={format} files={n_files} columns=[{columns}]")?;
                if let Some(predicate) = &self.predicate {
                    write!(f, " skips_by=[{}]", predicate.orig_expr())?;
                }
                self.fetch.map_or(Ok(()), |fetch| write!(f, " fetch={fetch}"))
            }
            DisplayFormatType::TreeRender => {
                writeln!(f, "location={location}")?;
                writeln!(f, "format={format}")?;
                writeln!(f, "files={n_files}")?;
                writeln!(f, "columns={}", names.join(", "))
            }
        }
    }
}

impl ExecutionPlan for FileScanExec {
    fn name(&self) -> &str {
        "FileScanExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![]
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if children.is_empty() { Ok(self) } else { internal_err!("a scan has no inputs") }
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(self.fresh(self.fetch)?))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if partition >= self.n_partitions() {
            return internal_err!("a scan of {} partitions has no partition {partition}", self.n_partitions());
        }
        let state = PartitionState {
            run: self.join_run(partition, &context)?,
            reader: self.table.reader.clone(),
            scan: self.scan_of(Some(partition), &context),
            assembler: Assembler::new(&self.table, &self.projection, self.schema.clone()),
            decoding: None,
            rows_left: self.fetch,
            baseline: BaselineMetrics::new(&self.metrics, partition),
        };
        let batches = try_unfold(state, |mut state| async move {
            let batch = state.next_batch().await?;
            Ok::<_, DataFusionError>(batch.map(|batch| (batch, state)))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema.clone(), batches)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn statistics_from_inputs(
        &self,
        _input_stats: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        let mut statistics = Statistics::new_unknown(&self.schema);
        let n_parts = if args.partition().is_some() { self.n_partitions() } else { 1 };
        if self.table.input.stdin.is_none() {
            statistics.total_byte_size = Precision::Inexact(self.table.total_bytes() as usize / n_parts);
        }
        Ok(Arc::new(statistics))
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        self.fresh(limit).ok().map(|plan| Arc::new(plan) as Arc<dyn ExecutionPlan>)
    }

    fn fetch(&self) -> Option<usize> {
        self.fetch
    }
}
