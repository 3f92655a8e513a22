//! How a batch gets onto a device, and what is done when it does not fit.
//!
//! ```text
//! give back memory kept for later → wait for other batches → halve the batch → one row: on the CPU
//!                                                                              (the run insists on a GPU: set aside)
//! ```
//! Each step is counted. The halves go the same way, so a batch gets as small as it must and no smaller.

use super::engine::share_of_device;
use super::segment::MEMORY_UNIT_BYTES;
use super::stream::DeviceStream;
use crate::config::format_bytes;
use crate::exec::admission::{SharePermit, ShareSemaphore};
use crate::exec::annotate::is_of_data;
use crate::exec::coalesce::{BatchSize, slice_bytes};
use crate::gpu::{DeviceBatch, DeviceSeconds, GpuError, Results};
use crate::sources::{Reject, RejectKind};
use crate::{Error, bug};
use arrow::array::{ArrayRef, RecordBatch};
use datafusion::error::Result;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// How often a batch asks again whether memory of others' batches came free.
const ASK_AGAIN: Duration = Duration::from_millis(1);

/// Results to come, with the time that the device took.
type Waiting = JoinHandle<Result<(Results, DeviceSeconds), GpuError>>;

/// A batch under way. The host's columns are kept: those that did not go over, and all of them if the device fails.
pub(super) enum Job {
    Device {
        batch: RecordBatch,
        place: usize,
        results: Waiting,
        n_bytes_back: usize,
    },
    /// It waits here for its turn, so that rows stay in order.
    Host(RecordBatch),
}

/// What became of an attempt to send a batch.
enum Attempt {
    Sent(Job),
    Halve,
    SetAside,
}

impl DeviceStream {
    /// Puts a batch under way, whole or in parts.
    pub async fn send(&mut self, batch: RecordBatch) -> Result<()> {
        let mut parts = self.sized(&batch);
        while let Some(part) = parts.pop() {
            match self.attempt(&part).await? {
                Attempt::Sent(job) => self.in_flight.push_back(job),
                Attempt::Halve => {
                    self.counts.splits.add(1);
                    let half = part.num_rows() / 2;
                    parts.push(part.slice(half, part.num_rows() - half));
                    parts.push(part.slice(0, half));
                }
                Attempt::SetAside => self.set_aside(&part)?,
            }
        }
        Ok(())
    }

    /// A batch in parts of the size planned, the last first.
    fn sized(&self, batch: &RecordBatch) -> Vec<RecordBatch> {
        let BatchSize { rows, bytes } = self.batch_size();
        let n_rows = batch.num_rows();
        let n_parts = n_rows.div_ceil(rows.max(1)).max(slice_bytes(batch).div_ceil(bytes.max(1)));
        let part_rows = n_rows.div_ceil(n_parts.max(1)).max(1);
        let starts = (0..n_rows).step_by(part_rows).rev();
        starts.map(|start| batch.slice(start, part_rows.min(n_rows - start))).collect()
    }

    async fn attempt(&mut self, batch: &RecordBatch) -> Result<Attempt> {
        let on_host = || Ok(Attempt::Sent(Job::Host(batch.clone())));
        if self.must_stay() && self.segment.require {
            let message = "reject_detail = 'all' runs every rule on the CPU, and the run insists on a GPU";
            return Err(Error::Data(message.to_string()).into());
        }
        if self.gave_up || self.must_stay() || !self.take_seat().await? {
            return on_host();
        }
        let Some((seat, loaded)) = &self.seat else { return on_host() };
        let (place, device, semaphore, loaded) =
            (seat.place, Arc::clone(&seat.device), Arc::clone(&seat.semaphore), Arc::clone(loaded));
        let columns: Vec<ArrayRef> =
            self.segment.columns.iter().map(|&column| Arc::clone(batch.column(column))).collect();

        let mut permits = vec![self.acquire(&semaphore, share_of_device(self.segment.resources.gpus, 1)).await?];
        if let Some(memory) = self.segment.memory.clone() {
            let slab_bytes = match device.slab_bytes(&loaded, &columns) {
                Ok(slab_bytes) => slab_bytes,
                Err(error) => return self.failed(place, &error, batch),
            };
            let units = slab_bytes.div_ceil(MEMORY_UNIT_BYTES);
            match u32::try_from(units).ok().filter(|units| *units <= memory.n_parts()) {
                Some(units) => permits.push(self.acquire(&memory, units).await?),
                None => return self.too_big(batch),
            }
        }

        let (mut has_trimmed, mut has_waited) = (false, false);
        loop {
            let (needed_bytes, limit_bytes, in_use_bytes) = match device.upload(&loaded, &columns) {
                Ok(sent) => match self.launch(sent, &mut permits) {
                    Ok((results, n_bytes_back)) => {
                        let batch = batch.clone();
                        let job = Job::Device { batch, place, results, n_bytes_back };
                        return Ok(Attempt::Sent(job));
                    }
                    Err(GpuError::OutOfMemory { needed_bytes, limit_bytes, in_use_bytes }) => {
                        (needed_bytes, limit_bytes, in_use_bytes)
                    }
                    Err(error) => return self.failed(place, &error, batch),
                },
                Err(GpuError::OutOfMemory { needed_bytes, limit_bytes, in_use_bytes }) => {
                    (needed_bytes, limit_bytes, in_use_bytes)
                }
                Err(error) => return self.failed(place, &error, batch),
            };
            if needed_bytes > limit_bytes {
                return self.too_big(batch);
            }
            if !std::mem::replace(&mut has_trimmed, true) {
                self.counts.trims.add(1);
                device.release_unused();
            } else if self.finish_one().await? {
                self.counts.waits.add(1);
            } else if in_use_bytes > 0 {
                // Batches of other partitions; they end without this one.
                self.counts.waits.add(usize::from(!std::mem::replace(&mut has_waited, true)));
                tokio::time::sleep(ASK_AGAIN).await;
            } else {
                return self.too_big(batch);
            }
        }
    }

    /// Finds a device that works and loads the kernel there. False: there is none.
    async fn take_seat(&mut self) -> Result<bool> {
        if self.seat.as_ref().is_some_and(|(seat, _)| self.engine.is_lost(seat.place)) {
            self.seat = None;
        }
        while self.seat.is_none() {
            if self.gave_up {
                return Ok(false);
            }
            let Some(seat) = self.engine.device(self.partition) else {
                return if self.segment.require {
                    Err(Error::Device("no GPU is left".into()).into())
                } else {
                    Ok(false)
                };
            };
            let (device, program) = (Arc::clone(&seat.device), Arc::clone(&self.program));
            let loading = tokio::task::spawn_blocking(move || match device.load(&program) {
                Err(GpuError::OutOfMemory { .. }) => {
                    device.release_unused();
                    device.load(&program)
                }
                loaded => loaded,
            });
            match loading.await.map_err(|error| bug!("loading a kernel: {error}"))? {
                Ok(loaded) => self.seat = Some((seat, loaded)),
                Err(error) => self.lose(seat.place, &error)?,
            }
        }
        Ok(true)
    }

    /// Leave to use a part of something. Own batches are finished first: they may hold what is asked for.
    async fn acquire(&mut self, semaphore: &Arc<ShareSemaphore>, n_parts: u32) -> Result<SharePermit> {
        loop {
            if let Some(permit) = semaphore.try_acquire(n_parts) {
                return Ok(permit);
            }
            if !self.finish_one().await? {
                return Ok(Arc::clone(semaphore).acquire(n_parts).await);
            }
        }
    }

    /// Puts a batch that was copied in under way. What it holds of the device is given back when the device is done with
    /// it, whether or not anybody reads the results then.
    fn launch(&self, mut sent: DeviceBatch, permits: &mut Vec<SharePermit>) -> Result<(Waiting, usize), GpuError> {
        self.copies_in.add(sent.input_bytes());
        sent.launch()?;
        self.counts.batches.add(1);
        self.counts.launches.add(sent.n_launches());
        let n_bytes_back = sent.output_bytes();
        let pending = sent.download()?;
        let permits = std::mem::take(permits);
        let waiting = tokio::task::spawn_blocking(move || {
            let done = pending.wait_timed();
            drop(permits);
            done
        });
        Ok((waiting, n_bytes_back))
    }

    fn failed(&mut self, place: usize, error: &GpuError, batch: &RecordBatch) -> Result<Attempt> {
        self.lose(place, error)?;
        Ok(Attempt::Sent(Job::Host(batch.clone())))
    }

    /// A batch that does not fit when it is alone.
    fn too_big(&self, batch: &RecordBatch) -> Result<Attempt> {
        Ok(match batch.num_rows() {
            2.. => Attempt::Halve,
            _ if self.segment.require => Attempt::SetAside,
            _ => Attempt::Sent(Job::Host(batch.clone())),
        })
    }

    fn set_aside(&self, row: &RecordBatch) -> Result<()> {
        self.counts.set_aside.add(row.num_rows());
        let n_bytes = format_bytes(slice_bytes(row));
        let fields = row.schema_ref().fields();
        let columns: Vec<usize> = (0..fields.len()).filter(|index| is_of_data(&fields[*index])).collect();
        let mut document = arrow::json::LineDelimitedWriter::new(vec![]);
        document.write(&row.project(&columns)?)?;
        document.finish()?;
        let Some(rejects) = &self.rejects else {
            return Err(Error::Device(format!("a row of {n_bytes} does not fit the GPU's memory")).into());
        };
        rejects.report(Reject {
            file: "rows that fit no GPU".to_string(),
            line: 0,
            byte_offset: 0,
            kind: RejectKind::TooLargeForGpu,
            reason: format!("a row of {n_bytes} does not fit the GPU's memory, and the run insists on a GPU"),
            raw: document.into_inner(),
        })?;
        Ok(())
    }
}
