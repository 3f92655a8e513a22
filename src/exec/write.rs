//! `WriteExec`: the rows of its one input partition go to a sink, in their order.
//!
//! Writing blocks, so it has a thread of its own, fed through a short queue; the runtime's threads never wait for a
//! disk. What comes out is one row with the number of rows written; the files go to the run's [`RunLog`].
//!
//! Invariant: the sink is finished only after the last row arrived. An error or a dropped stream drops the sink, which
//! removes its temporary files; an error is reported after that.

use super::report::{Contamination, OutputFile};
use crate::dedup::index::StagedAppend;
use crate::sinks::{Sink, SinkSpec, WrittenFile};
use crate::{Error, Result};
use arrow::array::{RecordBatch, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result as PlanResult;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::MemoryLimit;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet, Time};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, ExecutionPlanProperties,
    InputDistributionRequirements, Partitioning, PlanProperties, ReplaceChildrenOptions, SendableRecordBatchStream,
};
use futures::StreamExt;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc;

/// The name of the metric that counts the rows written so far.
pub(super) const ROWS_WRITTEN: &str = "rows_written";

/// Batches that wait for the sink; enough to keep it busy.
const QUEUE_BATCHES: usize = 2;

/// What a run's executors have to tell beside rows. Put it into the session's config as an extension.
#[derive(Default)]
pub struct RunLog {
    files: Mutex<Vec<OutputFile>>,
    dropped: Mutex<Vec<OutputFile>>,
    contamination: Mutex<Vec<Contamination>>,
    notes: Mutex<Vec<String>>,
    staged: Mutex<Vec<StagedAppend>>,
}

impl fmt::Debug for RunLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunLog").field("files", &self.files).field("dropped", &self.dropped).finish_non_exhaustive()
    }
}

impl RunLog {
    /// What is to be added to an index when the run has ended well.
    pub(super) fn stage(&self, append: StagedAppend) {
        self.staged.lock().unwrap_or_else(PoisonError::into_inner).push(append);
    }

    /// The run has ended well, its files are in place: adds to indexes what was staged.
    pub fn commit(&self) -> Result<()> {
        let staged = std::mem::take(&mut *self.staged.lock().unwrap_or_else(PoisonError::into_inner));
        staged.into_iter().try_for_each(StagedAppend::commit)
    }

    /// The files written so far, complete and under their names.
    pub fn files(&self) -> Vec<OutputFile> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The files of the drop ledger, once the run is over.
    pub fn dropped(&self) -> Vec<OutputFile> {
        self.dropped.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What was found of evaluations, once the run is over.
    pub fn contamination(&self) -> Vec<Contamination> {
        self.contamination.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What the user should know of the run beside its rows.
    pub fn notes(&self) -> Vec<String> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds something that the user should know.
    pub(super) fn note(&self, note: String) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(note);
    }

    /// Adds what a node found.
    pub(super) fn add_contamination(&self, found: Contamination) {
        self.contamination.lock().unwrap_or_else(PoisonError::into_inner).push(found);
    }

    /// Adds files of the drop ledger.
    pub fn add_dropped(&self, written: Vec<WrittenFile>) {
        extend(&self.dropped, written);
    }

    fn add(&self, written: Vec<WrittenFile>) {
        extend(&self.files, written);
    }
}

fn extend(files: &Mutex<Vec<OutputFile>>, written: Vec<WrittenFile>) {
    let written =
        written.into_iter().map(|file| OutputFile { path: file.path, n_rows: file.n_rows, n_bytes: file.n_bytes });
    files.lock().unwrap_or_else(PoisonError::into_inner).extend(written);
}

/// Writes its input's rows. See the module's text.
#[derive(Debug)]
pub struct WriteExec {
    input: Arc<dyn ExecutionPlan>,
    spec: SinkSpec,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl WriteExec {
    /// Writes `input` as `spec` says.
    pub fn new(input: Arc<dyn ExecutionPlan>, spec: SinkSpec) -> Self {
        let schema = Arc::new(Schema::new(vec![Field::new("count", DataType::UInt64, false)]));
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Self { input, spec, properties: Arc::new(properties), metrics: ExecutionPlanMetricsSet::new() }
    }
}

impl DisplayAs for WriteExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "WriteExec: '{}'", self.spec.location)
    }
}

impl ExecutionPlan for WriteExec {
    fn name(&self) -> &str {
        "WriteExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> PlanResult<TreeNodeRecursion>,
    ) -> PlanResult<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        InputDistributionRequirements::new(vec![Distribution::SinglePartition])
    }

    // The files have the order of the input; else DataFusion would remove a sort below as useless.
    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        let Ok([input]) = <[Arc<dyn ExecutionPlan>; 1]>::try_from(children) else {
            return Err(crate::bug!("a write takes one input").into());
        };
        Ok(Arc::new(Self::new(input, self.spec.clone())))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> PlanResult<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> PlanResult<SendableRecordBatchStream> {
        if partition != 0 || self.input.output_partitioning().partition_count() != 1 {
            return Err(crate::bug!("a write needs its input in one partition").into());
        }
        let write = Writing {
            spec: self.spec.clone(),
            schema: self.input.schema(),
            memory_limit_bytes: match context.memory_pool().memory_limit() {
                MemoryLimit::Finite(bytes) => Some(bytes),
                MemoryLimit::Infinite | MemoryLimit::Unknown => None,
            },
            rows_written: MetricBuilder::new(&self.metrics).counter(ROWS_WRITTEN, partition),
            elapsed: MetricBuilder::new(&self.metrics).elapsed_compute(partition),
        };
        let log = context.session_config().get_extension::<RunLog>();
        let input = self.input.execute(0, context)?;
        let schema = self.schema();
        let count_schema = Arc::clone(&schema);
        let written = async move {
            let n_rows = feed(input, write, log).await?;
            Ok(RecordBatch::try_new(count_schema, vec![Arc::new(UInt64Array::from(vec![n_rows]))])?)
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, futures::stream::once(written))))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// What goes through the queue. A queue that closes without `End` means: give up.
enum Message {
    Rows(RecordBatch),
    End,
}

/// Sends all rows to the writing thread; gives the number of rows in complete files.
async fn feed(mut input: SendableRecordBatchStream, write: Writing, log: Option<Arc<RunLog>>) -> PlanResult<u64> {
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
    let files = written?;
    let n_rows = files.iter().map(|file| file.n_rows).sum();
    if let Some(log) = log {
        log.add(files);
    }
    Ok(n_rows)
}

/// The part that blocks.
struct Writing {
    spec: SinkSpec,
    schema: SchemaRef,
    memory_limit_bytes: Option<usize>,
    rows_written: Count,
    elapsed: Time,
}

impl Writing {
    fn run(self, mut queue: mpsc::Receiver<Message>) -> Result<Vec<WrittenFile>> {
        let mut sink = Sink::create_within(&self.spec, Arc::clone(&self.schema), self.memory_limit_bytes)?;
        loop {
            match queue.blocking_recv() {
                Some(Message::Rows(batch)) => {
                    let _timer = self.elapsed.timer();
                    sink.write(&batch)?;
                    if sink.is_closed() {
                        return sink.finish();
                    }
                    self.rows_written.add(batch.num_rows());
                }
                Some(Message::End) => {
                    let _timer = self.elapsed.timer();
                    return sink.finish();
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
    use arrow::array::{AsArray, Int64Array};
    use arrow::datatypes::UInt64Type;
    use datafusion::datasource::memory::MemorySourceConfig;
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
        runtime.block_on(collect(Arc::new(WriteExec::new(input, spec)), context))
    }

    fn n_entries(folder: &Path) -> usize {
        std::fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn rows_arrive_in_order_and_are_counted_and_logged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.jsonl");
        let log = Arc::new(RunLog::default());
        let batches = write(source(), &path, &log).unwrap();
        assert_eq!(batches[0].column(0).as_primitive::<UInt64Type>().values(), &[4]);
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
                memory_limit_bytes: None,
                rows_written: rows_written.clone(),
                elapsed: Time::new(),
            };
            let mut feeding = Box::pin(feed(Box::pin(endless), write, None));
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
