//! Encodes pieces of an output in parallel and gives them back in order.
//!
//! Invariant: results come out as the pieces went in, and no more than a fixed number and size is in flight.
//! Not here: where pieces are cut (`slices.rs`), and what encoding means (`lines.rs`, `columns.rs`).

use crate::{Result, bug};
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, sync_channel};

/// How much may be in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct InFlight {
    pub pieces: usize,
    pub bytes: usize,
}

impl InFlight {
    /// Enough to keep all threads busy with pieces of `piece_bytes`, but no more than `max_bytes`.
    pub fn for_all_threads(piece_bytes: usize, max_bytes: usize) -> Self {
        let pieces = rayon::current_num_threads() + 1;
        Self { pieces, bytes: pieces.saturating_mul(piece_bytes).min(max_bytes) }
    }

    /// Nothing but the piece that was handed in last.
    pub fn one_at_a_time() -> Self {
        Self { pieces: 0, bytes: 0 }
    }
}

/// Pieces being encoded, oldest first.
pub(super) struct EncodeQueue<T> {
    limit: InFlight,
    waiting: VecDeque<(Receiver<Result<T>>, usize)>,
    n_bytes: usize,
}

impl<T: Send + 'static> EncodeQueue<T> {
    pub fn new(limit: InFlight) -> Self {
        Self { limit, waiting: VecDeque::new(), n_bytes: 0 }
    }

    /// Hands in the next piece. Afterwards take results while [`EncodeQueue::is_full`].
    pub fn push(&mut self, n_bytes: usize, encode: impl FnOnce() -> Result<T> + Send + 'static) {
        let (send, result) = sync_channel(1);
        self.waiting.push_back((result, n_bytes));
        self.n_bytes += n_bytes;
        // The receiver may be gone, when a sink is dropped: then nobody wants the result.
        let work = move || drop(send.send(encode()));
        // On one of rayon's own threads the wait in `take` could block the very thread that must do the work.
        if self.limit.pieces == 0 || rayon::current_thread_index().is_some() {
            work();
        } else {
            rayon::spawn(work);
        }
    }

    /// Whether more is in flight than allowed.
    pub fn is_full(&self) -> bool {
        self.waiting.len() > self.limit.pieces || (self.waiting.len() > 1 && self.n_bytes > self.limit.bytes)
    }

    /// Waits for the oldest piece; `None` if there is none.
    pub fn take(&mut self) -> Result<Option<T>> {
        let Some((result, n_bytes)) = self.waiting.pop_front() else { return Ok(None) };
        self.n_bytes -= n_bytes;
        result.recv().map_err(|_| bug!("an encoding task was lost"))?.map(Some)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_pieces_and_few_are_in_flight() {
        for limit in [InFlight { pieces: 3, bytes: 100 }, InFlight { pieces: 9, bytes: 20 }, InFlight::one_at_a_time()]
        {
            let mut queue = EncodeQueue::new(limit);
            let mut results = Vec::new();
            for piece in 0..50_u64 {
                queue.push(10, move || {
                    std::thread::sleep(std::time::Duration::from_micros(piece * 7919 % 500));
                    Ok(piece)
                });
                while queue.is_full() {
                    results.extend(queue.take().unwrap());
                }
                assert!(queue.waiting.len() <= 3);
            }
            while let Some(result) = queue.take().unwrap() {
                results.push(result);
            }
            assert_eq!(results, (0..50).collect::<Vec<_>>());
        }
    }
}
