//! Graphs: work that is recorded instead of run, and then run as a whole.
//!
//! All streams of a capture record into one list, in the order of the calls. That is one of the orders that the graph
//! allows, because a call can only depend on calls before it.
//!
//! Invariant: nothing that is recorded runs before the graph is launched; copies read the host's memory when they run.
//! Not here: memory nodes (allocating on a stream that is being captured is refused), and changing a graph.

use super::state::{Driver, Handle};
use super::status::Status;
use super::work::Work;
use std::sync::Arc;

/// Recorded work.
pub type Graph = Arc<Vec<Work>>;

/// A capture under way.
pub struct Capture {
    origin: Handle,
    works: Vec<Work>,
    is_valid: bool,
}

/// What `cuStreamIsCapturing` tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaptureStatus {
    None = 0,
    Active = 1,
    Invalidated = 2,
}

impl Driver {
    /// Begins to record the work of a stream.
    pub fn begin_capture(&mut self, stream: Handle) -> Result<(), Status> {
        let held = self.stream(stream)?;
        if held.capture.is_some() {
            return Err(Status::INVALID_VALUE);
        }
        if stream == self.devices[held.device].default_stream {
            return Err(Status::STREAM_CAPTURE_UNSUPPORTED);
        }
        let capture = self.handle();
        self.captures.insert(capture, Capture { origin: stream, works: Vec::new(), is_valid: true });
        self.stream_mut(stream)?.capture = Some(capture);
        Ok(())
    }

    /// Ends the capture that began on a stream; the graph.
    pub fn end_capture(&mut self, stream: Handle) -> Result<Handle, Status> {
        let capture = self.stream(stream)?.capture.ok_or(Status::INVALID_VALUE)?;
        if self.captures.get(&capture).is_none_or(|held| held.origin != stream) {
            return Err(Status::STREAM_CAPTURE_UNJOINED);
        }
        for held in self.streams.values_mut().filter(|held| held.capture == Some(capture)) {
            held.capture = None;
        }
        let ended = self.captures.remove(&capture).ok_or(Status::INVALID_VALUE)?;
        if !ended.is_valid {
            return Err(Status::STREAM_CAPTURE_INVALIDATED);
        }
        let graph = self.handle();
        self.graphs.insert(graph, Arc::new(ended.works));
        Ok(graph)
    }

    /// Whether a stream is being captured.
    pub fn capture_status(&self, stream: Handle) -> Result<CaptureStatus, Status> {
        Ok(match self.stream(stream)?.capture.and_then(|capture| self.captures.get(&capture)) {
            None => CaptureStatus::None,
            Some(capture) if capture.is_valid => CaptureStatus::Active,
            Some(_) => CaptureStatus::Invalidated,
        })
    }

    pub(super) fn record_for_graph(&mut self, capture: Handle, work: Work) -> Result<(), Status> {
        let held = self.captures.get_mut(&capture).filter(|held| held.is_valid);
        held.ok_or(Status::STREAM_CAPTURE_INVALIDATED)?.works.push(work);
        Ok(())
    }

    pub(super) fn join_capture(&mut self, stream: Handle, capture: Handle) -> Result<(), Status> {
        if !self.captures.contains_key(&capture) {
            return Err(Status::CAPTURED_EVENT);
        }
        self.stream_mut(stream)?.capture = Some(capture);
        Ok(())
    }

    pub(super) fn invalidate_capture(&mut self, capture: Handle) {
        if let Some(held) = self.captures.get_mut(&capture) {
            held.is_valid = false;
        }
    }

    /// Makes a graph ready to run.
    pub fn instantiate(&mut self, device: usize, graph: Handle) -> Result<Handle, Status> {
        let works = self.graphs.get(&graph).ok_or(Status::INVALID_HANDLE)?.clone();
        let runnable = self.handle();
        self.runnable_graphs.insert(runnable, (device, works));
        Ok(runnable)
    }

    /// Queues a whole graph on a stream.
    pub fn launch_graph(&mut self, runnable: Handle, stream: Handle) -> Result<(), Status> {
        let (_, works) = self.runnable_graphs.get(&runnable).ok_or(Status::INVALID_HANDLE)?;
        let works = works.clone();
        self.queue(stream, Work::Graph(works))
    }
}
