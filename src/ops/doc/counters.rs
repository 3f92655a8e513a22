//! Rules out, before anything is compared, what cannot occur twice.
//!
//! Each thing is hashed to one of many small counters; a counter that stays at one says that its thing is alone. This
//! decides nothing on the way, so it costs a fraction of a look into a table, and in prose it leaves little to look up.

use super::intern::clear;

/// Counters for each thing: few enough to stay in the cache, many enough that few things share one by chance.
const COUNTERS_EACH: usize = 8;
/// No more than so many: a document of 100 MB must not take three times its size. Past it more is left to look up.
const MOST_COUNTERS: usize = 1 << 23;

/// Tells which of many things may be equal to another. Those that share a counter count as equal.
#[derive(Debug, Default)]
pub(super) struct Counters {
    counters: Vec<u8>,
    /// The counter of each thing.
    places: Vec<u32>,
}

impl Counters {
    /// Counts things, given by hashes whose upper bits are well mixed; forgets those before. Tells of each whether it may
    /// have come before.
    #[inline(always)]
    pub(super) fn count(&mut self, hashes: impl ExactSizeIterator<Item = u64>, mut came_before: impl FnMut(bool)) {
        let shift = clear(&mut self.counters, (hashes.len() * COUNTERS_EACH).min(MOST_COUNTERS));
        self.places.clear();
        self.places.extend(hashes.map(|hash| (hash >> shift) as u32));
        for place in &self.places {
            let counter = &mut self.counters[*place as usize];
            came_before(*counter > 0);
            *counter = counter.saturating_add(1);
        }
    }

    /// For each thing, whether it may occur again.
    pub(super) fn repeats(&self) -> impl Iterator<Item = bool> {
        self.counts().map(|count| count > 1)
    }

    /// For each thing, how often it occurs at most; [`u8::MAX`]: nobody knows.
    pub(super) fn counts(&self) -> impl Iterator<Item = u8> {
        self.places.iter().map(|place| self.counters[*place as usize])
    }
}
