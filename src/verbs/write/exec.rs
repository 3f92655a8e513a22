//! The writing: the rows go to a sink, in their order.
//!
//! Writing blocks, so it has a thread of its own, fed through a short queue; the runtime's threads never wait for a
//! disk. What comes out is one row with the number of rows written; the files are staged for the run's commit.
//!
//! Invariant: files are staged only after the last row arrived. After an error or a dropped stream nothing is, and the
//! writing thread has ended before an error is reported.

use crate::config::format_bytes;
use crate::exec::RunLog;
use crate::sinks::{Sink, SinkSpec, StagedOutput};
use crate::store::Outbox;
use crate::verb::{BufferSizes, RowOrder, SetOperator, Start};
use crate::{Error, Result};
use arrow::array::{RecordBatch, UInt64Array};
use arrow::datatypes::SchemaRef;
use datafusion::common::runtime::SpawnedTask;
use datafusion::error::Result as PlanResult;
use datafusion::execution::memory_pool::MemoryLimit;
use datafusion::physical_plan::SendableRecordBatchStream;
use datafusion::physical_plan::execution_plan::CardinalityEffect;
use datafusion::physical_plan::metrics::{Count, MetricBuilder, Time};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::StreamExt;
use std::sync::Arc;
use tokio::sync::mpsc;

/// The name of the metric that counts the rows written so far.
const ROWS_WRITTEN: &str = "rows_written";

/// Batches that wait for the sink; enough to keep it busy.
const QUEUE_BATCHES: usize = 2;

/// Writes rows. See the module's text.
#[derive(Debug)]
pub(super) struct Writer {
    pub spec: SinkSpec,
}

impl SetOperator for Writer {
    fn name(&self) -> &'static str {
        "WriteExec"
    }

    fn details(&self) -> String {
        format!("'{}'", self.spec.location)
    }

    fn label(&self) -> Option<String> {
        None
    }

    fn order(&self) -> RowOrder {
        RowOrder::Ends
    }

    fn buffers(&self, sizes: BufferSizes) -> Option<(usize, String)> {
        let (n_pieces, piece_bytes) = self.spec.pieces_in_flight(sizes.n_threads, sizes.limit_bytes)?;
        let queued = QUEUE_BATCHES * sizes.batch_bytes;
        let (piece, batch) = (format_bytes(piece_bytes), format_bytes(sizes.batch_bytes));
        let how = format!("{n_pieces} pieces of {piece} that are cut and encoded, {QUEUE_BATCHES} batches of {batch}");
        Some((n_pieces.saturating_mul(piece_bytes).saturating_add(queued), how))
    }

    fn cardinality(&self) -> CardinalityEffect {
        CardinalityEffect::Unknown
    }

    fn rows_counter(&self) -> Option<&'static str> {
        Some(ROWS_WRITTEN)
    }

    fn start(&self, mut start: Start<'_>) -> PlanResult<Vec<SendableRecordBatchStream>> {
        let rows_written = MetricBuilder::new(start.metrics).counter(ROWS_WRITTEN, 0);
        let elapsed = MetricBuilder::new(start.metrics).elapsed_compute(0);
        let memory_limit_bytes = match start.context.memory_pool().memory_limit() {
            MemoryLimit::Finite(bytes) => Some(bytes),
            MemoryLimit::Infinite | MemoryLimit::Unknown => None,
        };
        let log = start.context.session_config().get_extension::<RunLog>().unwrap_or_default();
        let outbox = log.outbox().cloned().unwrap_or_else(|| Arc::new(Outbox::new("trial")));
        let rows = start.only_rows()?;
        let schema = rows.schema();
        let spec = self.spec.clone();
        let write = Writing { spec, schema, outbox, memory_limit_bytes, rows_written, elapsed };
        let schema = start.schema;
        let count_schema = Arc::clone(&schema);
        let written = async move {
            let n_rows = feed(rows, write, log).await?;
            Ok(RecordBatch::try_new(count_schema, vec![Arc::new(UInt64Array::from(vec![n_rows]))])?)
        };
        Ok(vec![Box::pin(RecordBatchStreamAdapter::new(schema, futures::stream::once(written)))])
    }
}

/// What goes through the queue. A queue that closes without `End` means: give up.
enum Message {
    Rows(RecordBatch),
    End,
}

/// Sends all rows to the writing thread; gives the number of rows in complete files.
async fn feed(mut input: SendableRecordBatchStream, write: Writing, log: Arc<RunLog>) -> PlanResult<u64> {
    let (sender, receiver) = mpsc::channel(QUEUE_BATCHES);
    let writing = SpawnedTask::spawn_blocking(move || write.run(receiver));
    let mut failure = None;
    while let Some(batch) = input.next().await {
        match batch {
            // The writing thread stopped early: it failed, or nobody reads its output any more.
            Ok(batch) => {
                if sender.send(Message::Rows(batch)).await.is_err() {
                    break;
                }
            }
            Err(error) => {
                failure = Some(error);
                break;
            }
        }
    }
    drop(input);
    if failure.is_none() {
        // As above; what it has to say comes from the join.
        let _ = sender.send(Message::End).await;
    }
    drop(sender);
    // Waits also after a failure, so that no temporary file is left when the user sees the error.
    let written = writing.join().await.map_err(|error| crate::bug!("the writing thread died: {error}"))?;
    if let Some(error) = failure {
        return Err(error);
    }
    let staged = written?;
    let n_rows = staged.written().iter().map(|file| file.n_rows).sum();
    log.stage_output(staged);
    Ok(n_rows)
}

/// The part that blocks.
struct Writing {
    spec: SinkSpec,
    schema: SchemaRef,
    outbox: Arc<Outbox>,
    memory_limit_bytes: Option<usize>,
    rows_written: Count,
    elapsed: Time,
}

impl Writing {
    fn run(self, mut queue: mpsc::Receiver<Message>) -> Result<StagedOutput> {
        let schema = Arc::clone(&self.schema);
        let mut sink = Sink::create_in(&self.spec, schema, self.memory_limit_bytes, &self.outbox)?;
        loop {
            match queue.blocking_recv() {
                Some(Message::Rows(batch)) => {
                    let _timer = self.elapsed.timer();
                    sink.write(&batch)?;
                    if sink.is_closed() {
                        return sink.stage();
                    }
                    self.rows_written.add(batch.num_rows());
                }
                Some(Message::End) => {
                    let _timer = self.elapsed.timer();
                    return sink.stage();
                }
                None => return Err(Error::Interrupted),
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::exec::OutputFile;
    use crate::sinks::RunFacts;
    use crate::verb::{Layout, VerbExec};
    use arrow::array::{AsArray, Int64Array};
    use arrow::datatypes::{DataType, Field, Schema, UInt64Type};
    use datafusion::datasource::memory::MemorySourceConfig;
    use datafusion::physical_plan::ExecutionPlan;
    use datafusion::physical_plan::collect;
    use datafusion::physical_plan::filter::FilterExec;
    use datafusion::prelude::{SessionConfig, SessionContext};
    use std::path::Path;

    fn source() -> Arc<dyn ExecutionPlan> {
        let schema = Arc::new(Schema::new(vec![Field::new("i", DataType::Int64, false)]));
        let batch = |values: Vec<i64>| {
            RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(Int64Array::from(values))]).unwrap()
        };
        let batches = vec![batch(vec![1, 2]), batch(vec![3]), batch(vec![0])];
        MemorySourceConfig::try_new_exec(&[batches], Arc::clone(&schema), None).unwrap()
    }

    /// Fails at the last row.
    fn failing_source() -> Arc<dyn ExecutionPlan> {
        use datafusion::logical_expr::Operator;
        use datafusion::physical_expr::expressions::{binary, col, lit};
        let schema = source().schema();
        let quotient = binary(lit(6_i64), Operator::Divide, col("i", &schema).unwrap(), &schema).unwrap();
        let positive = binary(quotient, Operator::Gt, lit(0_i64), &schema).unwrap();
        Arc::new(FilterExec::try_new(positive, source()).unwrap())
    }

    fn write(input: Arc<dyn ExecutionPlan>, path: &Path, log: &Arc<RunLog>) -> PlanResult<Vec<RecordBatch>> {
        let spec = SinkSpec::new(path.display().to_string());
        let config = SessionConfig::new().with_extension(Arc::clone(log));
        let context = SessionContext::new_with_config(config).task_ctx();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let added = vec![Field::new("count", DataType::UInt64, false)];
        let layout = Layout { added, orders: vec![vec![]], ..Layout::default() };
        runtime.block_on(collect(Arc::new(VerbExec::new(vec![input], Arc::new(Writer { spec }), layout)), context))
    }

    fn n_entries(folder: &Path) -> usize {
        std::fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn rows_arrive_in_order_and_are_counted_and_logged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.jsonl");
        let outbox = Arc::new(Outbox::new("test"));
        let log = Arc::new(RunLog::new(Some(Arc::clone(&outbox)), true));
        let batches = write(source(), &path, &log).unwrap();
        assert_eq!(batches[0].column(0).as_primitive::<UInt64Type>().values(), &[4]);
        assert!(!path.exists(), "before the commit");
        let outputs = log.take_outputs();
        outputs.into_iter().for_each(|output| output.prepare(&RunFacts::default()).unwrap());
        outbox.commit().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, "{\"i\":1}\n{\"i\":2}\n{\"i\":3}\n{\"i\":0}\n");
        assert_eq!(log.files(), [OutputFile { path, n_rows: 4, n_bytes: text.len() as u64 }]);
    }

    #[test]
    fn a_failing_query_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let log = Arc::new(RunLog::default());
        let error = write(failing_source(), &folder.path().join("x.jsonl"), &log).unwrap_err();
        assert!(error.to_string().to_lowercase().contains("divide by zero"), "{error}");
        assert_eq!(n_entries(folder.path()), 0);
        assert!(log.files().is_empty());
    }

    #[test]
    fn a_dropped_query_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let location = folder.path().join("x.jsonl").display().to_string();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        runtime.block_on(async {
            let schema = source().schema();
            let rows = source().execute(0, SessionContext::new().task_ctx()).unwrap();
            let endless = RecordBatchStreamAdapter::new(Arc::clone(&schema), rows.chain(futures::stream::pending()));
            let rows_written = Count::new();
            let spec = SinkSpec::new(location);
            let write = Writing {
                spec,
                schema,
                outbox: Arc::new(Outbox::new("test")),
                memory_limit_bytes: None,
                rows_written: rows_written.clone(),
                elapsed: Time::new(),
            };
            let mut feeding = Box::pin(feed(Box::pin(endless), write, Arc::default()));
            while rows_written.value() < 4 {
                assert!(futures::poll!(&mut feeding).is_pending());
                tokio::task::yield_now().await;
            }
            assert_eq!(n_entries(folder.path()), 1, "the temporary file");
        });
        drop(runtime);
        assert_eq!(n_entries(folder.path()), 0);
    }
}
