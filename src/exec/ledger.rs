//! The drop ledger: every document that a rule dropped, with the rule, the value and the threshold.
//!
//! ```text
//! partitions ──(dropped rows, how far it is)──► one thread per program: rows in input order ──► Sink `rejects/dropped/`
//! ```
//! Invariant: with positions (`_seq`) in the rows, the files have the order of the input, whatever the number of threads:
//! a row is written once no partition can bring an earlier one; until then it waits, in memory or in a scratch file. Files
//! wait for the commit of the run; a ledger that is given up or dropped writes no more when the call returns.
//! A ledger may stand for one part of a run alone, and keep what is dropped there for a later attempt of the same run
//! ([`Ledger::keeping`]).
//! Not here: which rows are dropped (`annotate/`), how they are kept (`checkpoint/`).

use super::checkpoint::{KeptDrops, KeptPage};
use crate::sinks::{Compression, DROPPED, Extent, Format, RejectsFolder, Scratch, Sink, SinkOptions, StagedOutput};
use crate::{Error, Result};
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{SchemaRef, UInt64Type};
use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Messages that may wait for the writing thread; past them the query waits.
const QUEUE_MESSAGES: usize = 64;
/// Rows that wait for slower partitions go to a scratch file past this.
const MAX_WAITING_BYTES: usize = 128 << 20;

/// How much the ledger says of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RejectDetail {
    /// The first rule that it fails, in the order that EXPLAIN shows.
    #[default]
    First,
    /// Every rule that it fails.
    All,
}

/// The ledger of one run. Put it into the session's config as an extension.
#[derive(Debug)]
pub struct Ledger {
    detail: RejectDetail,
    /// `None` in a run that only keeps.
    books: Option<Arc<Books>>,
    /// Where dropped rows are kept too.
    kept: Option<Arc<KeptDrops>>,
}

/// The files under way: one book for each program.
#[derive(Debug)]
struct Books {
    folder: RejectsFolder,
    books: Mutex<Vec<(usize, Book)>>,
}

/// The dropped documents of one program.
#[derive(Debug)]
struct Book {
    sender: SyncSender<Message>,
    failure: Failure,
    thread: JoinHandle<Result<StagedOutput>>,
}

/// Why a book's thread stopped early, for those who find it gone.
type Failure = Arc<Mutex<Option<String>>>;

/// One partition's way to write into a book.
#[derive(Debug)]
pub struct Page {
    partition: usize,
    book: Option<(SyncSender<Message>, Failure)>,
    kept: Option<KeptPage>,
}

#[derive(Debug)]
enum Message {
    /// A partition was opened; nothing may be written before it says how far it is.
    Open(usize),
    /// Rows dropped, in ascending order, and the position up to which the partition is done.
    Rows {
        partition: usize,
        batch: Option<RecordBatch>,
        positions: Option<ArrayRef>,
        done_to: Option<u64>,
    },
    Close(usize),
    End,
    GiveUp,
}

impl Ledger {
    /// A ledger that writes into `folder/dropped/`.
    pub fn new(folder: RejectsFolder, detail: RejectDetail) -> Self {
        Self { detail, books: Some(Arc::new(Books { folder, books: Mutex::default() })), kept: None }
    }

    /// A ledger of a run that only keeps what is dropped, for another one that will write it.
    pub fn that_keeps(detail: RejectDetail) -> Self {
        Self { detail, books: None, kept: None }
    }

    /// The same ledger for a part of the run, whose dropped rows are kept, too.
    pub(super) fn keeping(&self, kept: Arc<KeptDrops>) -> Self {
        Self { detail: self.detail, books: self.books.clone(), kept: Some(kept) }
    }

    pub(super) fn detail(&self) -> RejectDetail {
        self.detail
    }

    /// The page of one partition of the program known by `key`, whose dropped rows have this schema.
    pub fn open(&self, key: usize, schema: SchemaRef, partition: usize) -> Result<Page> {
        let kept = self.kept.as_ref().map(|kept| kept.open(&schema));
        let book = self.books.as_ref().map(|books| books.book(key, schema)).transpose()?;
        let page = Page { partition, book, kept };
        page.send(Message::Open(partition))?;
        Ok(page)
    }

    /// Completes the files, which wait for the commit. The run must be over.
    pub fn stage(&self) -> Result<Vec<StagedOutput>> {
        self.take_books().into_iter().map(|(_, book)| book.end(Message::End)).collect()
    }

    /// Stops writing: the run failed. Partitions that still run find their pages closed.
    pub fn give_up(&self) {
        for (_, book) in self.take_books() {
            // That it was given up is no news, and an earlier failure was told to the run.
            let _ = book.end(Message::GiveUp);
        }
    }

    fn take_books(&self) -> Vec<(usize, Book)> {
        self.books.as_ref().map_or_else(Vec::new, |books| books.take())
    }
}

impl Books {
    /// The way into the book known by `key`, begun if there is none.
    fn book(&self, key: usize, schema: SchemaRef) -> Result<(SyncSender<Message>, Failure)> {
        let mut books = self.books.lock().unwrap_or_else(PoisonError::into_inner);
        let at = match books.iter().position(|(known, _)| *known == key) {
            Some(at) => at,
            None => {
                let name = match books.len() {
                    0 => DROPPED.to_string(),
                    n_books => format!("{DROPPED}-{}", n_books + 1),
                };
                books.push((key, Book::start(Path::new(&name), schema, &self.folder)?));
                books.len() - 1
            }
        };
        let book = &books[at].1;
        Ok((book.sender.clone(), Arc::clone(&book.failure)))
    }

    fn take(&self) -> Vec<(usize, Book)> {
        std::mem::take(&mut *self.books.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Books {
    fn drop(&mut self) {
        for (_, book) in self.take() {
            let _ = book.end(Message::GiveUp);
        }
    }
}

impl Book {
    fn start(name: &Path, schema: SchemaRef, folder: &RejectsFolder) -> Result<Self> {
        let options =
            SinkOptions { format: Some(Format::Jsonl), compression: Some(Compression::Zstd), ..SinkOptions::default() };
        let sink = Sink::create_below(folder, name, options, schema)?;
        let (sender, receiver) = sync_channel(QUEUE_MESSAGES);
        let failure = Failure::default();
        let told = Arc::clone(&failure);
        let waiting = Waiting::new(folder.claim().staging().to_path_buf(), MAX_WAITING_BYTES);
        let work = move || {
            let written = write(sink, waiting, &receiver);
            // Before the receiver goes: whoever finds it gone finds the reason.
            if let Err(error) = &written {
                *told.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
            }
            written
        };
        let thread = std::thread::Builder::new()
            .name("ledger".to_string())
            .spawn(work)
            .map_err(|error| Error::Data(format!("cannot start the ledger's thread: {error}")))?;
        Ok(Self { sender, failure, thread })
    }

    /// Sends the last message and waits for the thread, which never waits for anyone but its queue.
    fn end(self, last: Message) -> Result<StagedOutput> {
        // If the thread stopped early, its result says why.
        let _ = self.sender.send(last);
        self.thread.join().map_err(|_| crate::bug!("the ledger's thread died"))?
    }
}

impl Page {
    /// Adds rows in ascending order of `positions`. The partition will bring none before `done_to` any more.
    pub fn add(&self, batch: Option<RecordBatch>, positions: Option<ArrayRef>, done_to: Option<u64>) -> Result<()> {
        if let (Some(kept), Some(batch)) = (&self.kept, &batch) {
            kept.write(batch, positions.as_ref())?;
        }
        self.send(Message::Rows { partition: self.partition, batch, positions, done_to })
    }

    fn send(&self, message: Message) -> Result<()> {
        let Some((sender, failure)) = &self.book else { return Ok(()) };
        sender.send(message).map_err(|_| {
            let failure = failure.lock().unwrap_or_else(PoisonError::into_inner);
            let why = failure.as_deref().unwrap_or("its thread is gone");
            Error::Data(format!("the drop ledger (`rejects`) could not be written: {why}"))
        })
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        if let Some((sender, _)) = &self.book {
            // The partition is over, or the run was given up and nobody listens.
            let _ = sender.send(Message::Close(self.partition));
        }
    }
}

/// The writing thread: stages nothing if it is told to give up, or if the queue closes without an end.
fn write(mut sink: Sink, mut waiting: Waiting, queue: &Receiver<Message>) -> Result<StagedOutput> {
    while let Ok(message) = queue.recv() {
        match message {
            Message::Open(partition) => waiting.set_done(partition, 0),
            Message::Close(partition) => waiting.set_done(partition, u64::MAX),
            Message::Rows { partition, batch, positions, done_to } => {
                if let Some(batch) = batch {
                    waiting.push(partition, batch, positions)?;
                }
                waiting.set_done(partition, done_to.unwrap_or(u64::MAX));
            }
            Message::End => {
                waiting.write_up_to(u64::MAX, |batch| sink.write(batch))?;
                return sink.stage();
            }
            Message::GiveUp => break,
        }
        waiting.write_up_to(waiting.done_to(), |batch| sink.write(batch))?;
    }
    Err(Error::Interrupted)
}

/// Rows that wait until all partitions are past them, those of each partition in their order.
struct Waiting {
    partitions: HashMap<usize, Partition>,
    held_bytes: usize,
    max_held_bytes: usize,
    folder: PathBuf,
    scratch: Option<Scratch>,
}

#[derive(Default)]
struct Partition {
    rows: VecDeque<Dropped>,
    /// It brings no row before this one any more.
    done_to: u64,
}

/// Rows of one partition, in ascending order of their positions.
struct Dropped {
    positions: Vec<u64>,
    rows: Rows,
}

enum Rows {
    Held(RecordBatch, usize),
    Scratch(Extent),
}

impl Waiting {
    fn new(folder: PathBuf, max_held_bytes: usize) -> Self {
        Self { partitions: HashMap::new(), held_bytes: 0, max_held_bytes, folder, scratch: None }
    }

    fn set_done(&mut self, partition: usize, done_to: u64) {
        self.partitions.entry(partition).or_default().done_to = done_to;
    }

    /// Up to where all partitions are.
    fn done_to(&self) -> u64 {
        self.partitions.values().map(|partition| partition.done_to).min().unwrap_or(0)
    }

    fn push(&mut self, partition: usize, batch: RecordBatch, positions: Option<ArrayRef>) -> Result<()> {
        let positions = positions.as_ref().and_then(|column| column.as_primitive_opt::<UInt64Type>());
        // Without positions rows are written as they come.
        let position =
            |row: usize| positions.filter(|column| column.is_valid(row)).map_or(0, |column| column.value(row));
        let positions = (0..batch.num_rows()).map(position).collect();
        let n_bytes = super::coalesce::slice_bytes(&batch);
        self.held_bytes += n_bytes;
        let dropped = Dropped { positions, rows: Rows::Held(batch, n_bytes) };
        self.partitions.entry(partition).or_default().rows.push_back(dropped);
        if self.held_bytes > self.max_held_bytes { self.spill() } else { Ok(()) }
    }

    /// Moves all rows that wait in memory into the scratch file.
    fn spill(&mut self) -> Result<()> {
        let scratch = match &mut self.scratch {
            Some(scratch) => scratch,
            None => self.scratch.insert(Scratch::create(&self.folder)?),
        };
        for dropped in self.partitions.values_mut().flat_map(|partition| &mut partition.rows) {
            if let Rows::Held(batch, _) = &dropped.rows {
                let extent = scratch.append(&batch.schema(), std::slice::from_ref(batch))?;
                dropped.rows = Rows::Scratch(extent);
            }
        }
        self.held_bytes = 0;
        Ok(())
    }

    /// Gives the rows before `done_to` (all if that is the greatest), in order.
    fn write_up_to(&mut self, done_to: u64, mut write: impl FnMut(&RecordBatch) -> Result<()>) -> Result<()> {
        loop {
            let mut firsts: Vec<(u64, usize)> = vec![];
            for (number, partition) in &self.partitions {
                firsts.extend(partition.rows.front().and_then(|rows| Some((*rows.positions.first()?, *number))));
            }
            firsts.sort_unstable();
            let Some(&(first, number)) = firsts.first() else { return Ok(()) };
            if first >= done_to && done_to != u64::MAX {
                return Ok(());
            }
            let Some(dropped) = self.partitions.get_mut(&number).and_then(|partition| partition.rows.pop_front())
            else {
                return Err(crate::bug!("rows of the ledger went away"));
            };
            let end = firsts.get(1).map_or(done_to, |(next, _)| done_to.min(*next));
            let is_done = |position: &u64| *position < end || *position == first || end == u64::MAX;
            let n_done = dropped.positions.partition_point(is_done);
            let batch = self.load(dropped.rows)?;
            write(&batch.slice(0, n_done))?;
            if n_done < batch.num_rows() {
                let rest = batch.slice(n_done, batch.num_rows() - n_done);
                let n_bytes = super::coalesce::slice_bytes(&rest);
                self.held_bytes += n_bytes;
                let positions = dropped.positions[n_done..].to_vec();
                let rest = Dropped { positions, rows: Rows::Held(rest, n_bytes) };
                self.partitions.entry(number).or_default().rows.push_front(rest);
            }
        }
    }

    fn load(&mut self, rows: Rows) -> Result<RecordBatch> {
        match rows {
            Rows::Held(batch, n_bytes) => {
                self.held_bytes -= n_bytes;
                Ok(batch)
            }
            Rows::Scratch(extent) => {
                let scratch = self.scratch.as_ref().ok_or_else(|| crate::bug!("the ledger has no scratch file"))?;
                let mut found = None;
                scratch.read(extent, |batch| {
                    found = Some(batch);
                    Ok(())
                })?;
                found.ok_or_else(|| crate::bug!("rows of the ledger are not in its scratch file"))
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use arrow::array::UInt64Array;

    #[test]
    fn rows_of_partitions_come_in_order_however_little_memory_there_is() {
        let folder = tempfile::tempdir().unwrap();
        for max_held_bytes in [0, 100, 1 << 20] {
            let mut waiting = Waiting::new(folder.path().to_path_buf(), max_held_bytes);
            let mut written: Vec<u64> = vec![];
            let mut write = |waiting: &mut Waiting, done_to: u64| {
                let mut add = |batch: &RecordBatch| {
                    written.extend(batch.column(0).as_primitive::<UInt64Type>().values());
                    Ok(())
                };
                waiting.write_up_to(done_to, &mut add).unwrap();
                written.len()
            };
            waiting.set_done(0, 0);
            waiting.set_done(1, 0);
            let push = |waiting: &mut Waiting, partition: usize, positions: &[u64]| {
                let column: ArrayRef = Arc::new(UInt64Array::from(positions.to_vec()));
                let batch = RecordBatch::try_from_iter([("n", Arc::clone(&column))]).unwrap();
                waiting.push(partition, batch, Some(column)).unwrap();
                waiting.set_done(partition, positions.last().unwrap() + 1);
            };
            push(&mut waiting, 1, &[100, 101, 300]);
            let done_to = waiting.done_to();
            assert_eq!(write(&mut waiting, done_to), 0, "partition 0 may still bring earlier ones");
            push(&mut waiting, 0, &[5, 200]);
            push(&mut waiting, 0, &[210]);
            let done_to = waiting.done_to();
            assert_eq!(write(&mut waiting, done_to), 5);
            write(&mut waiting, u64::MAX);
            assert_eq!(written, [5, 100, 101, 200, 210, 300], "{max_held_bytes}");
        }
    }
}
