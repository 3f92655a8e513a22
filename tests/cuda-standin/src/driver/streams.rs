//! Streams: queues of work that runs when someone waits for it.
//!
//! A GPU works on while the host goes on, so a program must not look at a result before it has waited. Here nothing runs
//! until then, and a program that does not wait surely sees the old bytes. With `EAGER` work runs at once, the other
//! extreme.
//!
//! ```text
//! stream a   copy ─ launch ─ record e ┄┄┄┄┄┄┐
//! stream b   copy ─ wait e (= a, up to 3) ◀─┘ ─ launch ─ copy        waiting for b runs all of this
//! ```
//!
//! Invariant: the work of a stream runs in the order in which it was queued, and after all it waits for.
//! The default stream and the streams that are not made "non-blocking" wait for each other, as CUDA's legacy one does.

use super::state::{Driver, Handle};
use super::status::Status;
use super::work::Work;
use std::collections::VecDeque;

/// A stream.
pub struct Stream {
    pub device: usize,
    /// Whether it and the default stream wait for each other.
    pub is_blocking: bool,
    pub priority: i32,
    /// Whether its work is being recorded for a graph.
    pub capture: Option<Handle>,
    queue: VecDeque<(u64, Work)>,
    n_queued: u64,
    n_done: u64,
}

impl Stream {
    /// An empty stream.
    pub fn new(device: usize, is_blocking: bool) -> Stream {
        Stream { device, is_blocking, priority: 0, capture: None, queue: VecDeque::new(), n_queued: 0, n_done: 0 }
    }

    /// How much work was queued so far: the number of the last.
    pub fn n_queued(&self) -> u64 {
        self.n_queued
    }

    /// Whether all work up to a number is over.
    pub fn is_done(&self, number: u64) -> bool {
        self.n_done >= number.min(self.n_queued)
    }

    /// Forgets what is queued.
    pub fn drop_work(&mut self) {
        self.queue.clear();
        self.n_done = self.n_queued;
    }

    fn push(&mut self, work: Work) {
        self.n_queued += 1;
        self.queue.push_back((self.n_queued, work));
    }
}

impl Driver {
    /// The stream that a handle means on a device: 0, 1 and 2 are CUDA's names for the default one.
    pub fn resolve(&self, device: usize, stream: Handle) -> Result<Handle, Status> {
        match stream {
            0..=2 => Ok(self.devices[device].default_stream),
            stream if self.streams.contains_key(&stream) => Ok(stream),
            _ => Err(Status::INVALID_HANDLE),
        }
    }

    /// A stream by its resolved handle.
    pub fn stream(&self, stream: Handle) -> Result<&Stream, Status> {
        self.streams.get(&stream).ok_or(Status::INVALID_HANDLE)
    }

    pub(super) fn stream_mut(&mut self, stream: Handle) -> Result<&mut Stream, Status> {
        self.streams.get_mut(&stream).ok_or(Status::INVALID_HANDLE)
    }

    /// Makes a stream.
    pub fn create_stream(&mut self, device: usize, is_blocking: bool, priority: i32) -> Handle {
        let handle = self.handle();
        self.streams.insert(handle, Stream { priority, ..Stream::new(device, is_blocking) });
        self.devices[device].counters.streams += 1;
        handle
    }

    /// Runs what a stream holds and removes it.
    pub fn destroy_stream(&mut self, stream: Handle) -> Result<(), Status> {
        let ran = self.run(stream, u64::MAX);
        self.streams.remove(&stream).ok_or(Status::INVALID_HANDLE)?;
        ran
    }

    /// Queues work on a stream, or records it if the stream is being captured.
    pub fn queue(&mut self, stream: Handle, work: Work) -> Result<(), Status> {
        let held = self.stream(stream)?;
        let (device, is_blocking, captured_by) = (held.device, held.is_blocking, held.capture);
        self.usable(device)?;
        if let Some(capture) = captured_by {
            return self.record_for_graph(capture, work);
        }
        let default = self.devices[device].default_stream;
        let waits_for: Vec<(Handle, u64)> = if stream == default {
            let others = self.streams.iter().filter(|(other, held)| {
                **other != stream && held.device == device && held.is_blocking && !held.is_done(u64::MAX)
            });
            others.map(|(other, held)| (*other, held.n_queued)).collect()
        } else if is_blocking {
            vec![(default, self.stream(default)?.n_queued)]
        } else {
            Vec::new()
        };
        for (other, number) in waits_for {
            if !self.stream(other)?.is_done(number) {
                self.stream_mut(stream)?.push(Work::Wait { stream: other, number });
            }
        }
        let counters = &mut self.devices[device].counters;
        counters.launches_in_flight += work.n_launches();
        counters.most_launches_in_flight = counters.most_launches_in_flight.max(counters.launches_in_flight);
        self.stream_mut(stream)?.push(work);
        if self.settings.eager { self.run(stream, u64::MAX) } else { Ok(()) }
    }

    /// Runs the work of a stream up to a number.
    pub fn run(&mut self, stream: Handle, number: u64) -> Result<(), Status> {
        loop {
            let Some(held) = self.streams.get(&stream) else { return Ok(()) };
            self.usable(held.device)?;
            match held.queue.front() {
                Some((next, _)) if *next <= number => self.run_one(stream)?,
                _ => return Ok(()),
            }
        }
    }

    /// Runs the next work of a stream, if there is any.
    pub fn run_one(&mut self, stream: Handle) -> Result<(), Status> {
        let held = self.stream_mut(stream)?;
        let device = held.device;
        let Some((number, work)) = held.queue.pop_front() else { return Ok(()) };
        let n_launches = work.n_launches();
        let ran = self.execute(device, work);
        if let Ok(held) = self.stream_mut(stream) {
            held.n_done = held.n_done.max(number);
        }
        let counters = &mut self.devices[device].counters;
        counters.launches_in_flight = counters.launches_in_flight.saturating_sub(n_launches);
        if n_launches > 0 {
            self.save();
        }
        if let Err(status) = ran {
            self.end(device, status);
        }
        ran
    }

    /// Runs all work of a device; with a seed, its streams take turns by chance.
    pub fn run_device(&mut self, device: usize) -> Result<(), Status> {
        loop {
            let busy: Vec<Handle> = self
                .streams
                .iter()
                .filter(|(_, held)| held.device == device && !held.queue.is_empty())
                .map(|(handle, _)| *handle)
                .collect();
            let Some(first) = busy.first() else { return self.usable(device) };
            let stream = if self.settings.seed.is_some() { busy[self.draw(busy.len())] } else { *first };
            self.run_one(stream)?;
        }
    }

    /// Waits for a stream.
    pub fn synchronize_stream(&mut self, stream: Handle) -> Result<(), Status> {
        let device = self.refuse_in_capture(stream)?;
        let ran = self.run(stream, u64::MAX);
        self.waited(device);
        ran
    }

    /// Waits for all streams of a device.
    pub fn synchronize_device(&mut self, device: usize) -> Result<(), Status> {
        if self.streams.values().any(|held| held.device == device && held.capture.is_some()) {
            return Err(Status::STREAM_CAPTURE_UNSUPPORTED);
        }
        let ran = self.run_device(device);
        self.waited(device);
        ran
    }

    pub(super) fn waited(&mut self, device: usize) {
        self.devices[device].after_wait();
        self.save();
    }

    /// Whether a stream is through. Each question runs one piece of work, so that a program that polls gets there.
    pub fn poll_stream(&mut self, stream: Handle) -> Result<(), Status> {
        self.refuse_in_capture(stream)?;
        if self.stream(stream)?.is_done(u64::MAX) {
            return Ok(());
        }
        self.run_one(stream)?;
        Err(Status::NOT_READY)
    }

    /// The device of a stream, unless it is being captured: then nobody can wait for it.
    pub fn refuse_in_capture(&mut self, stream: Handle) -> Result<usize, Status> {
        let (device, capture) = (self.stream(stream)?.device, self.stream(stream)?.capture);
        if let Some(capture) = capture {
            self.invalidate_capture(capture);
            return Err(Status::STREAM_CAPTURE_UNSUPPORTED);
        }
        Ok(device)
    }
}
