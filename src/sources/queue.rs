//! The queue between the threads that read a source and the partitions that decode it.
//!
//! ```text
//! thread 0: file 4 ──► lane 4 ┐
//! thread 1: file 5 ──► lane 5 ┼──one lane after the other──► whichever partition is free
//! thread 2: file 6 ──► lane 6 ┘
//! ```
//!
//! The units of a lane are in order, and a lane is empty and ended before the next one's turn comes, so what each
//! partition takes is ascending. A thread waits when its lane holds enough, counted in units and in bytes; lanes that
//! read ahead of their turn may hold more, so that a small file is unpacked when its turn comes.
//!
//! Invariant: no partition owns a place in the queue. A consumer that is not polled any more blocks nobody. Lanes are
//! begun in order, so the lane whose turn it is always has a thread, or will get the next one that is free.

use super::format::Unit;
use crate::{Error, Result};
use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

#[derive(Debug)]
pub(crate) struct UnitQueue {
    state: Mutex<State>,
    has_room: Condvar,
    capacity: Capacity,
}

/// How much may wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Capacity {
    /// In the lane whose turn it is.
    pub units: usize,
    pub bytes: usize,
    /// In each lane that reads ahead.
    pub ahead_bytes: usize,
}

#[derive(Debug)]
struct State {
    /// Lanes that were begun and are not empty and ended.
    lanes: BTreeMap<usize, LaneState>,
    /// The next lane that nobody has begun.
    next: usize,
    /// The lane whose turn it is.
    turn: usize,
    n_lanes: usize,
    is_cancelled: bool,
    /// Cancelled before the last unit was taken.
    was_cut_short: bool,
    waiting: Vec<Waker>,
}

#[derive(Debug, Default)]
struct LaneState {
    units: VecDeque<(Unit, usize)>,
    n_bytes: usize,
    is_ended: bool,
    error: Option<Error>,
}

/// The consumers are gone: the reader may stop.
#[derive(Debug)]
pub(crate) struct Cancelled;

/// The place of one thread's units in the queue.
#[derive(Debug)]
pub(crate) struct Lane {
    pub number: usize,
    queue: Arc<UnitQueue>,
    is_ended: bool,
}

impl UnitQueue {
    pub fn new(n_lanes: usize, capacity: Capacity) -> Self {
        let state = State {
            lanes: BTreeMap::new(),
            next: 0,
            turn: 0,
            n_lanes,
            is_cancelled: false,
            was_cut_short: false,
            waiting: Vec::new(),
        };
        Self { state: Mutex::new(state), has_room: Condvar::new(), capacity }
    }

    /// The next lane to fill, or `None` when all are begun or nobody wants them.
    pub fn begin_lane(self: &Arc<Self>) -> Option<Lane> {
        let mut state = self.lock();
        if state.is_cancelled || state.next == state.n_lanes {
            return None;
        }
        let number = state.next;
        state.next += 1;
        state.lanes.insert(number, LaneState::default());
        Some(Lane { number, queue: self.clone(), is_ended: false })
    }

    /// Lets the reader's threads end, because nobody wants their units any more.
    pub fn cancel(&self) {
        let mut state = self.lock();
        state.was_cut_short |= !state.is_at_end();
        state.is_cancelled = true;
        state.lanes.clear();
        self.has_room.notify_all();
    }

    /// Whether everything was read and taken, without an error left to tell.
    pub fn is_drained(&self) -> bool {
        let state = self.lock();
        state.is_at_end() && !state.was_cut_short
    }

    /// The next unit, or `None` after the last.
    pub async fn pop(&self) -> Result<Option<Unit>> {
        poll_fn(|context| {
            let mut state = self.lock();
            loop {
                if state.is_at_end() {
                    return Poll::Ready(Ok(None));
                }
                let turn = state.turn;
                let Some(lane) = state.lanes.get_mut(&turn).filter(|lane| lane.is_ended || !lane.units.is_empty())
                else {
                    if !state.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                        state.waiting.push(context.waker().clone());
                    }
                    return Poll::Pending;
                };
                self.has_room.notify_all();
                if let Some((unit, n_bytes)) = lane.units.pop_front() {
                    lane.n_bytes -= n_bytes;
                    return Poll::Ready(Ok(Some(unit)));
                }
                let error = lane.error.take();
                state.lanes.remove(&turn);
                state.turn += 1;
                wake_all(&mut state);
                if let Some(error) = error {
                    // One consumer gets the error; that ends the query for all.
                    state.turn = state.n_lanes;
                    return Poll::Ready(Err(error));
                }
            }
        })
        .await
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_at_end(&self) -> bool {
        self.turn == self.n_lanes
    }
}

impl Lane {
    /// Adds a unit, waiting for room. For a reader's thread; never call it from async code.
    pub fn push(&self, unit: Unit) -> Result<(), Cancelled> {
        let n_bytes = unit.memory_bytes();
        let Capacity { units, bytes, ahead_bytes } = self.queue.capacity;
        let mut state = self.queue.lock();
        loop {
            let turn = state.turn;
            let Some(lane) = state.lanes.get_mut(&self.number) else { return Err(Cancelled) };
            let has_room = if turn == self.number {
                lane.units.is_empty() || lane.units.len() < units && lane.n_bytes + n_bytes <= bytes
            } else {
                lane.n_bytes + n_bytes <= ahead_bytes
            };
            if has_room {
                lane.n_bytes += n_bytes;
                lane.units.push_back((unit, n_bytes));
                if turn == self.number {
                    wake_all(&mut state);
                }
                return Ok(());
            }
            state = self.queue.has_room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Says that no more units come, and why, if it is an error.
    pub fn end(mut self, error: Option<Error>) {
        self.end_once(error);
    }

    fn end_once(&mut self, error: Option<Error>) {
        if std::mem::replace(&mut self.is_ended, true) {
            return;
        }
        let mut state = self.queue.lock();
        if let Some(lane) = state.lanes.get_mut(&self.number) {
            lane.is_ended = true;
            lane.error = error;
        }
        wake_all(&mut state);
    }
}

/// Consumers must not wait for ever if a reading thread panics.
impl Drop for Lane {
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

    fn queue(n_lanes: usize) -> Arc<UnitQueue> {
        Arc::new(UnitQueue::new(n_lanes, Capacity { units: 2, bytes: 1000, ahead_bytes: 1000 }))
    }

    fn next_file(queue: &UnitQueue) -> Option<usize> {
        match block_on(queue.pop()).unwrap() {
            Some(Unit::File(file)) => Some(file),
            None => None,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn lanes_filled_in_any_order_come_out_one_after_the_other() {
        let queue = queue(3);
        let lanes: Vec<Lane> = std::iter::from_fn(|| queue.begin_lane()).collect();
        assert_eq!(lanes.iter().map(|lane| lane.number).collect::<Vec<_>>(), [0, 1, 2]);
        for lane in lanes.into_iter().rev() {
            for part in 0..2 {
                lane.push(Unit::File(lane.number * 10 + part)).unwrap();
            }
            lane.end(None);
        }
        assert!(!queue.is_drained());
        let files: Vec<usize> = std::iter::from_fn(|| next_file(&queue)).collect();
        assert_eq!(files, [0, 1, 10, 11, 20, 21]);
        assert!(queue.is_drained());
    }

    #[test]
    fn an_error_comes_after_the_units_before_it_and_ends_the_queue() {
        let queue = queue(3);
        let (first, second, third) =
            (queue.begin_lane().unwrap(), queue.begin_lane().unwrap(), queue.begin_lane().unwrap());
        third.end(Some(Error::Data("third".into())));
        second.push(Unit::File(10)).unwrap();
        second.end(Some(Error::Data("second".into())));
        first.push(Unit::File(0)).unwrap();
        first.end(None);
        assert_eq!((next_file(&queue), next_file(&queue)), (Some(0), Some(10)));
        assert!(block_on(queue.pop()).unwrap_err().to_string().contains("second"));
        assert_eq!(next_file(&queue), None);
    }

    #[test]
    fn a_thread_that_waits_for_room_ends_when_nobody_wants_its_units() {
        let queue = queue(2);
        let lane = queue.begin_lane().unwrap();
        let reading = std::thread::spawn(move || while lane.push(Unit::File(0)).is_ok() {});
        assert_eq!(next_file(&queue), Some(0));
        queue.cancel();
        reading.join().unwrap();
        assert!(queue.begin_lane().is_none());
    }
}
