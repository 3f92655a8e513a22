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
use crate::exec::RunLog;
use crate::exec::annotate::{Computed, Evaluator};
use crate::exec::coalesce::{BatchSize, Coalescer};
use crate::gpu::{GpuError, Groups, Loaded, Program, Results};
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
    /// What is computed: the segment's program, or the same without groups once a batch had too many of them.
    pub program: Arc<Program>,
    /// The device it is on, with the kernel; `None` before the first batch.
    pub seat: Option<(Seat, Arc<Loaded>)>,
    pub counts: BatchCounts,
    pub copies_in: CopyCounts,
    pub copies_out: CopyCounts,
    pub in_flight: VecDeque<Job>,
    /// Batches with too many groups: they go over again, for their rows.
    again: Vec<RecordBatch>,
    pub rejects: Option<Arc<RejectLog>>,
    /// The device does not take these operators: they are computed here.
    pub gave_up: bool,
    evaluator: Evaluator,
    log: Option<Arc<RunLog>>,
    /// `None` once it ended or nothing more is needed.
    input: Option<SendableRecordBatchStream>,
    /// Made with the first rows, which say how many go over at a time.
    waiting: Option<(BatchSize, Coalescer)>,
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
            program: Arc::clone(&segment.program),
            seat: None,
            counts: BatchCounts::new(device, partition),
            copies_in: CopyCounts::new(way_in, partition),
            copies_out: CopyCounts::new(way_back, partition),
            in_flight: VecDeque::new(),
            again: vec![],
            rejects: run.rejects,
            gave_up: false,
            evaluator,
            log: run.log,
            waiting: None,
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
            } else if let Some(batch) = self.again.pop() {
                self.send(batch).await?;
                continue;
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
                    let batch = batch?;
                    if batch.num_rows() == 0 {
                        continue;
                    }
                    let segment = &self.segment;
                    let (_, waiting) = self.waiting.get_or_insert_with(|| {
                        let size = segment.sized_by(&batch);
                        (size, Coalescer::new(batch.schema(), size))
                    });
                    if let Some(batch) = waiting.push(batch)? {
                        return Ok(Some(batch));
                    }
                }
                None => self.input = None,
            }
        }
        self.waiting.as_mut().map_or(Ok(None), |(_, waiting)| waiting.flush())
    }

    /// How many rows go over at a time.
    pub fn batch_size(&self) -> BatchSize {
        self.waiting.as_ref().map_or(self.segment.batch, |(size, _)| *size)
    }

    /// Waits for the oldest batch under way; false if there is none.
    pub async fn finish_one(&mut self) -> Result<bool> {
        let Some(job) = self.in_flight.pop_front() else { return Ok(false) };
        let left = match job {
            Job::Host(batch) => Some(self.on_cpu(&batch)?),
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
                        self.landed(&batch, results)?
                    }
                    Err(error) => {
                        self.lose(place, &error)?;
                        Some(self.on_cpu(&batch)?)
                    }
                }
            }
        };
        self.ready.extend(left);
        Ok(true)
    }

    /// What is left of a batch whose results are there; none if it has to go over again.
    fn landed(&mut self, batch: &RecordBatch, results: Results) -> Result<Option<RecordBatch>> {
        let segment = Arc::clone(&self.segment);
        match (&segment.groups, results.groups) {
            (Some(states), Some(Groups::All(groups))) if states.are_exact(&groups) => {
                self.evaluator.account(batch, results.failed.as_deref())?;
                states.batch(&groups).map(Some)
            }
            (Some(_), Some(_)) => {
                // Others will have as many: their rows come back, and are grouped here.
                self.counts.full.add(1);
                self.program = segment.program_of_rows()?;
                self.seat = None;
                self.again.push(batch.clone());
                Ok(None)
            }
            _ => {
                let made = |(place, result): &(usize, usize)| Some((*place, results.outputs.get(*result)?.clone()));
                let outputs = segment.outputs.iter().filter_map(made).collect();
                let computed = Computed { dropped_by: results.failed, outputs };
                let rows = self.evaluator.finish(batch, computed)?;
                segment.of_rows(rows).map(Some)
            }
        }
    }

    fn on_cpu(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        self.counts.cpu_batches.add(1);
        let rows = self.evaluator.run(batch)?;
        self.segment.of_rows(rows)
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
