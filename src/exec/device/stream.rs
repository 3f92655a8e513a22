//! The stream of rows that come back from a device.
//!
//! ```text
//! input ──collect──► batch ──send──► in flight: [batch 3, batch 4] ──finish──► ready: rows left of batch 2 ──► out
//! ```
//! Sending puts a copy in, a launch and a copy back into a stream of the device and does not wait; the oldest batch is
//! waited for when enough are under way. Rows go out in the order in which they came in.

use super::DeviceExec;
use super::counts::{BatchCounts, CopyCounts};
use super::engine::{Engine, Seat};
use super::ladder::Job;
use super::segment::Segment;
use crate::exec::annotate::{Computed, Evaluator};
use crate::exec::coalesce::{BatchSize, Coalescer};
use crate::exec::write::RunLog;
use crate::gpu::{GpuError, Loaded};
use crate::sources::RejectLog;
use crate::{Error, bug};
use arrow::array::RecordBatch;
use datafusion::error::Result;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, SendableRecordBatchStream};
use futures::StreamExt;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// One partition's way over a device.
pub(super) struct DeviceStream {
    pub segment: Arc<Segment>,
    pub engine: Arc<Engine>,
    pub partition: usize,
    /// The device it is on, with the kernel; `None` before the first batch.
    pub seat: Option<(Seat, Arc<Loaded>)>,
    pub counts: BatchCounts,
    pub copies_in: CopyCounts,
    pub copies_out: CopyCounts,
    pub in_flight: VecDeque<Job>,
    pub rejects: Option<Arc<RejectLog>>,
    /// The device does not take these operators: they are computed here.
    pub gave_up: bool,
    evaluator: Evaluator,
    log: Option<Arc<RunLog>>,
    /// `None` once it ended or nothing more is needed.
    input: Option<SendableRecordBatchStream>,
    waiting: Coalescer,
    ready: VecDeque<RecordBatch>,
    outgoing: Coalescer,
    rows_to_fetch: Option<usize>,
    baseline: BaselineMetrics,
}

/// What a stream takes from its run.
pub(super) struct RunParts {
    pub log: Option<Arc<RunLog>>,
    pub rejects: Option<Arc<RejectLog>>,
}

impl DeviceStream {
    pub fn start(
        node: &DeviceExec,
        engine: Arc<Engine>,
        input: SendableRecordBatchStream,
        evaluator: Evaluator,
        run: RunParts,
        [way_in, device, way_back]: [&ExecutionPlanMetricsSet; 3],
        partition: usize,
    ) -> SendableRecordBatchStream {
        let segment = Arc::clone(node.segment());
        let schema = node.schema();
        let options = node.annotate().options();
        let outgoing = BatchSize { rows: segment.batch.rows, bytes: options.batch_bytes };
        let stream = Self {
            engine,
            partition,
            seat: None,
            counts: BatchCounts::new(device, partition),
            copies_in: CopyCounts::new(way_in, partition),
            copies_out: CopyCounts::new(way_back, partition),
            in_flight: VecDeque::new(),
            rejects: run.rejects,
            gave_up: false,
            evaluator,
            log: run.log,
            waiting: Coalescer::new(input.schema(), segment.batch),
            input: Some(input),
            ready: VecDeque::new(),
            outgoing: Coalescer::new(Arc::clone(&schema), outgoing),
            rows_to_fetch: options.fetch,
            baseline: BaselineMetrics::new(way_back, partition),
            segment,
        };
        let rows = futures::stream::try_unfold(stream, |mut stream| async move {
            let next = stream.next().await?;
            Ok(next.map(|batch| (batch, stream)))
        });
        Box::pin(RecordBatchStreamAdapter::new(schema, rows))
    }

    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            while let Some(batch) = self.ready.pop_front() {
                let batch = self.up_to_fetch(batch);
                if let Some(batch) = self.outgoing.push(batch)? {
                    self.baseline.record_output(batch.num_rows());
                    return Ok(Some(batch));
                }
            }
            if self.rows_to_fetch == Some(0) {
                self.input = None;
                self.in_flight.clear();
            } else if self.in_flight.len() < self.segment.n_in_flight
                && let Some(batch) = self.collect().await?
            {
                self.send(batch).await?;
                continue;
            }
            if !self.finish_one().await? {
                let rest = self.outgoing.flush()?;
                rest.iter().for_each(|batch| self.baseline.record_output(batch.num_rows()));
                return Ok(rest);
            }
        }
    }

    fn up_to_fetch(&mut self, batch: RecordBatch) -> RecordBatch {
        let Some(rows_to_fetch) = &mut self.rows_to_fetch else { return batch };
        let batch = batch.slice(0, batch.num_rows().min(*rows_to_fetch));
        *rows_to_fetch -= batch.num_rows();
        batch
    }

    /// The next batch of the size that the device should get.
    async fn collect(&mut self) -> Result<Option<RecordBatch>> {
        while let Some(input) = &mut self.input {
            match input.next().await {
                Some(batch) => {
                    if let Some(batch) = self.waiting.push(batch?)? {
                        return Ok(Some(batch));
                    }
                }
                None => self.input = None,
            }
        }
        self.waiting.flush()
    }

    /// Waits for the oldest batch under way; false if there is none.
    pub async fn finish_one(&mut self) -> Result<bool> {
        let Some(job) = self.in_flight.pop_front() else { return Ok(false) };
        let left = match job {
            Job::Host(batch) => self.on_cpu(&batch)?,
            Job::Device { batch, place, results, n_bytes_back } => {
                let results = results.await.map_err(|error| bug!("waiting for a device: {error}"))?;
                match results {
                    Ok((results, seconds)) => {
                        self.copies_out.add(n_bytes_back);
                        let times = [&self.copies_in.time, &self.counts.time, &self.copies_out.time];
                        for (time, seconds) in
                            times.into_iter().zip([seconds.copy_in, seconds.compute, seconds.copy_out])
                        {
                            time.add_duration(Duration::try_from_secs_f64(seconds).unwrap_or_default());
                        }
                        let made =
                            |(place, result): &(usize, usize)| Some((*place, results.outputs.get(*result)?.clone()));
                        let outputs = self.segment.outputs.iter().filter_map(made).collect();
                        let computed = Computed { dropped_by: results.failed, outputs };
                        self.evaluator.finish(&batch, computed)?
                    }
                    Err(error) => {
                        self.lose(place, &error)?;
                        self.on_cpu(&batch)?
                    }
                }
            }
        };
        self.ready.push_back(left);
        Ok(true)
    }

    fn on_cpu(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        self.counts.cpu_batches.add(1);
        self.evaluator.run(batch)
    }

    /// Whether batches must run here, whatever the device could do.
    pub fn must_stay(&self) -> bool {
        self.evaluator.wants_all()
    }

    /// A device failed: says so once and uses it no more. A kernel alone that it does not take is computed here instead,
    /// and the device is left to others. Where the run insists on a GPU, either ends it.
    pub fn lose(&mut self, place: usize, error: &GpuError) -> Result<()> {
        if self.segment.require {
            return Err(Error::Device(format!("GPU {place} failed: {error}")).into());
        }
        self.seat = None;
        match error {
            GpuError::Compile(_) | GpuError::Refused(_) => {
                let is_first = !std::mem::replace(&mut self.gave_up, true);
                let message = format!("GPU {place}: {error}\nwhat was to run there runs on the CPU");
                // Each partition finds out by itself; one of them says it.
                (is_first && self.partition == 0).then(|| self.say(message));
            }
            _ if self.engine.lose(place) => {
                self.say(format!("GPU {place} failed: {error}\nwhat was to run on it runs on the CPU from here on"));
            }
            _ => {}
        }
        Ok(())
    }

    /// Something that the user should know, in the report and at once.
    pub fn say(&self, message: String) {
        tracing::warn!("{message}");
        if let Some(log) = &self.log {
            log.note(message);
        }
    }
}
