//! Reads the records of a [`super::Groups`] in order.
//!
//! Parts are loaded and sorted one after the other, as many ahead as there are threads. A part on disk that does not
//! fit in the memory that is left is dealt out again by narrower ranges until its pieces fit, and so is a very large
//! one in memory; records that are all equal need no memory. The rows of one group are held in memory: 8 bytes each.
//! Invariant: records come in ascending order, whatever the memory and the threads.

use super::claim::Claim;
use super::groups::{Cut, Groups, Part};
use super::numbering::Numbering;
use super::spill_file::SpillFile;
use super::{Budget, threads};
use crate::Result;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// A piece this small is loaded without asking.
const SMALL_PIECE_BYTES: usize = 256 << 10;

/// A part in memory larger than this is dealt out again: to sort it would take as much memory once more.
const LARGE_PART_BYTES: usize = 16 << 20;

/// Records that are read from disk at a time while a part is looked through.
const READ_BYTES: usize = 64 << 10;

/// Fewer records are not worth another thread.
const PARALLEL_RECORDS: u64 = 1 << 15;

/// One part and the file that its extents lie in.
pub(super) struct Source<const N: usize> {
    pub(super) part: Part<N>,
    pub(super) file: Option<Arc<SpillFile>>,
    /// What the last words, packed rows, become.
    pub(super) numbering: Option<Numbered>,
}

/// How packed rows get their numbers when records are read.
#[derive(Clone)]
pub(super) struct Numbered {
    pub(super) numbering: Arc<Numbering>,
    /// All bits are turned, so that the last row comes first.
    pub(super) is_turned: bool,
}

/// Sorted records, or one record so many times.
enum SortedRun<const N: usize> {
    Records { records: Vec<[u64; N]>, _claim: Claim },
    Same { record: [u64; N], n_times: u64 },
}

enum Item<const N: usize> {
    Source(Source<N>),
    Run(SortedRun<N>),
}

/// Records in ascending order; an iterator, and groups of records with the same key.
pub struct Sorted<const N: usize> {
    budget: Arc<dyn Budget>,
    pending: VecDeque<Item<N>>,
    current: Option<(SortedRun<N>, u64)>,
    distinct: bool,
    n_threads: usize,
}

impl<const N: usize> Sorted<N> {
    pub(super) fn new(
        budget: &Arc<dyn Budget>,
        parts: Vec<Part<N>>,
        file: Option<Arc<SpillFile>>,
        numbering: Option<Numbered>,
        distinct: bool,
    ) -> Self {
        let parts = parts.into_iter().filter(|part| part.n_records() > 0);
        let source = |part| Item::Source(Source { part, file: file.clone(), numbering: numbering.clone() });
        let pending = parts.map(source).collect();
        let n_threads = budget.n_threads();
        Self { budget: Arc::clone(budget), pending, current: None, distinct, n_threads }
    }

    /// With the records of another store behind its own, which are all smaller.
    pub(super) fn then(mut self, next: Sorted<N>) -> Self {
        self.pending.extend(next.pending);
        self
    }

    /// Reads ahead on the thread of whoever asks, not on all.
    pub(super) fn on_one_thread(self) -> Self {
        Self { n_threads: 1, ..self }
    }

    /// Calls `f` with the key (N − 1 words) and the rows, ascending, of each group of at least `min_rows`, in ascending
    /// order of the keys.
    pub fn for_each_group(mut self, min_rows: usize, mut f: impl FnMut(&[u64], &[u64]) -> Result<()>) -> Result<()> {
        let mut key = [0; N];
        let mut rows: Vec<u64> = Vec::new();
        self.for_each_record(|record| {
            if record[..N - 1] != key[..N - 1] {
                if !rows.is_empty() && rows.len() >= min_rows {
                    f(&key[..N - 1], &rows)?;
                }
                rows.clear();
                key = *record;
            }
            rows.push(record[N - 1]);
            Ok(())
        })?;
        if !rows.is_empty() && rows.len() >= min_rows { f(&key[..N - 1], &rows) } else { Ok(()) }
    }

    /// The same from several threads, in no particular order.
    pub fn par_for_each_group(self, min_rows: usize, f: impl Fn(&[u64], &[u64]) -> Result<()> + Sync) -> Result<()> {
        self.par_for_each_part(|part| part.for_each_group(min_rows, &f))
    }

    /// Calls `f` with each record in ascending order.
    pub fn for_each_record(&mut self, mut f: impl FnMut(&[u64; N]) -> Result<()>) -> Result<()> {
        while let Some(record) = self.next_of_current() {
            f(&record)?;
        }
        while let Some(run) = self.next_run()? {
            match run {
                SortedRun::Records { records, .. } => records.iter().try_for_each(&mut f)?,
                SortedRun::Same { record, n_times } => (0..n_times).try_for_each(|_| f(&record))?,
            }
        }
        Ok(())
    }

    /// Calls `f` from several threads with ranges of the records: each is sorted, no group is in two of them.
    pub fn par_for_each_part(self, f: impl Fn(Sorted<N>) -> Result<()> + Sync) -> Result<()> {
        let Self { budget, pending, distinct, n_threads, .. } = self;
        let part = |item: Item<N>| {
            let pending = VecDeque::from([item]);
            f(Sorted { budget: Arc::clone(&budget), pending, current: None, distinct, n_threads: 1 })
        };
        threads::for_each(n_threads, pending.into(), part)
    }

    fn next_of_current(&mut self) -> Option<[u64; N]> {
        let (run, n_taken) = self.current.as_mut()?;
        let record = match run {
            SortedRun::Records { records, .. } => records.get(*n_taken as usize).copied(),
            SortedRun::Same { record, n_times } => (*n_taken < *n_times).then_some(*record),
        };
        *n_taken += 1;
        if record.is_none() {
            self.current = None;
        }
        record
    }

    fn next_run(&mut self) -> Result<Option<SortedRun<N>>> {
        loop {
            if matches!(self.pending.front(), Some(Item::Source(_))) {
                self.load_ahead()?;
            }
            match self.pending.pop_front() {
                None => return Ok(None),
                Some(Item::Run(run)) => return Ok(Some(run)),
                Some(Item::Source(source)) => self.split(source)?,
            }
        }
    }

    /// Loads the first part, and with it as many of the next ones as there are threads.
    fn load_ahead(&mut self) -> Result<()> {
        let n_records = |item: &Item<N>| match item {
            Item::Source(source) => source.part.n_records(),
            Item::Run(_) => 0,
        };
        let n_ahead = self.n_threads.clamp(1, self.pending.len());
        let worth = self.pending.iter().take(n_ahead).map(n_records).sum::<u64>() >= PARALLEL_RECORDS;
        let batch = self.pending.drain(..if worth { n_ahead } else { 1 });
        let places: Vec<Mutex<Option<Item<N>>>> = batch.map(|item| Mutex::new(Some(item))).collect();
        threads::for_each(self.n_threads, places.iter().collect(), |place| {
            let mut item = threads::locked(place);
            *item = match item.take() {
                Some(Item::Source(source)) => Some(self.load(source)?),
                other => other,
            };
            Ok(())
        })?;
        for place in places.into_iter().rev() {
            if let Some(item) = place.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
                self.pending.push_front(item);
            }
        }
        Ok(())
    }

    /// A sorted run, or the part as it was if it is too large.
    fn load(&self, source: Source<N>) -> Result<Item<N>> {
        let n_bytes = (source.part.n_records() as usize).saturating_mul(8 * N);
        let mut claim = Claim::none(&self.budget);
        let fits = match source.part.is_on_disk() {
            true => n_bytes <= SMALL_PIECE_BYTES || claim.try_grow(n_bytes),
            false => n_bytes <= LARGE_PART_BYTES,
        };
        if !fits {
            return Ok(Item::Source(source));
        }
        let mut records = Vec::new();
        if source.part.is_on_disk() {
            records.reserve_exact(n_bytes / (8 * N));
            source.for_each(|record| {
                records.push(*record);
                Ok(())
            })?;
        } else {
            let numbering = source.numbering;
            (records, claim) = source.part.into_memory();
            if numbering.is_some() {
                records.iter_mut().for_each(|record| *record = numbered(numbering.as_ref(), *record));
            }
        }
        sort(&mut records);
        if self.distinct {
            records.dedup();
        }
        Ok(Item::Run(SortedRun::Records { records, _claim: claim }))
    }

    /// Deals a part out again, by the first word in which its records differ.
    fn split(&mut self, source: Source<N>) -> Result<()> {
        let mut smallest = [u64::MAX; N];
        let mut largest = [0; N];
        source.for_each(|record| {
            for word in 0..N {
                smallest[word] = smallest[word].min(record[word]);
                largest[word] = largest[word].max(record[word]);
            }
            Ok(())
        })?;
        let Some(word) = (0..N).find(|word| smallest[*word] < largest[*word]) else {
            let n_times = if self.distinct { 1 } else { source.part.n_records() };
            self.pending.push_front(Item::Run(SortedRun::Same { record: smallest, n_times }));
            return Ok(());
        };
        let mut pieces = Groups::with_cut(&self.budget, Cut::between(word, smallest[word], largest[word]));
        if self.distinct {
            pieces = pieces.distinct();
        }
        if source.part.is_on_disk() {
            source.for_each(|record| pieces.push(*record))?;
        } else {
            let numbering = source.numbering;
            source.part.drain_memory(|record| pieces.push(numbered(numbering.as_ref(), record)))?;
        }
        for item in pieces.finish()?.pending.into_iter().rev() {
            self.pending.push_front(item);
        }
        Ok(())
    }
}

impl<const N: usize> Iterator for Sorted<N> {
    type Item = Result<[u64; N]>;

    fn next(&mut self) -> Option<Result<[u64; N]>> {
        loop {
            if let Some(record) = self.next_of_current() {
                return Some(Ok(record));
            }
            match self.next_run() {
                Ok(Some(run)) => self.current = Some((run, 0)),
                Ok(None) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// Two words at a time compare without a branch, which makes this the fastest of the plain sorts.
fn sort<const N: usize>(records: &mut [[u64; N]]) {
    let pair = |record: &[u64; N], at: usize| u128::from(record[at]) << 64 | u128::from(record[(at + 1).min(N - 1)]);
    match N {
        2 => records.sort_unstable_by_key(|record| pair(record, 0)),
        3 => records.sort_unstable_by_key(|record| (pair(record, 0), record[N - 1])),
        _ => records.sort_unstable(),
    }
}

/// A record with its row's number in place of the packed row.
#[inline]
fn numbered<const N: usize>(by: Option<&Numbered>, mut record: [u64; N]) -> [u64; N] {
    if let Some(Numbered { numbering, is_turned }) = by {
        let number = numbering.number_of_packed(record[N - 1]);
        record[N - 1] = if *is_turned { !number } else { number };
    }
    record
}

impl<const N: usize> Source<N> {
    /// Calls `f` with each record, in the order in which they lie there.
    pub(super) fn for_each(&self, mut f: impl FnMut(&[u64; N]) -> Result<()>) -> Result<()> {
        let mut f = |record: &[u64; N]| f(&numbered(self.numbering.as_ref(), *record));
        self.part.in_memory().try_for_each(&mut f)?;
        let Some(file) = &self.file else { return Ok(()) };
        let mut buffer = vec![0; READ_BYTES / (8 * N) * (8 * N)];
        for extent in &self.part.extents {
            let mut at = extent.offset_bytes;
            let end = at + extent.n_records * 8 * N as u64;
            while at < end {
                let n_bytes = buffer.len().min((end - at) as usize);
                let bytes = &mut buffer[..n_bytes];
                file.read_at(at, bytes)?;
                for bytes in bytes.chunks_exact(8 * N) {
                    let mut record = [0; N];
                    for (word, bytes) in record.iter_mut().zip(bytes.chunks_exact(8)) {
                        *word = bytes.try_into().map_or(0, u64::from_le_bytes);
                    }
                    f(&record)?;
                }
                at += n_bytes as u64;
            }
        }
        Ok(())
    }
}
