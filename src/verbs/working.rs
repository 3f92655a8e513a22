//! Threads of their own for a verb that must see all rows before it gives the first, or that works on files: batches come and
//! go through short queues, so that nobody on the runtime's threads waits for it.
//!
//! ```text
//! rows 0 ──queue──► ┐                          ┌ ──queue──► output 0
//! rows 1 ──queue──► ┼─► one thread leads; ─────┼ ──queue──► output 1
//! others ──queue──► ┘   `in_parallel` forks    ┘
//! ```
//! Invariant: an output that stops early ends with an error. The verb goes on as long as anybody reads one of its outputs.

use crate::verb::Start;
use crate::{Error, Result, bug};
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::runtime::SpawnedTask;
use datafusion::error::{DataFusionError, Result as PlanResult};
use datafusion::execution::TaskContext;
use datafusion::physical_plan::SendableRecordBatchStream;
use datafusion::physical_plan::metrics::{Count, MetricBuilder};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::StreamExt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::sync::watch;

/// Batches that may wait for a working thread, and for whoever reads its output.
const QUEUE_BATCHES: usize = 4;

/// What comes to a working thread. A queue that closes without `End` means: give up.
enum Message {
    Rows(RecordBatch),
    End,
}

/// How a run of the verb ended; `None` while it goes on.
type Verdict = Option<Result<(), Arc<DataFusionError>>>;

/// What a verb works with.
pub(super) struct Working {
    /// The partitions of the rows.
    pub rows: Vec<Input>,
    /// What else it reads.
    pub others: Vec<Input>,
    /// One for each partition of the rows, or one in all.
    pub outputs: Vec<Output>,
    /// Ends all inputs.
    pub stop: Stop,
}

/// Runs `work` on a thread of its own. Gives its outputs.
pub(super) fn on_working_threads(
    start: Start<'_>,
    work: impl FnOnce(Working, &TaskContext) -> Result<()> + Send + 'static,
) -> PlanResult<Vec<SendableRecordBatchStream>> {
    let (stop, failure) = (Stop::default(), Failure::default());
    let mut tasks = vec![];
    let mut input = |rows: SendableRecordBatchStream| {
        let (sender, queue) = mpsc::channel(QUEUE_BATCHES);
        tasks.push(SpawnedTask::spawn(hand_on(rows, sender, failure.clone())));
        Input { queue, stop: stop.clone() }
    };
    let rows: Vec<Input> = start.rows.into_iter().map(&mut input).collect();
    let others: Vec<Input> = start.others.into_iter().map(&mut input).collect();
    let n_open = Arc::new(AtomicUsize::new(start.n_outputs));
    let (mut outputs, mut queues) = (vec![], vec![]);
    for partition in 0..start.n_outputs {
        let (queue, receiver) = mpsc::channel(QUEUE_BATCHES);
        let n_rows = MetricBuilder::new(start.metrics).output_rows(partition);
        let is_complete = Arc::new(AtomicBool::new(false));
        queues.push((receiver, Arc::clone(&is_complete)));
        outputs.push(Output { queue, n_rows, n_open: Arc::clone(&n_open), is_complete });
    }
    let (context, working) = (start.context, Working { rows, others, outputs, stop });
    let leading = SpawnedTask::spawn_blocking(move || work(working, &context));
    let (verdict, said) = watch::channel(None);
    tasks.push(SpawnedTask::spawn(async move {
        let ended = match leading.join().await {
            Ok(Ok(())) => Ok(()),
            // An input failed; or nobody reads any more, and so nobody hears of this either.
            Ok(Err(Error::Interrupted)) => failure.take().map_or(Ok(()), Err),
            Ok(Err(error)) => Err(error.into()),
            Err(died) => Err(bug!("a working thread died: {died}").into()),
        };
        // Nobody listens if all outputs are gone.
        let _ = verdict.send(Some(ended.map_err(Arc::new)));
    }));
    let tasks = Arc::new(tasks);
    let schema = start.schema;
    let streams = queues.into_iter().map(|(queue, is_complete)| {
        read(Arc::clone(&schema), Reading { queue, is_complete, said: said.clone(), _tasks: Arc::clone(&tasks) })
    });
    Ok(streams.collect())
}

/// Sends the rows of one stream to a working thread.
async fn hand_on(mut rows: SendableRecordBatchStream, queue: Sender<Message>, failure: Failure) {
    while let Some(batch) = rows.next().await {
        match batch {
            // The working thread stopped: it failed, and says why, or nobody reads its output any more.
            Ok(batch) => {
                if queue.send(Message::Rows(batch)).await.is_err() {
                    return;
                }
            }
            Err(error) => return failure.set(error),
        }
    }
    let _ = queue.send(Message::End).await;
}

/// Why an input ended early; of several the first.
#[derive(Clone, Default)]
struct Failure(Arc<Mutex<Option<DataFusionError>>>);

impl Failure {
    fn set(&self, error: DataFusionError) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    fn take(&self) -> Option<DataFusionError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// One output, as it is read.
struct Reading {
    queue: Receiver<RecordBatch>,
    is_complete: Arc<AtomicBool>,
    said: watch::Receiver<Verdict>,
    /// Ended when nobody reads any output.
    _tasks: Arc<Vec<SpawnedTask<()>>>,
}

fn read(schema: SchemaRef, reading: Reading) -> SendableRecordBatchStream {
    let batches = futures::stream::try_unfold(reading, |mut reading| async move {
        if let Some(batch) = reading.queue.recv().await {
            return Ok(Some((batch, reading)));
        }
        if reading.is_complete.load(Ordering::Acquire) {
            return Ok(None);
        }
        // Closed, by the end of the run or by a thread that died.
        let verdict = reading.said.wait_for(Option::is_some).await;
        match verdict.as_deref() {
            Ok(Some(Ok(()))) => Ok(None),
            Ok(Some(Err(error))) => Err(DataFusionError::Shared(Arc::clone(error))),
            Ok(None) | Err(_) => Err(bug!("a working thread went away").into()),
        }
    });
    Box::pin(RecordBatchStreamAdapter::new(schema, batches))
}

/// One input, batch by batch.
pub(super) struct Input {
    queue: Receiver<Message>,
    stop: Stop,
}

impl Input {
    /// The next batch; `None` after the last.
    pub fn next(&mut self) -> Result<Option<RecordBatch>> {
        match self.queue.blocking_recv() {
            Some(_) if self.stop.is_set() => Err(Error::Interrupted),
            Some(Message::Rows(batch)) => Ok(Some(batch)),
            Some(Message::End) => Ok(None),
            // The input failed, and its own error is known.
            None => Err(Error::Interrupted),
        }
    }
}

/// One output.
pub(super) struct Output {
    queue: Sender<RecordBatch>,
    n_rows: Count,
    n_open: Arc<AtomicUsize>,
    is_complete: Arc<AtomicBool>,
}

impl Output {
    /// Passes rows on.
    pub fn send(&self, batch: RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        self.n_rows.add(batch.num_rows());
        // Nobody reads any more, so nobody hears of this either.
        self.queue.blocking_send(batch).map_err(|_| Error::Interrupted)
    }

    /// Whether anybody still reads it.
    pub fn is_read(&self) -> bool {
        !self.queue.is_closed()
    }

    /// No more rows will come, though other outputs may get some. The last one to end waits for the end of the run, whose
    /// errors would else reach nobody.
    pub fn end(self) {
        if self.n_open.fetch_sub(1, Ordering::AcqRel) > 1 {
            self.is_complete.store(true, Ordering::Release);
        }
    }
}

/// Tells the threads of one run that one of them failed.
#[derive(Debug, Clone, Default)]
pub(super) struct Stop(Arc<AtomicBool>);

impl Stop {
    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Calls `work` with each item and its number, each on a thread of its own; gives what they give, in order. Of several
/// errors one that says something.
pub(super) fn in_parallel<T: Send, R: Send>(
    stop: &Stop,
    items: Vec<T>,
    work: impl Fn(usize, T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    if items.len() == 1 {
        return items.into_iter().enumerate().map(|(number, item)| work(number, item)).collect();
    }
    let run = |number: usize, item: T| {
        let done = work(number, item);
        if done.is_err() {
            stop.0.store(true, Ordering::Relaxed);
        }
        done
    };
    let results: Vec<Result<R>> = std::thread::scope(|scope| {
        let begin = |(number, item)| {
            let run = &run;
            let thread = std::thread::Builder::new().name(format!("curator-verb-{number}"));
            thread.spawn_scoped(scope, move || run(number, item))
        };
        let threads: Vec<_> = items.into_iter().enumerate().map(begin).collect();
        let join = |thread: std::io::Result<std::thread::ScopedJoinHandle<'_, Result<R>>>| {
            let thread = thread.map_err(|error| Error::Data(format!("cannot start a thread: {error}")))?;
            thread.join().map_err(|_| bug!("a working thread died"))?
        };
        threads.into_iter().map(join).collect()
    });
    let (mut done, mut error) = (Vec::with_capacity(results.len()), None);
    for result in results {
        match result {
            Ok(value) => done.push(value),
            Err(Error::Interrupted) if error.is_some() => {}
            Err(later) if matches!(error, None | Some(Error::Interrupted)) => error = Some(later),
            Err(_) => {}
        }
    }
    error.map_or(Ok(done), Err)
}
