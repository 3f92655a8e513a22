//! Reads an object as if it were a file: anywhere, by ranges that are fetched ahead of whoever reads.
//!
//! ```text
//! reader          ───────────►
//! object    │ 256 kB │ 512 kB │ 1 MB      │ 2 MB … 8 MB, several under way │            from end to end
//!           │        │ column 1: 4 MB, 4 MB, … │      │ column 3: 4 MB … │               as planned
//! ```
//! Who reads from one place to the next gets ever larger ranges, and some of them before they are asked for; who jumps gets
//! small ones. A plan says beforehand which ranges will be read.
//!
//! Invariants: all bytes are of the version of the object that was opened, or reading fails; what is fetched ahead, over all
//! readers, stays within a limit, and what a reader waits for is fetched whatever the limit says.

use super::requests::{attempts, spawn};
use super::trouble::Trouble;
use super::{Meta, Object};
use bytes::Bytes;
use std::collections::{BTreeMap, VecDeque};
use std::io::{Error, ErrorKind, Result};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use tokio::task::AbortHandle;

const FIRST_BYTES: u64 = 256 << 10;
const JUMP_BYTES: u64 = 64 << 10;
const MAX_BYTES: u64 = 8 << 20;
const PLANNED_BYTES: u64 = 4 << 20;
/// Gaps between planned ranges that are read along.
const GAP_BYTES: u64 = 64 << 10;
/// Ranges under way ahead of a reader.
const MAX_AHEAD: usize = 4;
/// Ranges that were read and are kept, for who goes back a little.
const N_KEPT: usize = 1;
/// Ranges that were begun to be read, and are kept for who jumps back.
const MAX_FETCHES: usize = 24;
/// Who goes on behind so small a gap goes from one place to the next.
const NEAR_BYTES: u64 = 256 << 10;

/// What may be fetched ahead, and what is.
static LIMIT: AtomicU64 = AtomicU64::new(256 << 20);
static AHEAD: AtomicU64 = AtomicU64::new(0);

/// Sets how much may be fetched ahead in the whole process, beside what readers wait for.
pub fn limit_read_ahead(n_bytes: u64) {
    LIMIT.store(n_bytes, Ordering::Relaxed);
}

/// Objects that a store did not answer for, however often it was asked.
static OUTAGES: Mutex<BTreeMap<PathBuf, String>> = Mutex::new(BTreeMap::new());

/// Why nobody answers for an object, if its reader has found so.
pub fn outage(path: &Path) -> Option<String> {
    OUTAGES.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned()
}

/// An object that is read.
pub(in crate::store) struct RemoteFile {
    path: PathBuf,
    object: Object,
    n_bytes: u64,
    etag: Option<String>,
    /// Nothing behind it is fetched ahead.
    until: u64,
    /// The first bytes will be followed by the next ones.
    is_range: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// In the order in which they were begun.
    fetches: VecDeque<Fetch>,
    /// Where the last range ends, and how long the next one is.
    end: u64,
    step: u64,
    plan: Vec<Range<u64>>,
    n_regions: usize,
}

struct Fetch {
    range: Range<u64>,
    slot: Arc<Slot>,
    was_read: bool,
    request: Option<AbortHandle>,
    _room: Option<Room>,
}

/// Nobody will read it.
impl Drop for Fetch {
    fn drop(&mut self) {
        if let Some(request) = &self.request {
            request.abort();
        }
    }
}

/// Where the bytes of a range will be.
#[derive(Default)]
struct Slot {
    pieces: Mutex<Option<std::result::Result<Pieces, Trouble>>>,
    is_there: Condvar,
}

type Pieces = Arc<[Bytes]>;

/// A share of what may be fetched ahead.
struct Room(u64);

impl Room {
    fn take(n_bytes: u64) -> Option<Self> {
        let limit = LIMIT.load(Ordering::Relaxed);
        let fits = |taken: u64| (taken + n_bytes <= limit).then_some(taken + n_bytes);
        AHEAD.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok().then(|| Self(n_bytes))
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        AHEAD.fetch_sub(self.0, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for RemoteFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RemoteFile").field("n_bytes", &self.n_bytes).finish_non_exhaustive()
    }
}

impl RemoteFile {
    /// What a store has said of an object before, or says now.
    pub fn open(path: &Path, known: Option<(u64, Option<String>)>) -> Result<Self> {
        let object = Object::of(path)?;
        let (n_bytes, etag) = match known {
            Some(known) => known,
            None => {
                let Meta { n_bytes, etag, .. } = object.head()?;
                (n_bytes, etag)
            }
        };
        Ok(Self { path: path.into(), object, n_bytes, etag, until: n_bytes, is_range: false, state: Mutex::default() })
    }

    /// The same object for who reads from one place to another, and little behind that.
    pub fn within(&self, range: Range<u64>) -> Self {
        let state = State { end: range.start, step: FIRST_BYTES * 4, ..State::default() };
        let until = range.end.min(self.n_bytes);
        let (path, object, etag) = (self.path.clone(), self.object.clone(), self.etag.clone());
        Self { path, object, n_bytes: self.n_bytes, etag, until, is_range: true, state: Mutex::new(state) }
    }

    pub fn n_bytes(&self) -> u64 {
        self.n_bytes
    }

    /// Says which ranges will be read, each from its beginning to its end, and begins to fetch them.
    pub fn plan(&self, mut ranges: Vec<Range<u64>>) {
        ranges.retain(|range| range.start < range.end && range.end <= self.n_bytes);
        ranges.sort_by_key(|range| range.start);
        let mut joined: Vec<Range<u64>> = vec![];
        for range in ranges {
            match joined.last_mut() {
                Some(last) if range.start <= last.end + GAP_BYTES && range.end - last.start <= PLANNED_BYTES => {
                    last.end = last.end.max(range.end);
                }
                _ => joined.push(range),
            }
        }
        let mut state = self.lock();
        state.n_regions = joined.len();
        let cut = |range: &Range<u64>| {
            let (start, end) = (range.start, range.end);
            (0..(end - start).div_ceil(PLANNED_BYTES))
                .map(move |n| start + n * PLANNED_BYTES..(start + (n + 1) * PLANNED_BYTES).min(end))
        };
        state.plan = joined.iter().flat_map(cut).collect();
        let starts: Vec<u64> = joined.iter().map(|range| range.start).collect();
        for start in starts {
            self.fetch_ahead(&mut state, start);
        }
    }

    /// Begins to fetch the beginning, which will be read soon.
    pub fn warm(&self) {
        self.fetch_ahead(&mut self.lock(), 0);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads some bytes; none at the end of the object.
    pub fn read_at(&self, buffer: &mut [u8], at: u64) -> Result<usize> {
        if at >= self.n_bytes || buffer.is_empty() {
            return Ok(0);
        }
        let (slot, range) = {
            let mut state = self.lock();
            let found = match state.fetches.iter().position(|fetch| fetch.range.contains(&at)) {
                Some(found) => found,
                None => self.begin(&mut state, at, None),
            };
            let fetch = &state.fetches[found];
            let (slot, range) = (Arc::clone(&fetch.slot), fetch.range.clone());
            self.look_ahead(&mut state, &range);
            (slot, range)
        };
        let copied = slot.wait(&self.path).and_then(|pieces| copy(&pieces, at - range.start, buffer));
        match copied {
            Ok(n_bytes) => {
                if at + n_bytes as u64 >= range.end {
                    self.was_read(&range);
                }
                Ok(n_bytes)
            }
            Err(error) => {
                // Whoever asks again asks the store again.
                self.lock().fetches.retain(|fetch| fetch.range != range);
                Err(error)
            }
        }
    }

    /// A range was read to its end: those before it go.
    fn was_read(&self, range: &Range<u64>) {
        let mut state = self.lock();
        if let Some(fetch) = state.fetches.iter_mut().find(|fetch| fetch.range == *range) {
            fetch.was_read = true;
        }
        let n_kept = N_KEPT.max(state.n_regions.min(64));
        let n_read = state.fetches.iter().filter(|fetch| fetch.was_read).count();
        for _ in n_kept..n_read {
            let oldest = state.fetches.iter().position(|fetch| fetch.was_read);
            oldest.map(|at| state.fetches.remove(at));
        }
    }

    /// Begins to fetch the range that `at` is in. Gives its place among those under way.
    fn begin(&self, state: &mut State, at: u64, room: Option<Room>) -> usize {
        let range = self.range_at(state, at);
        if !state.plan.contains(&range) {
            (state.end, state.step) = (range.end, (state.step * 2).clamp(FIRST_BYTES, MAX_BYTES));
        }
        let slot = Arc::new(Slot::default());
        let (object, etag, wanted, filling) =
            (self.object.clone(), self.etag.clone(), range.clone(), Filling(Arc::clone(&slot)));
        let begun = spawn(async move {
            let fetched = attempts(|| object.backend.get(&object.key, wanted.clone(), etag.clone())).await;
            filling.0.fill(fetched.map(Arc::from));
        });
        // Without threads the slot was filled when its request was dropped.
        state.fetches.push_back(Fetch { range, slot, was_read: false, request: begun.ok(), _room: room });
        self.forget(state);
        state.fetches.len() - 1
    }

    /// Keeps few of the ranges that nobody has read to their end.
    fn forget(&self, state: &mut State) {
        while state.fetches.len() > MAX_FETCHES + 2 * state.n_regions {
            let newest = state.fetches.len() - 1;
            let Some(oldest) = state.fetches.iter().take(newest).position(|fetch| fetch.slot.is_filled()) else {
                return;
            };
            state.fetches.remove(oldest);
        }
    }

    /// What is fetched together with a byte.
    fn range_at(&self, state: &State, at: u64) -> Range<u64> {
        let planned = state.plan.partition_point(|range| range.end <= at);
        if let Some(range) = state.plan.get(planned).filter(|range| range.contains(&at)) {
            return range.clone();
        }
        let is_next = at.checked_sub(state.end).is_some_and(|gap| gap <= NEAR_BYTES);
        let length = match is_next {
            true if at < self.until => state.step.max(FIRST_BYTES).min(self.until - at),
            true => state.step.clamp(JUMP_BYTES, FIRST_BYTES),
            // The last bytes of a file tell where others are (Parquet, Arrow), and these are mostly just before.
            false if self.n_bytes - at <= JUMP_BYTES => {
                return self.n_bytes.saturating_sub(JUMP_BYTES)..self.n_bytes;
            }
            false => JUMP_BYTES,
        };
        // What follows planned ranges is not fetched twice.
        let next = state.plan.get(planned).map_or(self.n_bytes, |range| range.start);
        at..(at + length).min(self.n_bytes).min(next.max(at + 1))
    }

    /// Fetches what comes behind a range, if the reader goes from one to the next.
    fn look_ahead(&self, state: &mut State, range: &Range<u64>) {
        let is_planned = state.plan.iter().any(|planned| planned == range);
        let n_ahead = if is_planned { 1 } else { MAX_AHEAD };
        // Many a file is opened for its first bytes alone.
        if !is_planned && (state.end < range.end || range.start == 0 && !self.is_range) {
            return;
        }
        let mut next = range.end;
        for _ in 0..n_ahead {
            if let Some(known) = state.fetches.iter().find(|fetch| fetch.range.contains(&next)) {
                next = known.range.end;
                continue;
            }
            let may_begin =
                if is_planned { self.is_planned(state, next) } else { next == state.end && next < self.until };
            if !may_begin || !self.fetch_ahead(state, next) {
                return;
            }
            next = state.fetches.back().map_or(next, |fetch| fetch.range.end);
        }
    }

    fn is_planned(&self, state: &State, at: u64) -> bool {
        state.plan.binary_search_by_key(&at, |range| range.start).is_ok()
    }

    /// Begins to fetch what will be read later, if there is room.
    fn fetch_ahead(&self, state: &mut State, at: u64) -> bool {
        if at >= self.n_bytes || state.fetches.iter().any(|fetch| fetch.range.contains(&at)) {
            return false;
        }
        let range = self.range_at(state, at);
        let Some(room) = Room::take(range.end - range.start) else { return false };
        self.begin(state, at, Some(room));
        true
    }
}

/// Tells who waits when a request ends without an answer.
struct Filling(Arc<Slot>);

impl Drop for Filling {
    fn drop(&mut self) {
        if !self.0.is_filled() {
            self.0.fill(Err(Trouble::permanent(ErrorKind::Other, "a request to a store ended unexpectedly")));
        }
    }
}

impl Slot {
    fn is_filled(&self) -> bool {
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn fill(&self, fetched: std::result::Result<Pieces, Trouble>) {
        *self.pieces.lock().unwrap_or_else(PoisonError::into_inner) = Some(fetched);
        self.is_there.notify_all();
    }

    fn wait(&self, path: &Path) -> Result<Pieces> {
        let mut pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match pieces.as_ref() {
                Some(Ok(pieces)) => return Ok(Arc::clone(pieces)),
                Some(Err(trouble)) if trouble.kind == ErrorKind::AlreadyExists => {
                    return Err(Error::new(ErrorKind::InvalidData, "it was changed while it was being read"));
                }
                Some(Err(trouble)) => {
                    if trouble.is_transient {
                        let mut outages = OUTAGES.lock().unwrap_or_else(PoisonError::into_inner);
                        outages.insert(path.into(), trouble.text.clone());
                    }
                    return Err(trouble.clone().into());
                }
                None => pieces = self.is_there.wait(pieces).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

/// Copies what is there from an offset on.
fn copy(pieces: &[Bytes], mut offset: u64, buffer: &mut [u8]) -> Result<usize> {
    let mut n_copied = 0;
    for piece in pieces {
        let n_piece = piece.len() as u64;
        if offset >= n_piece {
            offset -= n_piece;
            continue;
        }
        let rest = &piece[offset as usize..];
        let n_bytes = rest.len().min(buffer.len() - n_copied);
        buffer[n_copied..n_copied + n_bytes].copy_from_slice(&rest[..n_bytes]);
        (n_copied, offset) = (n_copied + n_bytes, 0);
        if n_copied == buffer.len() {
            break;
        }
    }
    match n_copied {
        0 => Err(Error::new(ErrorKind::UnexpectedEof, "it has become shorter")),
        n_copied => Ok(n_copied),
    }
}
