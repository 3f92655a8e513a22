//! The stream of an [`AnnotateExec`]: batch by batch through the program.

use super::AnnotateExec;
use super::evaluator::Evaluator;
use crate::exec::admission::{SharePermit, ShareSemaphore};
use crate::exec::coalesce::{BatchSize, Coalescer};
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::error::Result;
use datafusion::physical_plan::metrics::BaselineMetrics;
use datafusion::physical_plan::{ExecutionPlan, RecordBatchStream, SendableRecordBatchStream};
use futures::future::BoxFuture;
use futures::{FutureExt, Stream, StreamExt};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

pub(super) struct AnnotateStream {
    evaluator: Evaluator,
    schema: SchemaRef,
    rows_to_fetch: Option<usize>,
    coalescer: Coalescer,
    /// `None` once it ended or nothing more is needed; its resources are then free.
    input: Option<SendableRecordBatchStream>,
    /// Parts of the batch that came last, in the size that the query asks for, the next one last.
    waiting: Vec<RecordBatch>,
    part_rows: usize,
    /// Only so many batches may be worked on at once, in all partitions.
    semaphore: Option<Arc<ShareSemaphore>>,
    acquiring: Option<BoxFuture<'static, SharePermit>>,
    baseline: BaselineMetrics,
}

impl AnnotateStream {
    pub fn new(
        node: &AnnotateExec,
        target: BatchSize,
        input: SendableRecordBatchStream,
        evaluator: Evaluator,
        partition: usize,
    ) -> Self {
        Self {
            evaluator,
            schema: node.schema(),
            rows_to_fetch: node.options.fetch,
            coalescer: Coalescer::new(node.schema(), target),
            input: Some(input),
            waiting: vec![],
            part_rows: node.options.resources.batch_size.map_or(usize::MAX, |n_rows| n_rows as usize),
            semaphore: node.semaphore.clone(),
            acquiring: None,
            baseline: BaselineMetrics::new(&node.metrics, partition),
        }
    }

    fn annotate(&mut self, batch: &RecordBatch) -> Result<Option<RecordBatch>> {
        let mut done = self.evaluator.run(batch)?;
        if let Some(rows_to_fetch) = &mut self.rows_to_fetch {
            done = done.slice(0, done.num_rows().min(*rows_to_fetch));
            *rows_to_fetch -= done.num_rows();
            if *rows_to_fetch == 0 {
                self.input = None;
                self.waiting.clear();
            }
        }
        self.coalescer.push(done)
    }

    fn poll_batch(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<RecordBatch>>> {
        loop {
            if !self.waiting.is_empty() {
                let _ticket = ready!(self.poll_acquire(cx));
                let Some(batch) = self.waiting.pop() else { continue };
                let elapsed = self.baseline.elapsed_compute().clone();
                let _timer = elapsed.timer();
                if let Some(done) = self.annotate(&batch).transpose() {
                    return Poll::Ready(Some(done));
                }
                continue;
            }
            let Some(input) = &mut self.input else { return Poll::Ready(self.coalescer.flush().transpose()) };
            match ready!(input.poll_next_unpin(cx)) {
                Some(Ok(batch)) => {
                    let starts = (0..batch.num_rows()).step_by(self.part_rows.max(1)).rev();
                    let part = |start: usize| batch.slice(start, self.part_rows.min(batch.num_rows() - start));
                    self.waiting.extend(starts.map(part));
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => self.input = None,
            }
        }
    }

    /// Waits until this batch may be worked on.
    fn poll_acquire(&mut self, cx: &mut Context<'_>) -> Poll<Option<SharePermit>> {
        let Some(semaphore) = &self.semaphore else { return Poll::Ready(None) };
        let acquiring = self.acquiring.get_or_insert_with(|| Arc::clone(semaphore).acquire(1).boxed());
        let permit = ready!(acquiring.poll_unpin(cx));
        self.acquiring = None;
        Poll::Ready(Some(permit))
    }
}

impl Stream for AnnotateStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.poll_batch(cx);
        self.baseline.record_poll(polled)
    }
}

impl RecordBatchStream for AnnotateStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
