//! The shuffling: row `i` gets the key `hash(seed, i)`, and rows come out by their keys.
//!
//! ```text
//! fits in memory:  rows ──► sorted by key
//! else:            rows ──► 64 files by the first 6 bits of the key ──► each file the same way, by the next bits
//! ```
//! Two passes over the rows for a corpus up to 64 times the memory, three up to 4096 times. What comes out does not depend on
//! threads, batches or memory: keys and row numbers are a total order.

use super::Shuffle;
use crate::dedup::Budget;
use crate::exec::slice_bytes;
use crate::verb::{RowOrder, SetOperator, Start, Verb};
use crate::verbs::budget::PoolBudget;
use crate::verbs::documents::Spool;
use crate::verbs::working::{Input, Output, on_working_threads};
use crate::{Result, bug};
use arrow::array::{ArrayRef, AsArray, RecordBatch, UInt32Array, UInt64Array};
use arrow::compute::{interleave_record_batch, take_record_batch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, UInt64Type};
use arrow::error::ArrowError;
use datafusion::error::Result as PlanResult;
use datafusion::physical_plan::SendableRecordBatchStream;
use datafusion::physical_plan::execution_plan::CardinalityEffect;
use datafusion::physical_plan::metrics::MetricBuilder;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Bits of the key that choose a file.
const BITS: u32 = 6;
/// Bytes of the rows that go out together.
const OUTPUT_BYTES: usize = 4 << 20;

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
        let seed = self.seed;
        let shape = Arc::new(Shape {
            keyed: keyed_schema(&start.rows_schema()),
            schema: Arc::clone(&start.schema),
            is_numbered: start.layout.number.is_some(),
            batch_rows: start.context.session_config().batch_size(),
        });
        on_working_threads(start, move |mut working, context| {
            let (mut input, output) = working.one()?;
            let budget = PoolBudget::new("ShuffleExec", context, spilled_bytes);
            shuffle(&mut input, &output, &Shuffling { shape, seed, budget })
        })
    }
}

struct Shuffling {
    shape: Arc<Shape>,
    seed: u64,
    budget: PoolBudget,
}

/// What rows look like on their way.
struct Shape {
    /// The rows with their keys and numbers.
    keyed: SchemaRef,
    /// What comes out.
    schema: SchemaRef,
    is_numbered: bool,
    batch_rows: usize,
}

/// The rows with two more columns: the key, and the number of rows before.
fn keyed_schema(rows: &Schema) -> SchemaRef {
    let column = |name: &str| Arc::new(Field::new(name, DataType::UInt64, false));
    let fields = rows.fields().iter().cloned().chain([column("_key"), column("_row")]);
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

fn failed(error: ArrowError) -> crate::Error {
    bug!("rows of a SHUFFLE: {error}")
}

fn shuffle(input: &mut Input, output: &Output, shuffling: &Shuffling) -> Result<()> {
    let mut rows = Rows::new(shuffling, 0);
    let mut n_rows = 0_u64;
    while let Some(batch) = input.next()? {
        let numbers = n_rows..n_rows + batch.num_rows() as u64;
        n_rows = numbers.end;
        let keys = numbers.clone().map(|row| xxh3_64_with_seed(&row.to_le_bytes(), shuffling.seed));
        let added: [ArrayRef; 2] =
            [Arc::new(UInt64Array::from_iter_values(keys)), Arc::new(UInt64Array::from_iter_values(numbers))];
        let columns = batch.columns().iter().cloned().chain(added).collect();
        rows.push(RecordBatch::try_new(Arc::clone(&shuffling.shape.keyed), columns).map_err(failed)?)?;
    }
    rows.finish(output, &mut 0)
}

/// Rows with equal first bits of their keys: in memory, or in files by the next bits.
struct Rows<'s> {
    shuffling: &'s Shuffling,
    /// Bits of the key that are equal.
    n_equal_bits: u32,
    held: Vec<RecordBatch>,
    held_bytes: usize,
    files: Vec<Spool>,
}

impl<'s> Rows<'s> {
    fn new(shuffling: &'s Shuffling, n_equal_bits: u32) -> Self {
        Self { shuffling, n_equal_bits, held: vec![], held_bytes: 0, files: vec![] }
    }

    fn push(&mut self, batch: RecordBatch) -> Result<()> {
        if !self.files.is_empty() {
            return self.scatter(&batch);
        }
        // What is held, and once more a part of it in its new order.
        let n_bytes = slice_bytes(&batch);
        // Rows whose keys are equal cannot be told apart by further bits.
        let can_scatter = self.n_equal_bits + BITS <= u64::BITS;
        if self.shuffling.budget.try_grow(n_bytes) || !can_scatter {
            self.held_bytes += n_bytes;
            self.held.push(batch);
            return Ok(());
        }
        let new_file = |_| Spool::begin(&self.shuffling.shape.keyed, self.shuffling.budget.temp_file()?);
        self.files = (0..1 << BITS).map(new_file).collect::<Result<_>>()?;
        for held in std::mem::take(&mut self.held) {
            self.scatter(&held)?;
        }
        self.shuffling.budget.shrink(std::mem::take(&mut self.held_bytes));
        self.scatter(&batch)
    }

    /// Writes each row to its file.
    fn scatter(&mut self, batch: &RecordBatch) -> Result<()> {
        let mut rows = vec![vec![]; self.files.len()];
        for (row, key) in keys(batch)?.iter().enumerate() {
            let bits = key << self.n_equal_bits >> (u64::BITS - BITS);
            rows[bits as usize].push(row as u32);
        }
        for (file, rows) in self.files.iter_mut().zip(rows).filter(|(_, rows)| !rows.is_empty()) {
            file.write(&take_record_batch(batch, &UInt32Array::from(rows)).map_err(failed)?)?;
        }
        Ok(())
    }

    /// Sends all rows by their keys.
    fn finish(mut self, output: &Output, n_sent: &mut u64) -> Result<()> {
        if self.files.is_empty() {
            return self.send(output, n_sent);
        }
        for file in std::mem::take(&mut self.files) {
            let file = file.finish(&self.shuffling.budget)?;
            let mut rows = Rows::new(self.shuffling, self.n_equal_bits + BITS);
            for batch in Spool::read(&file)? {
                rows.push(batch?)?;
            }
            drop(file);
            rows.finish(output, n_sent)?;
        }
        Ok(())
    }

    fn send(&self, output: &Output, n_sent: &mut u64) -> Result<()> {
        let mut order = vec![];
        for (number, batch) in self.held.iter().enumerate() {
            let numbers = batch.column(batch.num_columns() - 1).as_primitive::<UInt64Type>();
            let rows = keys(batch)?.iter().zip(numbers.values()).enumerate();
            order.extend(rows.map(|(row, (key, row_number))| (*key, *row_number, (number, row))));
        }
        order.sort_unstable();
        let order: Vec<(usize, usize)> = order.into_iter().map(|(_, _, place)| place).collect();
        let shape = &self.shuffling.shape;
        let row_bytes = self.held_bytes / order.len().max(1) + 1;
        let rows_at_once = (OUTPUT_BYTES / row_bytes).clamp(1, shape.batch_rows.max(1));
        let batches: Vec<&RecordBatch> = self.held.iter().collect();
        for places in order.chunks(rows_at_once) {
            let rows = interleave_record_batch(&batches, places).map_err(failed)?;
            let mut columns = rows.columns()[..rows.num_columns() - 2].to_vec();
            let first = *n_sent;
            *n_sent += places.len() as u64;
            if shape.is_numbered {
                columns.push(Arc::new(UInt64Array::from_iter_values(first..*n_sent)));
            }
            let n_rows = arrow::array::RecordBatchOptions::new().with_row_count(Some(places.len()));
            let rows = RecordBatch::try_new_with_options(Arc::clone(&shape.schema), columns, &n_rows);
            output.send(rows.map_err(failed)?)?;
        }
        Ok(())
    }
}

impl Drop for Rows<'_> {
    fn drop(&mut self) {
        self.shuffling.budget.shrink(self.held_bytes);
    }
}

fn keys(batch: &RecordBatch) -> Result<&[u64]> {
    let keys = batch.column(batch.num_columns() - 2).as_primitive_opt::<UInt64Type>();
    Ok(keys.ok_or_else(|| bug!("a key of a SHUFFLE is not a number"))?.values())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::verb::{Layout, VerbExec};
    use arrow::array::{Int64Array, StringArray};
    use arrow::datatypes::Int64Type;
    use datafusion::datasource::memory::MemorySourceConfig;
    use datafusion::execution::runtime_env::RuntimeEnvBuilder;
    use datafusion::physical_plan::collect;
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

    #[test]
    fn nothing_shuffled_is_nothing() {
        assert_eq!(shuffled(0, 8, 1, 1 << 20), Vec::<i64>::new());
    }
}
