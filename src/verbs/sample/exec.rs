//! The choosing of a sample: keeps a part of the rows, the same part whatever the threads and batches.
//!
//! ```text
//! p PERCENT   partitions ──► each row by its own number ──► partitions
//! n ROWS      partitions ──► rows that may be in the sample, and all numbers in one heap ──► when all are read ──► partitions
//! ```
//! A row has the number `hash(seed, position)`; where rows come in an order that is no position, its place there counts. A
//! percentage keeps the rows whose number lies in that part of all numbers; `n ROWS` keeps the `n` rows with the smallest
//! numbers. So a larger sample holds every smaller one.
//!
//! Invariant: rows stay in their partition and in its order. For `n ROWS` only the rows that are in the sample so far are held,
//! their bytes claimed from the memory of the run; where that is used up, they go to a temporary file, and of its rows those
//! that are still in the sample are picked when all have been read.

use super::verb::{Sample, SampleAmount};
use crate::dedup::Budget;
use crate::exec::slice_bytes;
use crate::verb::{RowOrder, SetOperator, Start, Verb};
use crate::verbs::budget::PoolBudget;
use crate::verbs::documents::Spool;
use crate::verbs::row_keys::{Key, RowKeys};
use arrow::array::{BooleanArray, RecordBatch, UInt64Array};
use arrow::compute::{concat_batches, filter_record_batch, take_record_batch};
use arrow::datatypes::SchemaRef;
use datafusion::common::runtime::SpawnedTask;
use datafusion::error::{DataFusionError, Result};
use datafusion::physical_plan::execution_plan::EmissionType;
use datafusion::physical_plan::metrics::{BaselineMetrics, MetricBuilder};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, SendableRecordBatchStream};
use futures::{FutureExt, StreamExt, TryStreamExt};
use std::collections::BinaryHeap;
use std::sync::{Arc, Mutex, PoisonError};

impl SetOperator for Sample {
    fn name(&self) -> &'static str {
        "SampleExec"
    }

    fn details(&self) -> String {
        self.to_string()
    }

    fn label(&self) -> Option<String> {
        Some(format!("SAMPLE {self}"))
    }

    fn order(&self) -> RowOrder {
        Verb::order(self)
    }

    fn emission(&self, rows: &Arc<dyn ExecutionPlan>) -> EmissionType {
        match self.amount {
            SampleAmount::Rows(_) => EmissionType::Final,
            SampleAmount::Percent(_) => rows.pipeline_behavior(),
        }
    }

    fn start(&self, start: Start<'_>) -> Result<Vec<SendableRecordBatchStream>> {
        match self.amount {
            SampleAmount::Percent(percent) => {
                Ok(kept_part(start, self.seed, (percent.value() / 100.0 * 2_f64.powi(64)) as u128))
            }
            SampleAmount::Rows(n_rows) => Ok(kept_rows(start, self.seed, n_rows)),
        }
    }
}

/// The rows whose numbers lie below a limit.
fn kept_part(start: Start<'_>, seed: u64, limit: u128) -> Vec<SendableRecordBatchStream> {
    let begin =
        |start: &Start<'_>, partition| (RowKeys::new(start, seed), BaselineMetrics::new(start.metrics, partition));
    let begun: Vec<_> = (0..start.rows.len()).map(|partition| begin(&start, partition)).collect();
    let schema = start.schema;
    let partitions = start.rows.into_iter().zip(begun).map(|(rows, (mut numbered, metrics))| {
        let kept = rows.map(move |batch| {
            let _timer = metrics.elapsed_compute().timer();
            let batch = batch?;
            let keys = numbered.next(&batch);
            let keep: BooleanArray = keys.iter().map(|(number, _)| Some(u128::from(*number) < limit)).collect();
            let kept = filter_record_batch(&batch, &keep)?;
            metrics.record_output(kept.num_rows());
            Ok(kept)
        });
        let kept = kept.try_filter(|batch| std::future::ready(batch.num_rows() > 0));
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&schema), kept)) as SendableRecordBatchStream
    });
    partitions.collect()
}

/// The rows with the smallest numbers of all partitions.
fn kept_rows(start: Start<'_>, seed: u64, n_rows: u64) -> Vec<SendableRecordBatchStream> {
    let chosen = Arc::new(Chosen { n_rows, keys: Mutex::default() });
    let held = |partition| Held {
        rows: RowKeys::new(&start, seed),
        chosen: Arc::clone(&chosen),
        batches: vec![],
        held_bytes: 0,
        n_kept: 0,
        spool: None,
        budget: PoolBudget::new(
            "SampleExec",
            &start.context,
            MetricBuilder::new(start.metrics).spilled_bytes(partition),
        ),
        metrics: BaselineMetrics::new(start.metrics, partition),
    };
    let held: Vec<Held> = (0..start.rows.len()).map(held).collect();
    let (schema, batch_rows, n_partitions) = (start.schema, start.context.session_config().batch_size(), held.len());
    let reading = start.rows.into_iter().zip(held).map(|(rows, held)| SpawnedTask::spawn(held.read(rows)));
    let reading: Vec<_> = reading.collect();
    // No partition knows its rows before all have been read.
    let all_read = async move {
        let mut held = vec![];
        for task in reading {
            let read = task.join().await.map_err(|error| crate::bug!("a sample died: {error}").into());
            held.push(Some(read.flatten().map_err(Arc::new)?));
        }
        Ok::<_, Arc<DataFusionError>>(Arc::new(Mutex::new(held)))
    };
    let all_read = all_read.boxed().shared();
    let partition = |partition: usize| {
        let all_read = all_read.clone();
        let batches = async move {
            let all = all_read.await.map_err(DataFusionError::Shared)?;
            let held = all.lock().unwrap_or_else(PoisonError::into_inner).get_mut(partition).and_then(Option::take);
            let held: Held = held.ok_or_else(|| crate::bug!("a sample has no partition {partition}"))?;
            let batches = held.into_batches(batch_rows)?;
            Ok::<_, DataFusionError>(futures::stream::iter(batches))
        };
        let batches = futures::stream::once(batches).try_flatten();
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&schema), batches)) as SendableRecordBatchStream
    };
    (0..n_partitions).map(partition).collect()
}

/// The keys that are in the sample so far, of all partitions.
struct Chosen {
    n_rows: u64,
    /// The first to go is on top.
    keys: Mutex<BinaryHeap<Key>>,
}

impl Chosen {
    /// Takes the keys that are among the smallest. A row is in the sample if its key is not above the one that is given back;
    /// without one, all rows are.
    fn offer(&self, offered: &[Key]) -> Option<Key> {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        for key in offered {
            if (keys.len() as u64) < self.n_rows {
                keys.push(*key);
            } else if let Some(mut largest) = keys.peek_mut()
                && *key < *largest
            {
                *largest = *key;
            }
        }
        keys.peek().filter(|_| keys.len() as u64 >= self.n_rows).copied()
    }
}

/// The rows of one partition that are in the sample so far.
struct Held {
    rows: RowKeys,
    chosen: Arc<Chosen>,
    /// Rows with their keys, and perhaps rows that have been replaced since.
    batches: Vec<(Vec<Key>, RecordBatch)>,
    held_bytes: usize,
    /// How many there were when those that were replaced went last.
    n_kept: usize,
    /// Where rows go that there is no memory for, and the keys of those that are there, batch by batch.
    spool: Option<(Spool, Vec<Vec<Key>>)>,
    budget: PoolBudget,
    metrics: BaselineMetrics,
}

/// Rows of a sample are put together in batches of this size.
const BATCH_BYTES: usize = 1 << 20;

type Batches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

impl Held {
    async fn read(mut self, mut input: SendableRecordBatchStream) -> Result<Self> {
        // Without rows to find there is no reason to read.
        while self.chosen.n_rows > 0
            && let Some(batch) = input.next().await
        {
            self.add(&batch?)?;
        }
        Ok(self)
    }

    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let timer = self.metrics.elapsed_compute().clone();
        let _timer = timer.timer();
        let keys = self.rows.next(batch);
        let largest = self.chosen.offer(&keys);
        let is_chosen = |key: &Key| largest.is_none_or(|largest| *key <= largest);
        let places: Vec<usize> = (0..keys.len()).filter(|place| is_chosen(&keys[*place])).collect();
        if places.is_empty() {
            return Ok(());
        }
        let kept = UInt64Array::from_iter_values(places.iter().map(|place| *place as u64));
        let kept = take_record_batch(batch, &kept)?;
        self.hold(places.into_iter().map(|place| keys[place]).collect(), kept)
    }

    fn hold(&mut self, keys: Vec<Key>, kept: RecordBatch) -> Result<()> {
        let n_bytes = slice_bytes(&kept);
        if self.spool.is_none() && !self.budget.try_grow(n_bytes) {
            self.compact()?;
            if !self.budget.try_grow(n_bytes) {
                self.begin_spool(kept.schema_ref())?;
            }
        }
        if let Some((spool, all_keys)) = &mut self.spool {
            spool.write(&kept)?;
            all_keys.push(keys);
            return Ok(());
        }
        self.held_bytes += n_bytes;
        self.batches.push((keys, kept));
        // Rows that were replaced are let go once they may be half of what is held.
        let n_held: usize = self.batches.iter().map(|(keys, _)| keys.len()).sum();
        if n_held > 2 * self.n_kept { self.compact() } else { Ok(()) }
    }

    /// What is held goes to a temporary file, and what comes later too.
    fn begin_spool(&mut self, schema: &SchemaRef) -> Result<()> {
        let (mut spool, mut all_keys) = (Spool::begin(schema, self.budget.temp_file()?)?, vec![]);
        for (keys, batch) in self.batches.drain(..) {
            spool.write(&batch)?;
            all_keys.push(keys);
        }
        self.budget.shrink(std::mem::take(&mut self.held_bytes));
        self.spool = Some((spool, all_keys));
        Ok(())
    }

    /// Lets go of the rows that are no longer in the sample.
    fn compact(&mut self) -> Result<()> {
        let largest = self.chosen.offer(&[]);
        let (mut compacted, mut together, mut together_bytes) = (vec![], (vec![], vec![]), 0);
        let batches = std::mem::take(&mut self.batches);
        let n_batches = batches.len();
        for (number, (keys, batch)) in batches.into_iter().enumerate() {
            let (keys, batch) = still_chosen(keys, &batch, largest)?;
            together_bytes += slice_bytes(&batch);
            together.0.extend(keys);
            together.1.push(batch);
            if together_bytes >= BATCH_BYTES || number + 1 == n_batches {
                let (keys, parts) = std::mem::take(&mut together);
                let batch = concat_batches(parts[0].schema_ref(), &parts)?;
                together_bytes = 0;
                if batch.num_rows() > 0 {
                    compacted.push((keys, batch));
                }
            }
        }
        self.n_kept = compacted.iter().map(|(keys, _): &(Vec<Key>, RecordBatch)| keys.len()).sum();
        let n_bytes: usize = compacted.iter().map(|(_, batch)| slice_bytes(batch)).sum();
        // Values that were filtered out take no less here and there: what is held may not be less than what is claimed.
        self.budget.shrink(self.held_bytes.saturating_sub(n_bytes));
        self.held_bytes = self.held_bytes.min(n_bytes);
        self.batches = compacted;
        Ok(())
    }

    /// The rows, all partitions having been read.
    fn into_batches(mut self, batch_rows: usize) -> Result<Batches> {
        let metrics = self.metrics.clone();
        let in_parts = move |batch: RecordBatch| {
            metrics.record_output(batch.num_rows());
            let starts = (0..batch.num_rows()).step_by(batch_rows.max(1));
            starts.map(move |start| Ok(batch.slice(start, batch_rows.min(batch.num_rows() - start))))
        };
        let Some((spool, keys)) = self.spool.take() else {
            self.compact()?;
            let (batches, budget) = (self.batches, self.budget);
            return Ok(Box::new(batches.into_iter().flat_map(move |(_, batch)| {
                // What is held is claimed until it has gone.
                let _claimed = &budget;
                in_parts(batch)
            })));
        };
        let largest = self.chosen.offer(&[]);
        let file = spool.finish(&self.budget)?;
        let read = Spool::read(&file)?.zip(keys).map(move |(batch, keys)| -> Result<RecordBatch> {
            let _open = &file;
            Ok(still_chosen(keys, &batch?, largest)?.1)
        });
        Ok(Box::new(read.flat_map(move |batch: Result<RecordBatch>| -> Batches {
            match batch {
                Ok(batch) => Box::new(in_parts(batch)),
                Err(error) => Box::new(std::iter::once(Err(error))),
            }
        })))
    }
}

/// The rows of a batch that are in the sample: none is whose key is above the largest.
fn still_chosen(keys: Vec<Key>, batch: &RecordBatch, largest: Option<Key>) -> Result<(Vec<Key>, RecordBatch)> {
    let is_chosen = |key: &Key| largest.is_none_or(|largest| *key <= largest);
    let keep: BooleanArray = keys.iter().map(|key| Some(is_chosen(key))).collect();
    Ok((keys.into_iter().filter(is_chosen).collect(), filter_record_batch(batch, &keep)?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::verb::{Layout, VerbExec};
    use crate::verbs::sample::Percent;
    use arrow::array::{AsArray, Int64Array};
    use arrow::compute::SortOptions;
    use arrow::datatypes::{DataType, Field, Int64Type, Schema, UInt64Type};
    use datafusion::datasource::memory::{DataSourceExec, MemorySourceConfig};
    use datafusion::execution::runtime_env::RuntimeEnvBuilder;
    use datafusion::physical_expr::expressions::Column;
    use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
    use datafusion::physical_plan::{collect, collect_partitioned};
    use datafusion::prelude::{SessionConfig, SessionContext};

    fn sample_of(
        n_rows: i64,
        batch_rows: usize,
        amount: SampleAmount,
        seed: u64,
        memory_bytes: usize,
    ) -> Result<Vec<i64>> {
        let schema = Arc::new(Schema::new(vec![Field::new("i", DataType::Int64, false)]));
        let values: Vec<i64> = (0..n_rows).collect();
        let batch = |part: &[i64]| {
            RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(Int64Array::from(part.to_vec()))]).unwrap()
        };
        let batches: Vec<RecordBatch> = values.chunks(batch_rows).map(batch).collect();
        let input = MemorySourceConfig::try_new_exec(&[batches], Arc::clone(&schema), None).unwrap();
        let runtime = RuntimeEnvBuilder::new().with_memory_limit(memory_bytes, 1.0).build_arc().unwrap();
        let context = SessionContext::new_with_config_rt(SessionConfig::new(), runtime).task_ctx();
        let tokio = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let layout = Layout { visible: vec![0], orders: vec![vec![]], ..Layout::default() };
        let plan = Arc::new(VerbExec::new(vec![input], Arc::new(Sample { amount, seed }), layout));
        let batches = tokio.block_on(collect(plan, context))?;
        Ok(batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec()).collect())
    }

    /// The sample of rows that lie in partitions, each with the position `2 i` for the row `i`, for which `UNNEST` may have
    /// made several rows.
    fn sample_of_partitions(n_partitions: usize, n_repeats: u64, amount: SampleAmount) -> Vec<(u64, u64)> {
        let field = |name| Field::new(name, DataType::UInt64, false);
        let schema = Arc::new(Schema::new(vec![field("_seq"), field("repeat")]));
        let rows: Vec<(u64, u64)> =
            (0..300).flat_map(|row| (0..n_repeats).map(move |repeat| (2 * row, repeat))).collect();
        let mut partitions = vec![vec![]; n_partitions];
        // Split by split, as a scan deals them out; and a split in two batches.
        for (number, split) in rows.chunks(30).enumerate() {
            for part in split.chunks(11) {
                let column = |value: fn(&(u64, u64)) -> u64| UInt64Array::from_iter_values(part.iter().map(value));
                let columns = vec![Arc::new(column(|row| row.0)) as _, Arc::new(column(|row| row.1)) as _];
                partitions[number % n_partitions].push(RecordBatch::try_new(Arc::clone(&schema), columns).unwrap());
            }
        }
        let order = PhysicalSortExpr::new(Arc::new(Column::new("_seq", 0)), SortOptions::new(false, false));
        let source = MemorySourceConfig::try_new(&partitions, Arc::clone(&schema), None).unwrap();
        let source = source.try_with_sort_information(vec![LexOrdering::new([order]).unwrap()]).unwrap();
        let layout = Layout {
            visible: vec![0, 1],
            orders: vec![vec![(0, SortOptions::new(false, false))]],
            ..Layout::default()
        };
        let sample = Arc::new(Sample { amount, seed: 7 });
        let plan = Arc::new(VerbExec::new(vec![DataSourceExec::from_data_source(source)], sample, layout));
        assert_eq!(plan.keeps_partitions(), n_partitions > 1);
        assert_eq!(plan.properties().partitioning.partition_count(), n_partitions);
        let tokio = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let batches = tokio.block_on(collect_partitioned(plan, SessionContext::new().task_ctx())).unwrap();
        let values =
            |batch: &RecordBatch, column: usize| batch.column(column).as_primitive::<UInt64Type>().values().to_vec();
        let mut all = vec![];
        for partition in batches {
            let rows: Vec<(u64, u64)> =
                partition.iter().flat_map(|batch| values(batch, 0).into_iter().zip(values(batch, 1))).collect();
            assert!(rows.is_sorted(), "a partition keeps its order");
            all.extend(rows);
        }
        all.sort_unstable();
        all
    }

    #[test]
    fn the_same_rows_whatever_the_partitions_and_all_partitions_give_some() {
        for amount in [SampleAmount::Rows(40), SampleAmount::Rows(0), SampleAmount::Rows(9999), percent(10.0)] {
            for n_repeats in [1, 3] {
                let expected = sample_of_partitions(1, n_repeats, amount);
                for n_partitions in [2, 5, 6] {
                    let found = sample_of_partitions(n_partitions, n_repeats, amount);
                    assert_eq!(found, expected, "{amount} of {n_partitions} partitions");
                }
            }
        }
        let several = sample_of_partitions(4, 3, percent(10.0));
        assert!(several.iter().any(|(_, repeat)| *repeat == 2) && several.len() < 150, "each for itself: {several:?}");
        let in_one: Vec<u64> = several.iter().map(|row| row.0).collect();
        assert!(in_one.windows(3).filter(|rows| rows[0] == rows[2]).count() < 5, "{in_one:?}");
    }

    fn percent(percent: f64) -> SampleAmount {
        SampleAmount::Percent(Percent::new(percent).unwrap())
    }

    #[test]
    fn the_same_rows_whatever_the_batches() {
        for amount in [SampleAmount::Rows(40), percent(10.0)] {
            let expected = sample_of(1000, 1000, amount, 7, 1 << 20).unwrap();
            for batch_rows in [1, 7, 64] {
                assert_eq!(sample_of(1000, batch_rows, amount, 7, 1 << 20).unwrap(), expected);
            }
            assert!(expected.is_sorted(), "input order is kept");
            assert_ne!(sample_of(1000, 64, amount, 8, 1 << 20).unwrap(), expected, "another seed, another choice");
        }
    }

    #[test]
    fn n_rows_gives_exactly_n_or_all() {
        for (n_rows, expected) in [(0, 0), (1, 1), (999, 999), (1000, 1000), (5000, 1000)] {
            assert_eq!(sample_of(1000, 64, SampleAmount::Rows(n_rows), 0, 1 << 20).unwrap().len(), expected);
        }
    }

    #[test]
    fn a_percentage_is_about_right_and_its_ends_are_exact() {
        assert_eq!(sample_of(1000, 64, percent(0.0), 0, 1 << 20).unwrap().len(), 0);
        assert_eq!(sample_of(1000, 64, percent(100.0), 0, 1 << 20).unwrap().len(), 1000);
        let n_kept = sample_of(10_000, 64, percent(5.0), 0, 1 << 20).unwrap().len();
        assert!((400..600).contains(&n_kept), "{n_kept}");
    }

    #[test]
    fn a_sample_is_the_same_with_little_memory() {
        for n_rows in [10, 5000, 50_000, 200_000] {
            let expected = sample_of(100_000, 100, SampleAmount::Rows(n_rows), 0, 1 << 30).unwrap();
            assert_eq!(expected.len() as u64, n_rows.min(100_000));
            assert!(sample_of(100_000, 100, SampleAmount::Rows(n_rows), 0, 4000).unwrap() == expected, "{n_rows}");
        }
    }
}
