//! The executor that reads a source.
//!
//! ```text
//! splits ──handed out in order──► partition 0: a thread reads the split ──► queue of units ──► decode, assemble ──► batches
//!                             └─► partition 1: …
//! ```
//! Where splits are few or one is large, several partitions decode the units of one split (`handout.rs`).
//!
//! Invariant: each row of the source comes out of exactly one partition, and the rows of a partition are in the order
//! of the source, so `_seq` ascends within it. Which ones they are is not determined.

use super::discover::SourceFile;
use super::format::{Counters, RowsIter, Scan, Stop, Unit};
use super::handout::{Handout, Reading, Taken};
use super::held::window_bytes;
use super::lines::block_buffers;
use super::origin::Assembler;
use super::queue::{Capacity, UnitQueue};
use super::rejects::RejectLog;
use super::spec::Compression;
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
use datafusion::execution::memory_pool::MemoryLimit;
use datafusion::logical_expr::Expr;
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
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

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
    /// What the predicate was made of.
    filters: Vec<Expr>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
    run: Mutex<RunState>,
}

/// The reading under way.
#[derive(Debug, Default)]
struct RunState {
    /// Held for the partitions that have not started: what nobody has taken belongs to them.
    handout: Option<Arc<Handout>>,
    is_started: Vec<bool>,
}

/// The splits that an execution is to read, in ascending order, and no others. Put it into the configuration of a task as an
/// extension: each partition that runs there reads all of them, alone.
#[derive(Debug, Clone)]
pub struct SplitShare(pub Arc<[usize]>);

impl From<Range<usize>> for SplitShare {
    fn from(splits: Range<usize>) -> Self {
        Self(splits.collect())
    }
}

/// What an allocator keeps of the blocks, columns and threads of a partition that are gone, in blocks: measured with sixteen
/// partitions of JSON Lines, which took 15 MB each with blocks of 1 MB.
const N_KEPT_BLOCKS: usize = 9;

/// What reading holds for a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanBuffers {
    /// Blocks under way.
    pub n_blocks: usize,
    /// What each aims at.
    pub block_bytes: usize,
    /// What unpacking holds beside them.
    pub window_bytes: usize,
}

impl FileScanExec {
    pub(crate) fn try_new(
        table: FileTable,
        projection: Vec<usize>,
        n_partitions: usize,
        fetch: Option<usize>,
    ) -> Result<Self> {
        let schema: SchemaRef = Arc::new(table.schema().project(&projection)?);
        let n_partitions = n_partitions.max(1);
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
            filters: Vec::new(),
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
            run: Mutex::default(),
        })
    }

    /// Lets the reader skip what cannot satisfy `predicate`, which all of `filters` together are.
    pub(crate) fn with_predicate(mut self, predicate: Option<Arc<PruningPredicate>>, filters: Vec<Expr>) -> Self {
        (self.predicate, self.filters) = (predicate, filters);
        self
    }

    /// The same scan, not yet begun.
    fn fresh(&self, fetch: Option<usize>) -> Result<Self> {
        let scan = Self::try_new(self.table.clone(), self.projection.clone(), self.n_partitions(), fetch)?;
        Ok(scan.with_predicate(self.predicate.clone(), self.filters.clone()))
    }

    /// The table that is read.
    pub fn table(&self) -> &FileTable {
        &self.table
    }

    /// How many splits the source is cut into.
    pub fn n_splits(&self) -> usize {
        self.table.input.splits.ranges.len()
    }

    /// A hash of where the source is cut.
    pub fn cuts(&self) -> crate::Result<String> {
        self.table.cuts()
    }

    /// The splits of a partition that runs alone. Each split is in one partition, and they ascend from one to the next.
    ///
    /// Partitions that run together take splits as they come to them, and decode some together.
    pub fn splits_of(&self, partition: usize) -> Range<usize> {
        let first = |partition: usize| (self.n_splits() * partition).div_ceil(self.n_partitions());
        first(partition)..first(partition + 1)
    }

    /// What reading holds for each partition.
    pub fn buffers(&self) -> ScanBuffers {
        // Those that wait, one that is filled, one that is decoded, and what comes of it.
        let n_blocks = capacity(&self.table, 1).units + 3 + N_KEPT_BLOCKS;
        let window_bytes = self.table.input.files.iter().map(window_bytes_of).max().unwrap_or(0);
        ScanBuffers { n_blocks, block_bytes: self.table.batch_bytes, window_bytes }
    }

    /// Its counters, to add what an earlier run has counted.
    pub(crate) fn metrics_set(&self) -> &ExecutionPlanMetricsSet {
        &self.metrics
    }

    pub(super) fn projection(&self) -> &[usize] {
        &self.projection
    }

    pub(super) fn filters(&self) -> &[Expr] {
        &self.filters
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
            wants_lines: self
                .projection
                .iter()
                .any(|index| self.table.columns().get(*index) == Some(&SourceColumn::Line)),
            predicate: self.predicate.clone(),
            batch_rows: context.session_config().batch_size().max(1),
            batch_bytes: self.table.batch_bytes,
            max_group_bytes: max_group_bytes(context),
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
    ///
    /// The streams before may be dropped by then (a join whose other side is empty does so): the splits they took are gone
    /// with them, and the rest is for the partitions that start later.
    fn join_run(&self, partition: usize) -> Arc<Handout> {
        let mut state = self.run.lock().unwrap_or_else(PoisonError::into_inner);
        let started_before = state.is_started.get(partition).copied().unwrap_or(false);
        let handout = match state.handout.take() {
            Some(handout) if !started_before => handout,
            // The same plan runs once more, from the start.
            _ => {
                state.is_started = vec![false; self.n_partitions()];
                Arc::new(self.handout(0..self.n_splits()))
            }
        };
        state.is_started[partition] = true;
        if !state.is_started.iter().all(|is_started| *is_started) {
            state.handout = Some(handout.clone());
        }
        handout
    }

    fn handout(&self, splits: impl IntoIterator<Item = usize>) -> Handout {
        let input = &self.table.input;
        Handout::of(splits, self.n_partitions(), input.splits.sizes(&input.files))
    }

    /// The readings as their threads hold them.
    #[cfg(test)]
    pub(super) fn readings(&self) -> Vec<std::sync::Weak<UnitQueue>> {
        let state = self.run.lock().unwrap_or_else(PoisonError::into_inner);
        state.handout.as_ref().map_or_else(Vec::new, |handout| handout.readings())
    }
}

/// What a batch of a file may take in memory: as much as there is, and never so little that ordinary files are refused.
fn max_group_bytes(context: &TaskContext) -> u64 {
    const LEAST_BYTES: usize = 256 << 20;
    match context.memory_pool().memory_limit() {
        MemoryLimit::Finite(limit_bytes) => limit_bytes.max(LEAST_BYTES) as u64,
        _ => 1 << 36,
    }
}

/// What it takes to unpack a file, as far as its name tells.
fn window_bytes_of(file: &SourceFile) -> usize {
    Compression::of_file_name(&file.name).1.map_or(0, |packed| window_bytes(Some(packed)))
}

/// What may wait for so many partitions.
fn capacity(table: &FileTable, n_decoders: usize) -> Capacity {
    let units = n_decoders + 1;
    Capacity { units, bytes: units.saturating_mul(table.batch_bytes) }
}

/// Begins to read a split: a thread that fills a queue.
fn start(table: &FileTable, split: usize, scan: Arc<Scan>) -> Result<Reading> {
    let (queue, sender) = UnitQueue::new(capacity(table, 1));
    let pieces = table.input.splits.ranges[split].clone();
    let reader = table.reader.clone();
    let read = move || match reader.produce(&scan, pieces, &sender) {
        Ok(()) | Err(Stop::Cancelled) => sender.end(None),
        Err(Stop::Failed(error)) => sender.end(Some(error)),
    };
    match std::thread::Builder::new().name("curator-read".into()).spawn(read) {
        Ok(_) => Ok(Reading(queue)),
        Err(error) => Err(Error::Data(format!("cannot start a thread to read with: {error}")).into()),
    }
}

/// One partition at work.
struct PartitionState {
    table: FileTable,
    handout: Arc<Handout>,
    /// What threads that read splits report to.
    reading_scan: Arc<Scan>,
    scan: Scan,
    /// The split that it decodes or has decoded last.
    split: Option<usize>,
    reading: Option<Arc<Reading>>,
    assembler: Assembler,
    decoding: Option<RowsIter>,
    rows_left: Option<usize>,
    baseline: BaselineMetrics,
}

impl PartitionState {
    async fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        while self.rows_left != Some(0) {
            let Some(decoding) = &mut self.decoding else {
                match self.next_unit().await? {
                    Some(unit) => self.decoding = Some(self.table.reader.decode(unit, &self.scan)?),
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

    /// The next unit of the split under way, or of the next one.
    async fn next_unit(&mut self) -> Result<Option<Unit>> {
        loop {
            if let Some(reading) = &self.reading {
                if let Some(unit) = reading.0.pop().await? {
                    return Ok(Some(unit));
                }
                self.reading = None;
            }
            match self.next_reading()? {
                Some(reading) => self.reading = Some(reading),
                None => return Ok(None),
            }
        }
    }

    fn next_reading(&mut self) -> Result<Option<Arc<Reading>>> {
        let start = |split: usize| start(&self.table, split, self.reading_scan.clone());
        let Some(Taken { split, reading, n_decoders }) = self.handout.next(self.split, start)? else {
            return Ok(None);
        };
        reading.0.widen(capacity(&self.table, n_decoders));
        self.split = Some(split);
        Ok(Some(reading))
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
        let n_splits = self.table.input.splits.ranges.len();
        let splits = if n_splits > 1 { format!(" splits={n_splits}") } else { String::new() };
        match t {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                let columns = names.join(", ");
                write!(f, "FileScanExec: '{location}' format={format} files={n_files}{splits} columns=[{columns}]")?;
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
        let share = context.session_config().get_extension::<SplitShare>();
        let handout = match &share {
            Some(share) => Arc::new(self.handout(share.0.iter().copied())),
            None => self.join_run(partition),
        };
        let state = PartitionState {
            table: self.table.clone(),
            handout,
            // What is read for a share is counted with it.
            reading_scan: Arc::new(self.scan_of(share.map(|_| partition), &context)),
            scan: self.scan_of(Some(partition), &context),
            split: None,
            reading: None,
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
