//! Groups records by their key, in memory or on disk.
//!
//! A record is `N` words: the key and, last, a row. Records are dealt out by the range their first word falls in, so
//! that each part can be sorted on its own and the parts, one after the other, are sorted as a whole.
//!
//! ```text
//! push ──► 256 parts in memory ──(memory refused)──► all parts to one file, and on ──finish──► Sorted
//! ```
//! Memory: 9·N bytes a record (8·N, and what an allocator adds) and up to a quarter of that unused
//! ([`Groups::memory_bytes`]), claimed from the budget as it grows. Refused: everything goes to the file and the memory
//! is given back. The first [`FLOOR_BYTES`] are not claimed, so that work goes on when there is no memory at all.
//! Invariant: what comes out depends on the records only, not on their order, the memory or the threads.
//! Not here: reading (`sorted.rs`).

use super::Budget;
use super::claim::Claim;
use super::numbering::Numbering;
use super::sorted::{Numbered, Sorted, Source};
use super::spill_file::SpillFile;
use crate::Result;
use std::sync::Arc;

/// Parts that records are dealt out to.
pub(super) const N_PARTS: usize = 256;

/// What a store may use without asking: enough for a small buffer in each part.
pub const FLOOR_BYTES: usize = N_PARTS * SMALL_CHUNK_BYTES;

/// Allocators cut pages of 2ᵏ bytes into blocks of one size and keep a little of each page for themselves: nine chunks
/// of 7/64 fill a page, of chunks of 8/64 only seven would fit.
const SMALL_CHUNK_BYTES: usize = 7 << 9;
const LARGE_CHUNK_BYTES: usize = 7 << 13;
const WRITE_BYTES: usize = 1 << 20;

/// What is claimed for chunks: an eighth more, which is what a process was seen to grow by beyond them.
fn claimed_bytes(chunk_bytes: usize) -> usize {
    chunk_bytes + chunk_bytes / 8
}

/// Which part a record goes to: by the leading bits of one word above a smallest value.
#[derive(Clone, Copy)]
pub(super) struct Cut {
    /// The word that is looked at.
    pub(super) word: usize,
    /// Its smallest value.
    pub(super) smallest: u64,
    /// The bits that make no difference.
    pub(super) shift: u32,
}

impl Cut {
    /// Parts of equal width for values from `smallest` to `largest`.
    pub(super) fn between(word: usize, smallest: u64, largest: u64) -> Self {
        let n_bits = u64::BITS - largest.saturating_sub(smallest).leading_zeros();
        Self { word, smallest, shift: n_bits.saturating_sub(N_PARTS.trailing_zeros()) }
    }

    /// Parts so much wider that `n_stores` stores together have no more parts than one.
    fn shared_by(self, n_stores: usize) -> Self {
        let n_bits = n_stores.next_power_of_two().trailing_zeros().min(N_PARTS.trailing_zeros());
        Self { shift: (self.shift + n_bits).min(u64::BITS - 1), ..self }
    }

    /// Never falls when the word grows, also for values that were not expected.
    #[inline]
    fn part_of<const N: usize>(&self, record: &[u64; N]) -> usize {
        (record[self.word].saturating_sub(self.smallest) >> self.shift).min(N_PARTS as u64 - 1) as usize
    }
}

/// Records on disk that lie side by side.
#[derive(Clone, Copy)]
pub(super) struct Extent {
    pub(super) offset_bytes: u64,
    pub(super) n_records: u64,
}

/// The records of one range.
pub(super) struct Part<const N: usize> {
    open: Vec<[u64; N]>,
    full: Vec<Vec<[u64; N]>>,
    claim: Claim,
    pub(super) extents: Vec<Extent>,
}

impl<const N: usize> Part<N> {
    fn empty(budget: &Arc<dyn Budget>) -> Self {
        Self { open: Vec::new(), full: Vec::new(), claim: Claim::none(budget), extents: Vec::new() }
    }

    pub(super) fn n_records(&self) -> u64 {
        self.n_in_memory() as u64 + self.extents.iter().map(|extent| extent.n_records).sum::<u64>()
    }

    fn n_in_memory(&self) -> usize {
        self.open.len() + self.full.iter().map(Vec::len).sum::<usize>()
    }

    /// True if all records are on disk.
    pub(super) fn is_on_disk(&self) -> bool {
        !self.extents.is_empty()
    }

    /// The records in memory.
    pub(super) fn in_memory(&self) -> impl Iterator<Item = &[u64; N]> {
        self.full.iter().chain([&self.open]).flatten()
    }

    /// Takes the records in memory, chunk by chunk; the claim shrinks with them.
    pub(super) fn drain_memory(mut self, mut f: impl FnMut([u64; N]) -> Result<()>) -> Result<()> {
        let mut left_bytes = self.n_in_memory() * 8 * N;
        for chunk in std::mem::take(&mut self.full).into_iter().chain([std::mem::take(&mut self.open)]) {
            left_bytes -= chunk.len() * 8 * N;
            self.claim.shrink_to(claimed_bytes(left_bytes));
            chunk.into_iter().try_for_each(&mut f)?;
        }
        Ok(())
    }

    /// The records in memory, as one piece, with the claim that covers them.
    pub(super) fn into_memory(mut self) -> (Vec<[u64; N]>, Claim) {
        (self.take_memory(), self.claim)
    }

    /// Each chunk is freed as soon as it is copied: the piece takes over its claim.
    fn take_memory(&mut self) -> Vec<[u64; N]> {
        if self.full.is_empty() {
            return std::mem::take(&mut self.open);
        }
        let mut records = Vec::with_capacity(self.n_in_memory());
        for chunk in std::mem::take(&mut self.full).into_iter().chain([std::mem::take(&mut self.open)]) {
            records.extend_from_slice(&chunk);
        }
        records
    }
}

/// A store of records that are to be grouped by their key.
pub struct Groups<const N: usize> {
    budget: Arc<dyn Budget>,
    cut: Cut,
    parts: Vec<Part<N>>,
    file: Option<Arc<SpillFile>>,
    distinct: bool,
    /// Equal records were looked for in vain: not again.
    mostly_distinct: bool,
    /// What the last words, packed rows, become when records are read.
    numbering: Option<Numbered>,
}

impl<const N: usize> Groups<N> {
    /// For keys whose first word is a hash.
    pub fn new(budget: &Arc<dyn Budget>) -> Self {
        Self::with_cut(budget, Cut::between(0, 0, u64::MAX))
    }

    /// For keys whose first word is a number below `n_rows`.
    pub fn by_row(budget: &Arc<dyn Budget>, n_rows: u64) -> Self {
        Self::with_cut(budget, Cut::between(0, 0, n_rows.saturating_sub(1)))
    }

    pub(super) fn with_cut(budget: &Arc<dyn Budget>, cut: Cut) -> Self {
        let parts = (0..N_PARTS).map(|_| Part::empty(budget)).collect();
        let budget = Arc::clone(budget);
        Self { budget, cut, parts, file: None, distinct: false, mostly_distinct: false, numbering: None }
    }

    /// As one of `n_stores`, which together use as much memory without asking as one alone would. Call before adding.
    pub(super) fn one_of(self, n_stores: usize) -> Self {
        Self { cut: self.cut.shared_by(n_stores), ..self }
    }

    /// Keeps one of equal records.
    pub fn distinct(mut self) -> Self {
        self.distinct = true;
        self
    }

    /// The rows of the records were [`packed`](super::packed), and get their numbers now.
    pub fn numbered(mut self, numbering: &Arc<Numbering>) -> Self {
        self.numbering = Some(Numbered { numbering: Arc::clone(numbering), is_turned: false });
        self
    }

    /// The same, with the bits of the numbers turned: the last row of a key comes first.
    pub(super) fn numbered_from_the_end(mut self, numbering: &Arc<Numbering>) -> Self {
        self.numbering = Some(Numbered { numbering: Arc::clone(numbering), is_turned: true });
        self
    }

    /// Memory that so many records need in order to stay off the disk.
    pub fn memory_bytes(n_records: u64) -> u64 {
        let records_bytes = n_records.saturating_mul(9 * N as u64);
        let unused_bytes = (records_bytes / 4).min(claimed_bytes(N_PARTS * LARGE_CHUNK_BYTES) as u64);
        records_bytes.saturating_add(unused_bytes).saturating_add(FLOOR_BYTES as u64)
    }

    /// Adds a record.
    #[inline]
    pub fn push(&mut self, record: [u64; N]) -> Result<()> {
        let place = self.cut.part_of(&record);
        if self.parts[place].open.len() == self.parts[place].open.capacity() {
            self.make_room(place)?;
        }
        self.parts[place].open.push(record);
        Ok(())
    }

    /// Adds records.
    pub fn extend(&mut self, records: &[[u64; N]]) -> Result<()> {
        records.iter().try_for_each(|record| self.push(*record))
    }

    /// Records in the store; equal ones each count until they are read.
    pub fn n_records(&self) -> u64 {
        self.parts.iter().map(Part::n_records).sum()
    }

    /// True if records went to disk.
    pub fn has_spilled(&self) -> bool {
        self.file.is_some()
    }

    /// Ends the adding.
    pub fn finish(mut self) -> Result<Sorted<N>> {
        if self.file.is_some() {
            self.spill()?;
        }
        Ok(Sorted::new(&self.budget, self.parts, self.file, self.numbering, self.distinct))
    }

    /// Takes the records of one part out of the store, in no order; more can be added to it and to others.
    pub(super) fn take_part(&mut self, place: usize) -> Source<N> {
        let part = std::mem::replace(&mut self.parts[place], Part::empty(&self.budget));
        Source { part, file: self.file.clone(), numbering: self.numbering.clone() }
    }

    /// The smallest value that belongs into a part; for the number of parts, one past the largest.
    pub(super) fn smallest_of(&self, place: usize) -> u64 {
        u64::try_from(u128::from(self.cut.smallest) + ((place as u128) << self.cut.shift)).unwrap_or(u64::MAX)
    }

    fn small_records() -> usize {
        (SMALL_CHUNK_BYTES / (8 * N)).max(1)
    }

    #[cold]
    fn make_room(&mut self, place: usize) -> Result<()> {
        let small_records = Self::small_records();
        let part = &mut self.parts[place];
        if part.open.capacity() == 0 {
            part.open = Vec::with_capacity(small_records);
            return Ok(());
        }
        // A quarter of what is there: little is left unused in small parts, and large parts have few chunks.
        let chunk_bytes = match part.n_in_memory() * 2 * N / SMALL_CHUNK_BYTES {
            0..4 => SMALL_CHUNK_BYTES,
            4..16 => LARGE_CHUNK_BYTES / 4,
            _ => LARGE_CHUNK_BYTES,
        };
        if part.claim.try_grow(claimed_bytes(chunk_bytes)) {
            let open = std::mem::replace(&mut part.open, Vec::with_capacity((chunk_bytes / (8 * N)).max(1)));
            part.full.push(open);
            return Ok(());
        }
        if self.distinct && !self.mostly_distinct {
            self.mostly_distinct = !self.drop_equal();
            let open = &self.parts[place].open;
            if !self.mostly_distinct && open.len() < open.capacity() {
                return Ok(());
            }
        }
        self.spill()?;
        self.parts[place].open.reserve_exact(small_records);
        Ok(())
    }

    /// Drops what is there twice in memory; true if that halved it.
    fn drop_equal(&mut self) -> bool {
        let mut n_before = 0;
        let mut n_after = 0;
        for part in &mut self.parts {
            n_before += part.n_in_memory();
            if part.full.is_empty() {
                n_after += part.open.len();
                continue;
            }
            let mut records = part.take_memory();
            records.sort_unstable();
            records.dedup();
            n_after += records.len();
            // A new piece: to shrink the old one could leave its memory in use.
            let mut open = Vec::with_capacity(records.len() + Self::small_records());
            open.append(&mut records);
            part.claim.shrink_to(claimed_bytes(open.capacity() * 8 * N));
            part.open = open;
        }
        n_after <= n_before / 2
    }

    /// Everything to the file; the memory is given back.
    pub(super) fn spill(&mut self) -> Result<()> {
        if self.file.is_none() {
            self.file = Some(Arc::new(SpillFile::new(self.budget.as_ref())?));
        }
        let Some(file) = &self.file else { return Ok(()) };
        let mut buffer: Vec<u8> = Vec::with_capacity(WRITE_BYTES + LARGE_CHUNK_BYTES);
        for part in &mut self.parts {
            let n_records = part.n_in_memory() as u64;
            if n_records == 0 {
                continue;
            }
            part.extents.push(Extent { offset_bytes: file.len_bytes() + buffer.len() as u64, n_records });
            for chunk in part.full.iter().chain([&part.open]) {
                buffer.extend(chunk.iter().flatten().flat_map(|word| word.to_le_bytes()));
                if buffer.len() >= WRITE_BYTES {
                    file.append(&buffer, self.budget.as_ref())?;
                    buffer.clear();
                }
            }
            part.full = Vec::new();
            part.open.clear();
            if part.open.capacity() > Self::small_records() {
                part.open = Vec::new();
            }
            part.claim.shrink_to(0);
        }
        file.append(&buffer, self.budget.as_ref())
    }
}
