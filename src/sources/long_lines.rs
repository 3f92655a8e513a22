//! Room for lines that are much longer than a block: few of them are read at a time, whatever the number of threads.
//!
//! A document takes several times its size while it is read, decoded and worked on. Sixteen threads that come upon one of
//! 50 MB each would hold gigabytes that no operator can spill. So a thread that reads a long line waits for room first.
//!
//! Invariant: the first of those that hold a long line or wait for room never waits: rows are taken in the order of the
//! source, and whoever waits for a row waits for that one. Nobody waits for ever.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A line is long from this size on.
pub(crate) const LONG_BYTES: usize = 8 << 20;
/// What lines may hold together where there is no limit on memory.
const USUAL_ROOM_BYTES: usize = 1 << 30;
/// Memory is a reason to wait, and no reason to stop.
const PATIENCE: Duration = Duration::from_secs(60);

/// The room of one source.
#[derive(Debug)]
pub(crate) struct LongLines {
    room_bytes: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// What is held, by the piece that it is of; nothing by those that wait.
    held: BTreeMap<usize, usize>,
    n_bytes: usize,
}

/// The room that a line has; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct LongLine {
    room: Arc<LongLines>,
    piece: usize,
    n_bytes: usize,
}

impl LongLines {
    /// An eighth of the memory: a line of n bytes takes some four times as much until it is written or dropped.
    pub fn within(memory_limit_bytes: Option<usize>) -> Arc<Self> {
        let room_bytes = memory_limit_bytes.map_or(USUAL_ROOM_BYTES, |limit| limit / 8);
        Arc::new(Self { room_bytes, state: Mutex::default(), changed: Condvar::new() })
    }

    /// Waits for room for a line of a piece.
    pub fn begin(self: &Arc<Self>, piece: usize, n_bytes: usize) -> LongLine {
        let mut line = LongLine { room: Arc::clone(self), piece, n_bytes: 0 };
        line.grow_to(n_bytes);
        line
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LongLine {
    /// Waits for room for more of the line.
    pub fn grow_to(&mut self, n_bytes: usize) {
        let more = n_bytes.saturating_sub(self.n_bytes);
        if more == 0 {
            return;
        }
        let began = Instant::now();
        let mut state = self.room.lock();
        loop {
            // Another line of the same piece may have gone in between.
            state.held.entry(self.piece).or_default();
            let is_first = state.held.keys().next() == Some(&self.piece);
            let is_alone = state.n_bytes == self.n_bytes;
            let fits = state.n_bytes.saturating_add(more) <= self.room.room_bytes;
            let left = PATIENCE.saturating_sub(began.elapsed());
            if is_first || is_alone || fits || left.is_zero() {
                break;
            }
            let waited = self.room.changed.wait_timeout(state, left);
            state = waited.map_or_else(|broken| broken.into_inner().0, |(state, _)| state);
        }
        state.n_bytes += more;
        *state.held.entry(self.piece).or_default() += more;
        drop(state);
        self.n_bytes += more;
    }
}

impl Drop for LongLine {
    fn drop(&mut self) {
        let mut state = self.room.lock();
        state.n_bytes -= self.n_bytes;
        if let Some(held) = state.held.get_mut(&self.piece) {
            *held -= self.n_bytes;
            if *held == 0 {
                state.held.remove(&self.piece);
            }
        }
        drop(state);
        self.room.changed.notify_all();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, channel};

    /// Reads a line of a piece on a thread of its own; tells when it has room.
    fn read(room: &Arc<LongLines>, piece: usize, n_bytes: usize) -> Receiver<LongLine> {
        let (sender, receiver) = channel();
        let room = Arc::clone(room);
        std::thread::spawn(move || sender.send(room.begin(piece, n_bytes)));
        receiver
    }

    const SOON: Duration = Duration::from_secs(20);
    const A_MOMENT: Duration = Duration::from_millis(50);

    #[test]
    fn a_line_waits_for_those_before_it_and_the_first_never_does() {
        let room = LongLines::within(Some(800));
        let fifth = read(&room, 5, 90).recv_timeout(SOON).unwrap();
        let seventh = read(&room, 7, 90);
        assert!(seventh.recv_timeout(A_MOMENT).is_err(), "100 bytes are too few for both");
        let third = read(&room, 3, 500).recv_timeout(SOON).unwrap();
        drop(fifth);
        assert!(seventh.recv_timeout(A_MOMENT).is_err(), "the third has it all");
        drop(third);
        let mut seventh = seventh.recv_timeout(SOON).unwrap();
        seventh.grow_to(5000);
        drop(seventh);
        let left = room.lock();
        assert_eq!((left.n_bytes, left.held.len()), (0, 0));
    }
}
