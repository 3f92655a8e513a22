//! The shuffling: a row gets the key `hash(seed, position)`, and rows come out by their keys.
//!
//! ```text
//! fits in memory:  partitions ──► held ──► keys sorted ──► rows in that order, made on all threads ──► one stream
//! else:            partitions ──► 64 files by the first 6 bits of the key ──► each file the same way, by the next bits
//! ```
//! Two passes over the rows for a corpus up to 64 times the memory, three up to 4096 times. What comes out does not depend on
//! threads, batches or memory: keys and positions are a total order.

use super::Shuffle;
use crate::dedup::Budget;
use crate::exec::slice_bytes;
use crate::verb::{RowOrder, SetOperator, Start, Verb};
use crate::verbs::budget::{PoolBudget, threads};
use crate::verbs::documents::Spool;
use crate::verbs::row_keys::{Key, RowKeys};
use crate::verbs::working::{Input, Output, Working, in_parallel, on_working_threads};
use crate::{Result, bug};
use arrow::array::{ArrayRef, AsArray, RecordBatch, RecordBatchOptions, UInt32Array, UInt64Array};
use arrow::compute::{interleave_record_batch, take_record_batch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, UInt64Type};
use arrow::error::ArrowError;
use datafusion::error::Result as PlanResult;
use datafusion::physical_plan::SendableRecordBatchStream;
use datafusion::physical_plan::execution_plan::CardinalityEffect;
use datafusion::physical_plan::metrics::MetricBuilder;
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// Bits of the key that choose a file.
const BITS: u32 = 6;
/// Files that are read at the same time, at most: each may need files of its own.
const MAX_FILES_AT_ONCE: usize = 8;
/// Bytes of the rows that go out together, at most.
const OUTPUT_BYTES: usize = 4 << 20;
/// The part of the held rows that may be there twice, in its new order.
const OUTPUT_SHARE: usize = 16;

impl SetOperator for Shuffle {
    fn name(&self) -> &'static str {
        "ShuffleExec"
    }

    fn details(&self) -> String {
        Verb::details(self)
    }

    fn label(&self) -> Option<String> {
        Some(format!("SHUFFLE {}", Verb::details(self)))
    }

    fn order(&self) -> RowOrder {
        Verb::order(self)
    }

    fn cardinality(&self) -> CardinalityEffect {
        CardinalityEffect::Equal
    }

    fn notes(&self) -> Vec<String> {
        vec!["rows: in memory while it lasts, then in 64 temporary files, each put in order by itself".to_string()]
    }

    fn start(&self, start: Start<'_>) -> PlanResult<Vec<SendableRecordBatchStream>> {
        let spilled_bytes = MetricBuilder::new(start.metrics).spilled_bytes(0);
        let shape = Shape {
            keyed: keyed_schema(&start.rows_schema()),
            schema: Arc::clone(&start.schema),
            is_numbered: start.layout.number.is_some(),
            batch_rows: start.context.session_config().batch_size(),
        };
        let keys: Vec<RowKeys> = start.rows.iter().map(|_| RowKeys::new(&start, self.seed)).collect();
        on_working_threads(start, move |working, context| {
            let budget = PoolBudget::new("ShuffleExec", context, spilled_bytes);
            let threads = threads(&budget)?;
            shuffle(working, keys, &Shuffling { shape, budget, threads })
        })
    }
}

struct Shuffling {
    shape: Shape,
    budget: PoolBudget,
    threads: rayon::ThreadPool,
}

/// What rows look like on their way.
struct Shape {
    /// The rows with their keys.
    keyed: SchemaRef,
    /// What comes out.
    schema: SchemaRef,
    is_numbered: bool,
    batch_rows: usize,
}

/// Columns of a [`Key`], behind those of the rows.
const KEY_COLUMNS: [&str; 3] = ["_key", "_position", "_repeat"];

/// The rows with their keys.
fn keyed_schema(rows: &Schema) -> SchemaRef {
    let keys = KEY_COLUMNS.map(|name| Arc::new(Field::new(name, DataType::UInt64, false)));
    Arc::new(Schema::new(rows.fields().iter().cloned().chain(keys).collect::<Vec<_>>()))
}

fn keyed(batch: &RecordBatch, keys: &[Key], schema: &SchemaRef) -> Result<RecordBatch> {
    let column = |value: fn(&Key) -> u64| Arc::new(UInt64Array::from_iter_values(keys.iter().map(value))) as ArrayRef;
    let keys = [column(|key| key.0), column(|key| key.1.0), column(|key| key.1.1)];
    RecordBatch::try_new(Arc::clone(schema), batch.columns().iter().cloned().chain(keys).collect()).map_err(failed)
}

/// The keys of rows that have them.
fn keys(batch: &RecordBatch) -> Result<impl Iterator<Item = Key>> {
    let n_columns = batch.num_columns();
    let column = |back: usize| {
        let column = batch.column(n_columns - back).as_primitive_opt::<UInt64Type>();
        Ok::<_, crate::Error>(column.ok_or_else(|| bug!("a key of a SHUFFLE is not a number"))?.values())
    };
    let (keys, positions, repeats) = (column(3)?, column(2)?, column(1)?);
    Ok(keys.iter().zip(positions).zip(repeats).map(|((key, position), repeat)| (*key, (*position, *repeat))))
}

fn failed(error: ArrowError) -> crate::Error {
    bug!("rows of a SHUFFLE: {error}")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn shuffle(working: Working, keys: Vec<RowKeys>, shuffling: &Shuffling) -> Result<()> {
    let Working { rows: inputs, outputs, stop, .. } = working;
    let [output] = outputs.as_slice() else { return Err(bug!("a SHUFFLE has {} outputs", outputs.len())) };
    let rows = Bucket::new(shuffling, 0);
    in_parallel(&stop, inputs.into_iter().zip(keys).collect(), |_, (mut input, mut keys): (Input, RowKeys)| {
        while let Some(batch) = input.next()? {
            rows.push(keyed(&batch, &keys.next(&batch), &shuffling.shape.keyed)?)?;
        }
        Ok(())
    })?;
    rows.finish(output, &mut 0)
}

/// Rows with equal first bits of their keys, which several threads add.
struct Bucket<'s> {
    shuffling: &'s Shuffling,
    /// Bits of the key that are equal.
    n_equal_bits: u32,
    place: RwLock<Storage>,
    /// Claimed for the rows that are held.
    held_bytes: AtomicUsize,
}

/// Where rows are.
enum Storage {
    Memory(Mutex<Vec<RecordBatch>>),
    Files {
        files: Vec<File>,
        /// Rows from before there were files, on their way into them.
        left: Mutex<Vec<RecordBatch>>,
        /// What memory there was.
        memory_bytes: usize,
    },
}

/// The rows with equal next bits.
struct File {
    spool: Mutex<Spool>,
    n_bytes: AtomicUsize,
}

impl<'s> Bucket<'s> {
    fn new(shuffling: &'s Shuffling, n_equal_bits: u32) -> Self {
        let place = RwLock::new(Storage::Memory(Mutex::default()));
        Self { shuffling, n_equal_bits, place, held_bytes: AtomicUsize::new(0) }
    }

    fn push(&self, batch: RecordBatch) -> Result<()> {
        let Some(batch) = self.hold(batch) else { return Ok(()) };
        self.begin_files()?;
        let place = self.place.read().unwrap_or_else(PoisonError::into_inner);
        let Storage::Files { files, left, .. } = &*place else { return Err(bug!("a SHUFFLE has no files")) };
        self.scatter(&batch, files)?;
        // Who adds a batch helps to put the earlier ones into the files.
        self.scatter_left(files, left, 2)
    }

    /// Keeps rows in memory; gives them back if they must go into files.
    fn hold(&self, batch: RecordBatch) -> Option<RecordBatch> {
        let place = self.place.read().unwrap_or_else(PoisonError::into_inner);
        let Storage::Memory(held) = &*place else { return Some(batch) };
        let n_bytes = slice_bytes(&batch);
        let is_claimed = self.shuffling.budget.try_grow(n_bytes);
        // Rows whose keys are equal cannot be told apart by further bits.
        if !is_claimed && self.n_equal_bits + BITS <= u64::BITS {
            return Some(batch);
        }
        if is_claimed {
            self.held_bytes.fetch_add(n_bytes, Ordering::Relaxed);
        }
        lock(held).push(batch);
        None
    }

    fn begin_files(&self) -> Result<()> {
        let mut place = self.place.write().unwrap_or_else(PoisonError::into_inner);
        let Storage::Memory(held) = &mut *place else { return Ok(()) };
        let new_file = |_| {
            let spool = Spool::begin(&self.shuffling.shape.keyed, self.shuffling.budget.temp_file()?)?;
            Ok(File { spool: Mutex::new(spool), n_bytes: AtomicUsize::new(0) })
        };
        let files = (0..1 << BITS).map(new_file).collect::<Result<_>>()?;
        let left = std::mem::take(held);
        *place = Storage::Files { files, left, memory_bytes: self.held_bytes.load(Ordering::Relaxed) };
        Ok(())
    }

    /// Puts so many of the batches that were held into the files.
    fn scatter_left(&self, files: &[File], left: &Mutex<Vec<RecordBatch>>, n_batches: usize) -> Result<()> {
        for _ in 0..n_batches {
            let Some(batch) = lock(left).pop() else { return Ok(()) };
            self.scatter(&batch, files)?;
            let n_bytes = slice_bytes(&batch);
            self.shuffling.budget.shrink(n_bytes);
            self.held_bytes.fetch_sub(n_bytes, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Writes each row to its file.
    fn scatter(&self, batch: &RecordBatch, files: &[File]) -> Result<()> {
        let mut rows = vec![vec![]; files.len()];
        for (row, (key, _)) in keys(batch)?.enumerate() {
            let bits = key << self.n_equal_bits >> (u64::BITS - BITS);
            rows[bits as usize].push(row as u32);
        }
        for (file, rows) in files.iter().zip(rows).filter(|(_, rows)| !rows.is_empty()) {
            let rows = take_record_batch(batch, &UInt32Array::from(rows)).map_err(failed)?;
            file.n_bytes.fetch_add(slice_bytes(&rows), Ordering::Relaxed);
            lock(&file.spool).write(&rows)?;
        }
        Ok(())
    }

    /// Sends all rows by their keys.
    fn finish(mut self, output: &Output, n_sent: &mut u64) -> Result<()> {
        let memory = Storage::Memory(Mutex::default());
        let place = std::mem::replace(self.place.get_mut().unwrap_or_else(PoisonError::into_inner), memory);
        match place {
            Storage::Memory(held) => {
                self.send(&held.into_inner().unwrap_or_else(PoisonError::into_inner), output, n_sent)
            }
            Storage::Files { files, left, memory_bytes } => {
                self.shuffling.threads.install(|| {
                    let each = 0..rayon::current_num_threads();
                    each.into_par_iter().try_for_each(|_| self.scatter_left(&files, &left, usize::MAX))
                })?;
                self.send_files(files, memory_bytes, output, n_sent)
            }
        }
    }

    /// Sends the rows of files, some of which are read at the same time: as many as are likely to fit in memory.
    fn send_files(&self, files: Vec<File>, memory_bytes: usize, output: &Output, n_sent: &mut u64) -> Result<()> {
        let most_files = self.shuffling.threads.current_num_threads().min(MAX_FILES_AT_ONCE);
        let mut files = files.into_iter().peekable();
        while files.peek().is_some() {
            let (mut together, mut n_bytes) = (vec![], 0);
            while let Some(file) = files.next_if(|file| {
                n_bytes += file.n_bytes.load(Ordering::Relaxed);
                together.is_empty() || (n_bytes <= memory_bytes / 2 && together.len() < most_files)
            }) {
                together.push(file);
            }
            let read = self.shuffling.threads.install(|| {
                together.into_par_iter().map(|file| self.read(file)).collect::<Result<Vec<Bucket<'s>>>>()
            })?;
            for rows in read {
                rows.finish(output, n_sent)?;
            }
        }
        Ok(())
    }

    fn read(&self, file: File) -> Result<Bucket<'s>> {
        let spool = file.spool.into_inner().unwrap_or_else(PoisonError::into_inner);
        let file = spool.finish(&self.shuffling.budget)?;
        let rows = Bucket::new(self.shuffling, self.n_equal_bits + BITS);
        for batch in Spool::read(&file)? {
            rows.push(batch?)?;
        }
        Ok(rows)
    }

    /// Sends rows that are in memory.
    fn send(&self, held: &[RecordBatch], output: &Output, n_sent: &mut u64) -> Result<()> {
        let mut order = vec![];
        for (number, batch) in held.iter().enumerate() {
            order.extend(keys(batch)?.enumerate().map(|(row, key)| (key, (number, row))));
        }
        let Shuffling { shape, threads, .. } = self.shuffling;
        threads.install(|| order.par_sort_unstable());
        let order: Vec<(usize, usize)> = order.into_iter().map(|(_, place)| place).collect();
        let held_bytes = self.held_bytes.load(Ordering::Relaxed);
        let row_bytes = held_bytes / order.len().max(1) + 1;
        let n_threads = threads.current_num_threads();
        let output_bytes = OUTPUT_BYTES.min(held_bytes / (OUTPUT_SHARE * n_threads));
        let rows_at_once = (output_bytes / row_bytes).clamp(1, shape.batch_rows.max(1));
        let batches: Vec<&RecordBatch> = held.iter().collect();
        let in_order = |places: &[(usize, usize)]| interleave_record_batch(&batches, places).map_err(failed);
        for places in order.chunks(rows_at_once * n_threads) {
            let ready = threads
                .install(|| places.par_chunks(rows_at_once).map(in_order).collect::<Result<Vec<RecordBatch>>>())?;
            for rows in ready {
                output.send(shape.numbered(&rows, n_sent)?)?;
            }
        }
        Ok(())
    }
}

impl Shape {
    /// The rows without their keys, numbered on from those that were sent.
    fn numbered(&self, rows: &RecordBatch, n_sent: &mut u64) -> Result<RecordBatch> {
        let mut columns = rows.columns()[..rows.num_columns() - KEY_COLUMNS.len()].to_vec();
        let first = *n_sent;
        *n_sent += rows.num_rows() as u64;
        if self.is_numbered {
            columns.push(Arc::new(UInt64Array::from_iter_values(first..*n_sent)));
        }
        let n_rows = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &n_rows).map_err(failed)
    }
}

impl Drop for Bucket<'_> {
    fn drop(&mut self) {
        self.shuffling.budget.shrink(*self.held_bytes.get_mut());
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::verb::{Layout, VerbExec};
    use arrow::array::{Int64Array, StringArray};
    use arrow::compute::SortOptions;
    use arrow::datatypes::Int64Type;
    use datafusion::datasource::memory::{DataSourceExec, MemorySourceConfig};
    use datafusion::execution::runtime_env::RuntimeEnvBuilder;
    use datafusion::physical_expr::expressions::Column;
    use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
    use datafusion::physical_plan::{ExecutionPlan, collect};
    use datafusion::prelude::{SessionConfig, SessionContext};

    /// The numbers from 0 on, each beside a text, shuffled with so much memory.
    fn shuffled(n_rows: i64, batch_rows: usize, seed: u64, memory_bytes: usize) -> Vec<i64> {
        let schema = Arc::new(Schema::new(vec![
            Field::new("i", DataType::Int64, false),
            Field::new("text", DataType::Utf8, false),
        ]));
        let values: Vec<i64> = (0..n_rows).collect();
        let batch = |part: &[i64]| {
            let texts = StringArray::from_iter_values(part.iter().map(|i| format!("{i:0100}")));
            let columns: Vec<ArrayRef> = vec![Arc::new(Int64Array::from(part.to_vec())), Arc::new(texts)];
            RecordBatch::try_new(Arc::clone(&schema), columns).unwrap()
        };
        let batches: Vec<RecordBatch> = values.chunks(batch_rows).map(batch).collect();
        let input = MemorySourceConfig::try_new_exec(&[batches], Arc::clone(&schema), None).unwrap();
        let runtime = RuntimeEnvBuilder::new().with_memory_limit(memory_bytes, 1.0).build_arc().unwrap();
        let context = SessionContext::new_with_config_rt(SessionConfig::new(), runtime).task_ctx();
        let tokio = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let layout = Layout { visible: vec![0, 1], orders: vec![vec![]], ..Layout::default() };
        let plan = Arc::new(VerbExec::new(vec![input], Arc::new(Shuffle { seed }), layout));
        let batches = tokio.block_on(collect(plan, context)).unwrap();
        let mut rows = vec![];
        for batch in &batches {
            for (i, text) in
                batch.column(0).as_primitive::<Int64Type>().values().iter().zip(batch.column(1).as_string::<i32>())
            {
                assert_eq!(text, Some(format!("{i:0100}").as_str()), "a row stays together");
                rows.push(*i);
            }
        }
        rows
    }

    #[test]
    fn every_row_once_in_an_order_that_depends_on_the_seed_alone() {
        let expected = shuffled(3000, 512, 7, 1 << 30);
        let mut sorted = expected.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..3000).collect::<Vec<_>>());
        assert_ne!(expected, sorted);
        assert_ne!(shuffled(3000, 512, 8, 1 << 30), expected);
        // In memory, in files, and in files of files.
        for memory_bytes in [1 << 30, 100_000, 2_000] {
            for batch_rows in [7, 512] {
                assert_eq!(
                    shuffled(3000, batch_rows, 7, memory_bytes),
                    expected,
                    "{memory_bytes} bytes, {batch_rows} rows"
                );
            }
        }
    }

    /// Rows that lie in partitions by their positions, with so much memory.
    fn shuffled_partitions(n_partitions: usize, memory_bytes: usize) -> Vec<u64> {
        let schema = Arc::new(Schema::new(vec![Field::new("_seq", DataType::UInt64, false)]));
        let positions: Vec<u64> = (0..3000).map(|row| row / 2 * 3).collect();
        let mut partitions = vec![vec![]; n_partitions];
        for (number, split) in positions.chunks(50).enumerate() {
            let column = Arc::new(UInt64Array::from(split.to_vec())) as ArrayRef;
            partitions[number % n_partitions].push(RecordBatch::try_new(Arc::clone(&schema), vec![column]).unwrap());
        }
        let order = PhysicalSortExpr::new(Arc::new(Column::new("_seq", 0)), SortOptions::new(false, false));
        let source = MemorySourceConfig::try_new(&partitions, Arc::clone(&schema), None).unwrap();
        let source = source.try_with_sort_information(vec![LexOrdering::new([order]).unwrap()]).unwrap();
        let layout = Layout {
            visible: vec![0],
            orders: vec![vec![(0, SortOptions::new(false, false))]],
            number: Some("_number".to_string()),
            ..Layout::default()
        };
        let runtime = RuntimeEnvBuilder::new().with_memory_limit(memory_bytes, 1.0).build_arc().unwrap();
        let context = SessionContext::new_with_config_rt(SessionConfig::new().with_target_partitions(3), runtime);
        let source = DataSourceExec::from_data_source(source);
        let plan = Arc::new(VerbExec::new(vec![source], Arc::new(Shuffle { seed: 7 }), layout));
        assert_eq!(plan.properties().partitioning.partition_count(), 1);
        let tokio = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let batches = tokio.block_on(collect(plan, context.task_ctx())).unwrap();
        let values = |column: usize| {
            let values = |batch: &RecordBatch| batch.column(column).as_primitive::<UInt64Type>().values().to_vec();
            batches.iter().flat_map(values).collect::<Vec<u64>>()
        };
        assert_eq!(values(1), (0..3000).collect::<Vec<u64>>(), "numbered as they come out");
        values(0)
    }

    #[test]
    fn the_same_order_whatever_the_partitions_and_the_memory() {
        let expected = shuffled_partitions(1, 1 << 30);
        assert!(!expected.is_sorted());
        for n_partitions in [2, 5] {
            for memory_bytes in [1 << 30, 30_000, 2_000] {
                let found = shuffled_partitions(n_partitions, memory_bytes);
                assert!(found == expected, "{n_partitions} partitions, {memory_bytes} bytes");
            }
        }
    }

    #[test]
    fn nothing_shuffled_is_nothing() {
        assert_eq!(shuffled(0, 8, 1, 1 << 20), Vec::<i64>::new());
    }
}
