//! The choosing of a sample: keeps a part of the rows, the same part whatever the threads and batches.
//!
//! Row `i` of the input has the number `hash(seed, i)`. A percentage keeps the rows whose number lies in that part of
//! all numbers; `n ROWS` keeps the `n` rows with the smallest numbers. So a larger sample holds every smaller one.
//!
//! Invariant: needs one input partition in a defined order, and keeps that order.
//! For `n ROWS` only the rows that are in the sample so far are held, and their bytes are claimed from the memory pool.

use super::verb::{Sample, SampleAmount};
use crate::exec::slice_bytes;
use crate::verb::{RowOrder, SetOperator, Start, Verb};
use arrow::array::{BooleanArray, RecordBatch, UInt64Array};
use arrow::compute::{concat_batches, filter_record_batch, take_record_batch};
use arrow::datatypes::SchemaRef;
use datafusion::error::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::physical_plan::execution_plan::EmissionType;
use datafusion::physical_plan::metrics::BaselineMetrics;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, SendableRecordBatchStream};
use futures::{StreamExt, TryStreamExt};
use std::collections::BinaryHeap;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64_with_seed;

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

    fn start(&self, mut start: Start<'_>) -> Result<Vec<SendableRecordBatchStream>> {
        let metrics = BaselineMetrics::new(start.metrics, 0);
        let rows = start.only_rows()?;
        let (schema, seed) = (start.schema, self.seed);
        match self.amount {
            SampleAmount::Percent(percent) => {
                let mut n_seen = 0;
                let limit = (percent.value() / 100.0 * 2_f64.powi(64)) as u128;
                let kept = rows.map(move |batch| {
                    let _timer = metrics.elapsed_compute().timer();
                    let batch = batch?;
                    let first = n_seen;
                    n_seen += batch.num_rows() as u64;
                    let keep: BooleanArray =
                        (first..n_seen).map(|row| Some(u128::from(number(seed, row)) < limit)).collect();
                    let kept = filter_record_batch(&batch, &keep)?;
                    metrics.record_output(kept.num_rows());
                    Ok(kept)
                });
                let kept = kept.try_filter(|batch| std::future::ready(batch.num_rows() > 0));
                Ok(vec![Box::pin(RecordBatchStreamAdapter::new(schema, kept))])
            }
            SampleAmount::Rows(n_rows) => {
                let reservation = MemoryConsumer::new("SampleExec").register(start.context.memory_pool());
                let batch_rows = start.context.session_config().batch_size();
                let chosen = choose(rows, n_rows, seed, reservation, metrics, batch_rows);
                let batches =
                    futures::stream::once(chosen).map_ok(|batches| futures::stream::iter(batches.into_iter().map(Ok)));
                Ok(vec![Box::pin(RecordBatchStreamAdapter::new(schema, batches.try_flatten()))])
            }
        }
    }
}

/// The number that decides about a row.
fn number(seed: u64, row: u64) -> u64 {
    xxh3_64_with_seed(&row.to_le_bytes(), seed)
}

/// The `n_rows` rows with the smallest numbers, in input order.
async fn choose(
    mut input: SendableRecordBatchStream,
    n_rows: u64,
    seed: u64,
    reservation: MemoryReservation,
    metrics: BaselineMetrics,
    batch_rows: usize,
) -> Result<Vec<RecordBatch>> {
    let schema = input.schema();
    let mut held = Held { schema: Arc::clone(&schema), chosen: BinaryHeap::new(), batches: vec![], reservation };
    let mut n_seen = 0;
    // Without rows to find there is no reason to read.
    while n_rows > 0
        && let Some(batch) = input.next().await
    {
        let _timer = metrics.elapsed_compute().timer();
        let batch = batch?;
        held.add(&batch, n_seen, n_rows, seed)?;
        n_seen += batch.num_rows() as u64;
    }
    held.compact()?;
    let mut batches = vec![];
    for (_, batch) in held.batches {
        metrics.record_output(batch.num_rows());
        for start in (0..batch.num_rows()).step_by(batch_rows.max(1)) {
            batches.push(batch.slice(start, batch_rows.min(batch.num_rows() - start)));
        }
    }
    Ok(batches)
}

/// The rows that are in the sample so far.
struct Held {
    schema: SchemaRef,
    /// (number, row) of each; the first to go is on top. The row number breaks ties.
    chosen: BinaryHeap<(u64, u64)>,
    /// Their rows, and perhaps rows that have been replaced since; each batch with its rows' places in the input.
    batches: Vec<(Vec<u64>, RecordBatch)>,
    reservation: MemoryReservation,
}

impl Held {
    fn add(&mut self, batch: &RecordBatch, first_row: u64, n_rows: u64, seed: u64) -> Result<()> {
        let mut candidates = vec![];
        for row in first_row..first_row + batch.num_rows() as u64 {
            let entry = (number(seed, row), row);
            let full = self.chosen.len() as u64 >= n_rows;
            if full && self.chosen.peek().is_some_and(|largest| *largest < entry) {
                continue;
            }
            if full {
                self.chosen.pop();
            }
            self.chosen.push(entry);
            candidates.push(row);
        }
        if candidates.is_empty() {
            return Ok(());
        }
        let places = UInt64Array::from_iter_values(candidates.iter().map(|row| row - first_row));
        let kept = take_record_batch(batch, &places)?;
        self.reservation.try_grow(slice_bytes(&kept))?;
        self.batches.push((candidates, kept));
        // Rows that were replaced are let go once they are half of what is held.
        let n_held: usize = self.batches.iter().map(|(rows, _)| rows.len()).sum();
        if n_held > 2 * self.chosen.len() { self.compact() } else { Ok(()) }
    }

    /// Lets go of the rows that are no longer in the sample.
    fn compact(&mut self) -> Result<()> {
        let mut rows: Vec<u64> = self.chosen.iter().map(|(_, row)| *row).collect();
        rows.sort_unstable();
        let mut kept = vec![];
        for (held, batch) in self.batches.drain(..) {
            let keep = BooleanArray::from_iter(held.iter().map(|row| Some(rows.binary_search(row).is_ok())));
            if keep.true_count() > 0 {
                kept.push(filter_record_batch(&batch, &keep)?);
            }
        }
        let batch = concat_batches(&self.schema, &kept)?;
        drop(kept);
        self.reservation.try_resize(slice_bytes(&batch))?;
        if batch.num_rows() > 0 {
            self.batches.push((rows, batch));
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::verb::{Layout, VerbExec};
    use crate::verbs::sample::Percent;
    use arrow::array::{AsArray, Int64Array};
    use arrow::datatypes::{DataType, Field, Int64Type, Schema};
    use datafusion::datasource::memory::MemorySourceConfig;
    use datafusion::execution::runtime_env::RuntimeEnvBuilder;
    use datafusion::physical_plan::collect;
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
    fn a_small_sample_of_a_large_input_needs_little_memory_and_a_large_one_says_so() {
        assert_eq!(sample_of(100_000, 100, SampleAmount::Rows(10), 0, 4000).unwrap().len(), 10);
        let error = sample_of(100_000, 100, SampleAmount::Rows(50_000), 0, 4000).unwrap_err();
        assert!(crate::Error::from(error).to_string().starts_with("out of memory"));
    }
}
