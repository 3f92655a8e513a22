//! The rows of one partition as sorted runs: held in memory as long as there is some, then on disk.

use super::keys::{SortKeys, bytes_per_row};
use super::merge::Merge;
use arrow::array::RecordBatch;
use arrow::compute::interleave;
use arrow::datatypes::SchemaRef;
use arrow::row::Rows;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryReservation};
use datafusion::execution::spill_file::SpillFile;
use datafusion::physical_expr::LexOrdering;
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, SpillMetrics};
use datafusion::physical_plan::{SendableRecordBatchStream, SpillManager};
use std::sync::{Arc, Mutex, PoisonError};

/// Batches of runs are not smaller than this.
const LEAST_BATCH_BYTES: usize = 64 << 10;
/// A merge holds of each run one batch, its keys, one that was merged before, and one that is read.
const BATCHES_PER_RUN: usize = 4;

/// Batches from this size on are sorted and written by one partition at a time: they cannot be held beside each other.
const LONG_BYTES: usize = 8 << 20;
static LONG_BATCHES: Mutex<()> = Mutex::new(());

/// A batch that is held, and what its rows are compared by.
struct Held {
    batch: RecordBatch,
    keys: Rows,
    row_bytes: Vec<u32>,
}

/// A batch of sorted rows: their order is known, so their keys are gone.
struct Sorted {
    batch: RecordBatch,
    row_bytes: Vec<u32>,
    key_bytes: Vec<u32>,
}

/// Rows in memory, in order.
pub(super) struct SortedRows {
    held: Vec<Sorted>,
    /// The batch of each row, and its place there.
    order: Vec<(u32, u32)>,
    schema: SchemaRef,
    n_given: usize,
    batch_rows: usize,
    batch_bytes: usize,
}

/// Rows on disk, in order.
#[derive(Clone)]
pub(super) struct SpilledRun {
    file: Arc<dyn SpillFile>,
    /// The largest of its batches, with its keys.
    max_batch_bytes: usize,
}

/// What is left of a partition: its rows in order, and the memory that is claimed for merging them.
pub(super) struct Runs {
    pub in_memory: Option<SortedRows>,
    /// Or where else sorted batches come from one after the other.
    pub on_disk: Vec<SendableRecordBatchStream>,
    pub reservation: MemoryReservation,
}

/// Takes the rows of one partition.
pub(super) struct Collector {
    schema: SchemaRef,
    order: LexOrdering,
    keys: SortKeys,
    held: Vec<Held>,
    runs: Vec<SpilledRun>,
    reservation: MemoryReservation,
    spill: SpillManager,
    batch_bytes: usize,
    batch_rows: usize,
}

impl Collector {
    pub fn new(
        schema: SchemaRef,
        order: &LexOrdering,
        (batch_bytes, input): (usize, usize),
        context: &TaskContext,
        metrics: &ExecutionPlanMetricsSet,
    ) -> Result<Self> {
        let name = format!("ExternalSort[{input}]");
        let reservation = MemoryConsumer::new(name).with_can_spill(true).register(context.memory_pool());
        let spill_metrics = SpillMetrics::new(metrics, input);
        let spill = SpillManager::new(context.runtime_env(), spill_metrics, schema.clone());
        let batch_bytes = match context.memory_pool().memory_limit() {
            // Some dozens of runs can be merged at once.
            MemoryLimit::Finite(limit) => {
                batch_bytes.min(limit / context.session_config().target_partitions().max(1) / 64).max(LEAST_BATCH_BYTES)
            }
            _ => batch_bytes,
        };
        Ok(Self {
            keys: SortKeys::new(order, &schema)?,
            schema,
            order: order.clone(),
            held: vec![],
            runs: vec![],
            reservation,
            spill: spill.with_batch_read_buffer_capacity(1),
            batch_bytes,
            batch_rows: context.session_config().batch_size(),
        })
    }

    /// Adds the next rows.
    pub fn push(&mut self, batch: RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let row_bytes = bytes_per_row(&batch);
        let is_long = row_bytes.iter().map(|bytes| *bytes as usize).sum::<usize>() >= LONG_BYTES;
        let _alone = is_long.then(|| LONG_BATCHES.lock().unwrap_or_else(PoisonError::into_inner));
        let held = Held { keys: self.keys.of(&batch)?, row_bytes, batch };
        let n_bytes = held.n_bytes();
        if self.reservation.try_grow(n_bytes).is_err() {
            self.spill()?;
            if self.reservation.try_grow(n_bytes).is_err() {
                // It is larger than the share of this sort: it goes through alone.
                self.held.push(held);
                return self.spill();
            }
        }
        self.held.push(held);
        Ok(())
    }

    /// Writes what is held to disk.
    fn spill(&mut self) -> Result<()> {
        let Some(mut rows) = self.take_sorted() else { return Ok(()) };
        let mut file = self.spill.create_in_progress_file("sorted rows")?;
        let mut max_batch_bytes = 0;
        while let Some((batch, key_bytes)) = rows.next_with_keys()? {
            let n_bytes = file.append_batch(&batch)?;
            max_batch_bytes = max_batch_bytes.max(n_bytes + key_bytes);
        }
        if let Some(file) = file.finish()? {
            self.runs.push(SpilledRun { file, max_batch_bytes });
        }
        drop(rows);
        self.reservation.free();
        Ok(())
    }

    fn take_sorted(&mut self) -> Option<SortedRows> {
        let held = std::mem::take(&mut self.held);
        (!held.is_empty()).then(|| SortedRows::new(held, self.schema.clone(), (self.batch_rows, self.batch_bytes)))
    }

    /// No more rows come.
    pub async fn finish(mut self) -> Result<Runs> {
        if self.runs.is_empty() {
            let in_memory = self.take_sorted();
            return Ok(Runs { in_memory, on_disk: vec![], reservation: self.reservation });
        }
        self.spill()?;
        // Neighbours are merged, so that the runs stay in the order in which their rows came.
        while let Some(most) = self.too_many() {
            let n_runs = self.runs.len();
            // A few too many are made one; else each of them is merged with others once, and not the first again and again.
            let at_once = if n_runs < 2 * most { n_runs - most + 1 } else { most };
            let mut rest = std::mem::take(&mut self.runs).into_iter();
            loop {
                let group: Vec<SpilledRun> = rest.by_ref().take(at_once).collect();
                match group.len() {
                    0 => break,
                    1 => self.runs.extend(group),
                    _ => self.runs.push(self.merged(group).await?),
                }
                if n_runs < 2 * most {
                    self.runs.extend(rest.by_ref());
                }
            }
        }
        let open = |run: SpilledRun| self.spill.read_spill_as_stream(run.file, None);
        let on_disk = std::mem::take(&mut self.runs).into_iter().map(open).collect::<Result<_>>()?;
        Ok(Runs { in_memory: None, on_disk, reservation: self.reservation })
    }

    /// Claims memory to merge all runs; if there is not enough, how many of them there is some for.
    fn too_many(&self) -> Option<usize> {
        self.reservation.free();
        for (n_runs, run) in self.runs.iter().enumerate() {
            if n_runs >= 2 && self.reservation.try_grow(run.merge_bytes()).is_err() {
                return Some(n_runs);
            }
            if n_runs < 2 {
                // Two can always be merged: there is no other way.
                self.reservation.grow(run.merge_bytes());
            }
        }
        None
    }

    /// Makes one run of several.
    async fn merged(&self, group: Vec<SpilledRun>) -> Result<SpilledRun> {
        let open = |run: SpilledRun| self.spill.read_spill_as_stream(run.file, None);
        let on_disk = group.into_iter().map(open).collect::<Result<_>>()?;
        let runs = Runs { in_memory: None, on_disk, reservation: self.reservation.new_empty() };
        let keys = SortKeys::new(&self.order, &self.schema)?;
        let limits = (self.batch_rows, self.batch_bytes);
        let mut merge = Merge::new(vec![runs], keys, self.schema.clone(), limits).await?;
        let mut file = self.spill.create_in_progress_file("merged runs")?;
        let mut max_batch_bytes = 0;
        while let Some(batch) = merge.next().await? {
            let n_bytes = file.append_batch(&batch)?;
            max_batch_bytes = max_batch_bytes.max(n_bytes + self.keys.of(&batch)?.size());
        }
        match file.finish()? {
            Some(file) => Ok(SpilledRun { file, max_batch_bytes }),
            None => Err(crate::bug!("merged runs had no rows").into()),
        }
    }
}

impl SpilledRun {
    fn merge_bytes(&self) -> usize {
        self.max_batch_bytes.saturating_mul(BATCHES_PER_RUN)
    }
}

impl Held {
    fn without_keys(self) -> Sorted {
        let key_bytes = self.keys.iter().map(|key| key.as_ref().len() as u32).collect();
        Sorted { batch: self.batch, row_bytes: self.row_bytes, key_bytes }
    }

    fn n_bytes(&self) -> usize {
        // Each row is also sorted by a place of 8 bytes.
        let row_bytes: usize = self.row_bytes.iter().map(|bytes| *bytes as usize).sum();
        row_bytes + self.keys.size() + 12 * self.batch.num_rows()
    }
}

impl SortedRows {
    fn new(held: Vec<Held>, schema: SchemaRef, (batch_rows, batch_bytes): (usize, usize)) -> Self {
        let mut order: Vec<(u32, u32)> = Vec::with_capacity(held.iter().map(|held| held.batch.num_rows()).sum());
        for (number, held) in held.iter().enumerate() {
            order.extend((0..held.batch.num_rows() as u32).map(|row| (number as u32, row)));
        }
        let key = |&(batch, row): &(u32, u32)| held[batch as usize].keys.row(row as usize);
        // Of equal rows the one that came first comes first.
        order.sort_unstable_by(|a, b| key(a).cmp(&key(b)).then_with(|| a.cmp(b)));
        let held = held.into_iter().map(Held::without_keys).collect();
        Self { held, order, schema, n_given: 0, batch_rows, batch_bytes }
    }

    /// The next rows.
    pub fn next(&mut self) -> Result<Option<RecordBatch>> {
        Ok(self.next_with_keys()?.map(|(batch, _)| batch))
    }

    /// The same, and the bytes that their keys have.
    fn next_with_keys(&mut self) -> Result<Option<(RecordBatch, usize)>> {
        let rest = &self.order[self.n_given..];
        let (mut n_rows, mut n_bytes) = (0, 0);
        for (batch, row) in rest {
            n_bytes += self.held[*batch as usize].row_bytes[*row as usize] as usize;
            if n_rows > 0 && (n_bytes > self.batch_bytes || n_rows >= self.batch_rows) {
                break;
            }
            n_rows += 1;
        }
        if n_rows == 0 {
            return Ok(None);
        }
        let places: Vec<(usize, usize)> =
            rest[..n_rows].iter().map(|(batch, row)| (*batch as usize, *row as usize)).collect();
        // Each key also has a place of 8 bytes.
        let key_bytes = places.iter().map(|&(batch, row)| self.held[batch].key_bytes[row] as usize + 8).sum();
        self.n_given += n_rows;
        let batches: Vec<&RecordBatch> = self.held.iter().map(|held| &held.batch).collect();
        Ok(Some((rows_of(&self.schema, &batches, &places)?, key_bytes)))
    }
}

/// Rows of several batches as one. A row that is a batch by itself is not copied: it may be a long document.
pub(super) fn rows_of(schema: &SchemaRef, batches: &[&RecordBatch], places: &[(usize, usize)]) -> Result<RecordBatch> {
    if let [(batch, _)] = places
        && batches[*batch].num_rows() == 1
    {
        return Ok(RecordBatch::try_new(Arc::clone(schema), batches[*batch].columns().to_vec())?);
    }
    let column = |column: usize| {
        let columns: Vec<_> = batches.iter().map(|batch| batch.column(column).as_ref()).collect();
        interleave(&columns, places)
    };
    let columns = (0..schema.fields().len()).map(column).collect::<Result<_, _>>()?;
    Ok(RecordBatch::try_new(Arc::clone(schema), columns)?)
}
