//! Who reads which split: each partition takes the next one that nobody has, or helps with one under way.
//!
//! ```text
//! partition 0: split 0 ─────► split 3 (giant) ────────────────────►
//! partition 1: split 1 ──► split 4 ──► (nothing left behind split 4)
//! partition 2: split 2 ────────────► helps with split 3 ──────────►
//! ```
//! One partition begins a split; those that help decode units of it, too. A partition helps where nothing is left to take, or
//! where a split is so large that it would be the last to end.
//!
//! Invariant: a partition goes from a split to a later one alone, so positions ascend within it. A split under way is kept
//! here until its last unit is taken: if the partition that began it is dropped, others go on with it.
//! Not here: reading a split (`scan.rs`).

use super::queue::UnitQueue;
use datafusion::error::Result;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// While splits are left, so many partitions decode one at most: one thread may not unpack for more.
const MAX_DECODERS: usize = 4;

/// The splits of one reading of a source.
#[derive(Debug)]
pub(super) struct Handout {
    state: Mutex<State>,
    n_partitions: usize,
    /// The bytes of each split, for telling large ones.
    sizes: Vec<u64>,
}

#[derive(Debug)]
struct State {
    left: VecDeque<usize>,
    left_bytes: u64,
    under_way: Vec<UnderWay>,
}

/// A split that partitions decode.
#[derive(Debug)]
struct UnderWay {
    split: usize,
    reading: Arc<Reading>,
    n_decoders: usize,
}

/// Lives as long as somebody decodes the split, or a partition can still come to do so; then its thread may end.
#[derive(Debug)]
pub(super) struct Reading(pub Arc<UnitQueue>);

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// What a partition decodes next.
#[derive(Debug, Clone)]
pub(super) struct Taken {
    pub split: usize,
    pub reading: Arc<Reading>,
    /// How many partitions decode it now.
    pub n_decoders: usize,
}

impl Handout {
    /// The splits in `left`, ascending, of all those with these sizes, for so many partitions.
    pub fn of(left: impl IntoIterator<Item = usize>, n_partitions: usize, sizes: Vec<u64>) -> Self {
        let left: VecDeque<usize> = left.into_iter().collect();
        let left_bytes = left.iter().filter_map(|split| sizes.get(*split)).sum();
        Self { state: Mutex::new(State { left, left_bytes, under_way: vec![] }), n_partitions, sizes }
    }

    /// What a partition that has decoded the split `after` decodes next; `start` begins a split.
    pub fn next(&self, after: Option<usize>, start: impl FnOnce(usize) -> Result<Reading>) -> Result<Option<Taken>> {
        let mut state = self.lock();
        let state = &mut *state;
        state.under_way.retain(|split| !split.reading.0.is_over());
        let share = |split: &UnderWay| self.bytes(split.split) / split.n_decoders as u64;
        let n_takers = state.left.len().min(self.n_partitions).max(1) as u64;
        let is_large =
            |split: &UnderWay| split.n_decoders < MAX_DECODERS && share(split) > state.left_bytes / n_takers * 2;
        let later = state.under_way.iter_mut().filter(|split| after.is_none_or(|after| split.split > after));
        let largest = later.max_by_key(|split| share(split));
        if let Some(split) = largest.filter(|split| state.left.is_empty() || is_large(split)) {
            split.n_decoders += 1;
            let UnderWay { split, reading, n_decoders } = split;
            return Ok(Some(Taken { split: *split, reading: Arc::clone(reading), n_decoders: *n_decoders }));
        }
        let Some(split) = state.left.pop_front() else { return Ok(None) };
        state.left_bytes -= self.bytes(split).min(state.left_bytes);
        let reading = Arc::new(start(split)?);
        state.under_way.push(UnderWay { split, reading: Arc::clone(&reading), n_decoders: 1 });
        Ok(Some(Taken { split, reading, n_decoders: 1 }))
    }

    /// The readings under way as their threads hold them.
    #[cfg(test)]
    pub fn readings(&self) -> Vec<std::sync::Weak<UnitQueue>> {
        self.lock().under_way.iter().map(|split| Arc::downgrade(&split.reading.0)).collect()
    }

    fn bytes(&self, split: usize) -> u64 {
        self.sizes.get(split).copied().unwrap_or(0)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::sources::queue::{Capacity, UnitSender};

    /// A source with splits of these sizes; readers neither give units nor end.
    struct Bench {
        handout: Handout,
        senders: Mutex<Vec<UnitSender>>,
    }

    impl Bench {
        fn new(sizes: &[u64], n_partitions: usize) -> Self {
            Self { handout: Handout::of(0..sizes.len(), n_partitions, sizes.to_vec()), senders: Mutex::default() }
        }

        fn next(&self, after: Option<usize>) -> Option<usize> {
            let start = |_| {
                let (queue, sender) = UnitQueue::new(Capacity { units: 1, bytes: 1 });
                self.senders.lock().unwrap().push(sender);
                Ok(Reading(queue))
            };
            self.handout.next(after, start).unwrap().map(|taken| taken.split)
        }
    }

    #[test]
    fn partitions_without_a_split_of_their_own_help_with_the_largest() {
        let bench = Bench::new(&[5, 5, 30], 6);
        let taken: Vec<_> = (0..6).map(|_| bench.next(None).unwrap()).collect();
        assert_eq!(taken, [0, 1, 2, 2, 2, 2]);
    }

    #[test]
    fn splits_of_one_size_are_taken_one_by_one_before_anybody_helps() {
        let bench = Bench::new(&[9; 5], 4);
        assert_eq!([(); 4].map(|()| bench.next(None)), [Some(0), Some(1), Some(2), Some(3)]);
        assert_eq!(bench.next(Some(1)), Some(4));
        assert!(bench.next(Some(0)) > Some(0));
        assert_eq!(bench.next(Some(4)), None, "earlier splits would break the order of its rows");
    }

    #[test]
    fn a_giant_among_many_splits_gets_help_before_they_are_all_taken() {
        let mut sizes = [10; 12];
        sizes[2] = 1000;
        let bench = Bench::new(&sizes, 8);
        let taken: Vec<_> = (0..8).map(|_| bench.next(None).unwrap()).collect();
        assert_eq!(taken, [0, 1, 2, 2, 2, 2, 3, 4], "four unpack no faster than one thread can");
        assert_eq!(bench.next(Some(3)), Some(5), "who is past it goes on");
    }

    #[test]
    fn a_split_that_is_over_is_nobodys() {
        let bench = Bench::new(&[5, 5], 3);
        assert_eq!((bench.next(None), bench.next(None)), (Some(0), Some(1)));
        bench.senders.lock().unwrap().drain(..).for_each(|sender| sender.end(None));
        assert_eq!((bench.next(None), bench.next(Some(0))), (None, None));
    }
}
