//! Events: marks in a stream that others can wait for and that know their time.
//!
//! Invariant: an event stands for the last time it was recorded; earlier marks no longer count.

use super::state::{Driver, Handle};
use super::status::Status;
use super::work::Work;
use std::time::Instant;

/// An event.
pub struct Event {
    pub device: usize,
    has_time: bool,
    /// How often it was recorded, and which of the marks was reached last.
    version: u64,
    reached: u64,
    /// The stream and the number of the mark in it.
    at: Option<(Handle, u64)>,
    time: Option<Instant>,
    /// The capture that it was recorded in, if it was the last time.
    capture: Option<Handle>,
}

impl Event {
    /// The mark of a version was reached.
    pub fn reached(&mut self, version: u64, time: Instant) {
        self.reached = self.reached.max(version);
        self.time = Some(time);
    }
}

const DISABLE_TIMING: u32 = 2;

impl Driver {
    /// Makes an event.
    pub fn create_event(&mut self, device: usize, flags: u32) -> Handle {
        let handle = self.handle();
        let has_time = flags & DISABLE_TIMING == 0;
        let event = Event { device, has_time, version: 0, reached: 0, at: None, time: None, capture: None };
        self.events.insert(handle, event);
        handle
    }

    fn event(&mut self, event: Handle) -> Result<&mut Event, Status> {
        self.events.get_mut(&event).ok_or(Status::INVALID_HANDLE)
    }

    /// Marks the place in a stream.
    pub fn record_event(&mut self, event: Handle, stream: Handle) -> Result<(), Status> {
        let capture = self.stream(stream)?.capture;
        let held = self.event(event)?;
        held.capture = capture;
        if capture.is_some() {
            return Ok(());
        }
        held.version += 1;
        let version = held.version;
        self.queue(stream, Work::Record { event, version })?;
        let number = self.stream(stream)?.n_queued();
        self.event(event)?.at = Some((stream, number));
        Ok(())
    }

    /// What of an event is still to be waited for.
    fn pending(&mut self, event: Handle) -> Result<Option<(Handle, u64)>, Status> {
        let held = self.event(event)?;
        Ok(held.at.filter(|_| held.reached < held.version))
    }

    /// Makes later work of a stream wait for an event.
    pub fn wait_event(&mut self, stream: Handle, event: Handle) -> Result<(), Status> {
        let capture = self.stream(stream)?.capture;
        match (capture, self.event(event)?.capture) {
            // The stream joins the capture; its work is recorded after what the event stands for.
            (None, Some(capture)) => return self.join_capture(stream, capture),
            (Some(own), Some(other)) if own == other => return Ok(()),
            (Some(own), _) => {
                self.invalidate_capture(own);
                return Err(Status::STREAM_CAPTURE_ISOLATION);
            }
            (None, None) => {}
        }
        match self.pending(event)? {
            Some((of, number)) if of != stream => self.queue(stream, Work::Wait { stream: of, number }),
            _ => Ok(()),
        }
    }

    /// Waits for an event.
    pub fn synchronize_event(&mut self, event: Handle) -> Result<(), Status> {
        let held = self.event(event)?;
        let device = held.device;
        if held.capture.is_some() {
            return Err(Status::CAPTURED_EVENT);
        }
        self.usable(device)?;
        let ran = match self.pending(event)? {
            Some((stream, number)) => self.run(stream, number),
            None => Ok(()),
        };
        self.waited(device);
        ran
    }

    /// Whether an event was reached. Each question runs one piece of work.
    pub fn poll_event(&mut self, event: Handle) -> Result<(), Status> {
        match self.pending(event)? {
            Some((stream, _)) => {
                self.run_one(stream)?;
                Err(Status::NOT_READY)
            }
            None => Ok(()),
        }
    }

    /// The time between two events.
    pub fn elapsed_ms(&mut self, start: Handle, end: Handle) -> Result<f32, Status> {
        for event in [start, end] {
            let held = self.event(event)?;
            if !held.has_time || held.at.is_none() {
                return Err(Status::INVALID_HANDLE);
            }
            if held.reached < held.version {
                return Err(Status::NOT_READY);
            }
        }
        let (start, end) = (self.event(start)?.time, self.event(end)?.time);
        let (Some(start), Some(end)) = (start, end) else { return Err(Status::NOT_READY) };
        Ok(match end.checked_duration_since(start) {
            Some(time) => time.as_secs_f32() * 1e3,
            None => -(start.duration_since(end).as_secs_f32() * 1e3),
        })
    }
}
