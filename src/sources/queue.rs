//! The queue between the one thread that reads a source and the partitions that decode it.
//!
//! Partitions take the next unit whenever they are free, so a slow one does not hold the others up, and what each
//! takes is ascending. The reader waits when enough is queued, counted in units and in bytes.
//!
//! Invariant: no partition owns a place in the queue. A consumer that is not polled any more blocks nobody.

use super::format::Unit;
use crate::{Error, Result};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

#[derive(Debug)]
pub(crate) struct UnitQueue {
    state: Mutex<State>,
    has_room: Condvar,
    capacity_units: usize,
    capacity_bytes: usize,
}

#[derive(Debug, Default)]
struct State {
    units: VecDeque<(Unit, usize)>,
    n_bytes: usize,
    error: Option<Error>,
    is_closed: bool,
    is_cancelled: bool,
    /// Cancelled before the last unit was taken.
    was_cut_short: bool,
    waiting: Vec<Waker>,
}

/// The consumers are gone: the reader may stop.
#[derive(Debug)]
pub(crate) struct Cancelled;

impl UnitQueue {
    pub fn new(capacity_units: usize, capacity_bytes: usize) -> Self {
        Self { state: Mutex::default(), has_room: Condvar::new(), capacity_units, capacity_bytes }
    }

    /// Adds a unit, waiting for room. For the reader's thread; never call it from async code.
    pub fn push(&self, unit: Unit) -> Result<(), Cancelled> {
        let n_bytes = unit.memory_bytes();
        let mut state = self.lock();
        while !state.is_cancelled
            && !state.units.is_empty()
            && (state.units.len() >= self.capacity_units || state.n_bytes + n_bytes > self.capacity_bytes)
        {
            state = self.has_room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.is_cancelled {
            return Err(Cancelled);
        }
        state.n_bytes += n_bytes;
        state.units.push_back((unit, n_bytes));
        wake_all(&mut state);
        Ok(())
    }

    /// Says that no more units come, and why, if it is an error.
    pub fn close(&self, error: Option<Error>) {
        let mut state = self.lock();
        if !state.is_closed {
            state.is_closed = true;
            state.error = error;
        }
        wake_all(&mut state);
    }

    /// Lets the reader's thread end, because nobody wants its units any more.
    pub fn cancel(&self) {
        let mut state = self.lock();
        state.was_cut_short |= !(state.is_closed && state.units.is_empty());
        state.is_cancelled = true;
        state.units.clear();
        self.has_room.notify_all();
    }

    /// Whether everything was read and taken, without an error left to tell.
    pub fn is_drained(&self) -> bool {
        let state = self.lock();
        state.is_closed && state.units.is_empty() && state.error.is_none() && !state.was_cut_short
    }

    /// The next unit, or `None` after the last.
    pub async fn pop(&self) -> Result<Option<Unit>> {
        poll_fn(|context| {
            let mut state = self.lock();
            if let Some((unit, n_bytes)) = state.units.pop_front() {
                state.n_bytes -= n_bytes;
                self.has_room.notify_all();
                Poll::Ready(Ok(Some(unit)))
            } else if state.is_closed {
                // One consumer gets the error; that ends the query for all.
                Poll::Ready(state.error.take().map_or(Ok(None), Err))
            } else {
                if !state.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                    state.waiting.push(context.waker().clone());
                }
                Poll::Pending
            }
        })
        .await
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wake_all(state: &mut State) {
    for waker in state.waiting.drain(..) {
        waker.wake();
    }
}
