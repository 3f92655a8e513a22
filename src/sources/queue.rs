//! The queue between the thread that reads a split and the partitions that decode it.
//!
//! Units come out in the order in which they went in, each to whichever partition asks first. The thread waits when the
//! queue holds enough, counted in units and in bytes.
//!
//! Invariant: no partition owns a place in the queue. A consumer that is not polled any more blocks nobody.

use super::format::Unit;
use crate::{Error, Result};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

#[derive(Debug)]
pub(crate) struct UnitQueue {
    state: Mutex<State>,
    has_room: Condvar,
}

/// How much may wait.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Capacity {
    pub units: usize,
    pub bytes: usize,
}

#[derive(Debug, Default)]
struct State {
    capacity: Capacity,
    units: VecDeque<(Unit, usize)>,
    n_bytes: usize,
    /// No more units come; and why, if it is an error that nobody has seen yet.
    end: Option<Option<Error>>,
    is_cancelled: bool,
    waiting: Vec<Waker>,
}

/// The consumers are gone: the reader may stop.
#[derive(Debug)]
pub(crate) struct Cancelled;

/// The reading thread's end of a queue.
#[derive(Debug)]
pub(crate) struct UnitSender(Arc<UnitQueue>);

impl UnitQueue {
    /// A queue and its one sender.
    pub fn new(capacity: Capacity) -> (Arc<Self>, UnitSender) {
        let state = Mutex::new(State { capacity, ..State::default() });
        let queue = Arc::new(Self { state, has_room: Condvar::new() });
        (queue.clone(), UnitSender(queue))
    }

    /// Lets more wait, for there are more consumers.
    pub fn widen(&self, capacity: Capacity) {
        let mut state = self.lock();
        if capacity.units > state.capacity.units {
            state.capacity = capacity;
            self.has_room.notify_all();
        }
    }

    /// Whether all units were taken, and no more come.
    pub fn is_over(&self) -> bool {
        let state = self.lock();
        state.units.is_empty() && state.end.as_ref().is_some_and(Option::is_none)
    }

    /// Lets the reader's thread end, because nobody wants its units any more.
    pub fn cancel(&self) {
        let mut state = self.lock();
        state.is_cancelled = true;
        state.units.clear();
        self.has_room.notify_all();
    }

    /// The next unit, or `None` after the last. One consumer gets the error; that ends the query for all.
    pub async fn pop(&self) -> Result<Option<Unit>> {
        poll_fn(|context| {
            let mut state = self.lock();
            if let Some((unit, n_bytes)) = state.units.pop_front() {
                state.n_bytes -= n_bytes;
                self.has_room.notify_all();
                return Poll::Ready(Ok(Some(unit)));
            }
            if let Some(error) = &mut state.end {
                return Poll::Ready(error.take().map_or(Ok(None), Err));
            }
            if !state.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                state.waiting.push(context.waker().clone());
            }
            Poll::Pending
        })
        .await
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UnitSender {
    /// Adds a unit, waiting for room. For a reader's thread; never call it from async code.
    pub fn push(&self, unit: Unit) -> Result<(), Cancelled> {
        let n_bytes = unit.memory_bytes();
        let mut state = self.0.lock();
        loop {
            let Capacity { units, bytes } = state.capacity;
            if state.is_cancelled {
                return Err(Cancelled);
            }
            if state.units.is_empty() || state.units.len() < units && state.n_bytes + n_bytes <= bytes {
                state.n_bytes += n_bytes;
                state.units.push_back((unit, n_bytes));
                wake_all(&mut state);
                return Ok(());
            }
            state = self.0.has_room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Says that no more units come, and why, if it is an error.
    pub fn end(self, error: Option<Error>) {
        self.end_once(error);
    }

    fn end_once(&self, error: Option<Error>) {
        let mut state = self.0.lock();
        if state.end.is_none() {
            state.end = Some(error);
        }
        wake_all(&mut state);
    }
}

/// Consumers must not wait for ever if the reading thread panics.
impl Drop for UnitSender {
    fn drop(&mut self) {
        self.end_once(Some(crate::bug!("a thread that reads a source ended unexpectedly")));
    }
}

fn wake_all(state: &mut State) {
    for waker in state.waiting.drain(..) {
        waker.wake();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use futures::executor::block_on;

    fn next_piece(queue: &UnitQueue) -> Option<usize> {
        match block_on(queue.pop()).unwrap() {
            Some(Unit::Piece(piece)) => Some(piece),
            None => None,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_error_comes_after_the_units_before_it_and_ends_the_queue() {
        let (queue, sender) = UnitQueue::new(Capacity { units: 2, bytes: 1000 });
        sender.push(Unit::Piece(0)).unwrap();
        sender.push(Unit::Piece(10)).unwrap();
        sender.end(Some(Error::Data("broken".into())));
        assert_eq!((next_piece(&queue), next_piece(&queue)), (Some(0), Some(10)));
        assert!(block_on(queue.pop()).unwrap_err().to_string().contains("broken"));
        assert_eq!(next_piece(&queue), None);
    }

    #[test]
    fn a_thread_that_waits_for_room_ends_when_nobody_wants_its_units() {
        let (queue, sender) = UnitQueue::new(Capacity { units: 2, bytes: 1000 });
        let reading = std::thread::spawn(move || while sender.push(Unit::Piece(0)).is_ok() {});
        assert_eq!(next_piece(&queue), Some(0));
        queue.cancel();
        reading.join().unwrap();
    }

    #[test]
    fn a_reader_that_dies_is_an_error() {
        let (queue, sender) = UnitQueue::new(Capacity { units: 2, bytes: 1000 });
        drop(sender);
        assert!(block_on(queue.pop()).unwrap_err().to_string().contains("ended unexpectedly"));
    }
}
