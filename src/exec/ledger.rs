//! The drop ledger: every document that a rule dropped, with the rule, the value and the threshold.
//!
//! ```text
//! partitions ──(dropped rows, how far it is)──► one thread per program: rows in input order ──► Sink `rejects/dropped/`
//! ```
//! Invariant: with positions (`_seq`) in the rows, the files have the order of the input, whatever the number of threads:
//! a row is written once no partition can bring an earlier one. Files appear complete or not at all, at
//! [`Ledger::finish`]; a ledger that is given up or dropped has removed what it began when the call returns.
//! Not here: which rows are dropped (`annotate/`).

use crate::sinks::{Compression, Format, Sink, SinkOptions, SinkSpec, WrittenFile};
use crate::{Error, Result};
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::interleave_record_batch;
use arrow::datatypes::{SchemaRef, UInt64Type};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Messages that may wait for the writing thread; past them the query waits.
const QUEUE_MESSAGES: usize = 64;
/// Rows that wait for slower partitions are written out of order past this, so that memory stays small.
const MAX_WAITING_BYTES: usize = 256 << 20;

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
    folder: PathBuf,
    detail: RejectDetail,
    books: Mutex<Vec<(usize, Book)>>,
}

/// The dropped documents of one program.
#[derive(Debug)]
struct Book {
    sender: SyncSender<Message>,
    failure: Failure,
    thread: JoinHandle<Result<Vec<WrittenFile>>>,
}

/// Why a book's thread stopped early, for those who find it gone.
type Failure = Arc<Mutex<Option<String>>>;

/// One partition's way to write into a book.
#[derive(Debug)]
pub(super) struct Page {
    partition: usize,
    sender: SyncSender<Message>,
    failure: Failure,
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
    pub fn new(folder: PathBuf, detail: RejectDetail) -> Self {
        Self { folder, detail, books: Mutex::default() }
    }

    pub(super) fn detail(&self) -> RejectDetail {
        self.detail
    }

    /// The page of one partition of the program known by `key`, whose dropped rows have this schema.
    pub(super) fn open(&self, key: usize, schema: SchemaRef, partition: usize) -> Result<Page> {
        let mut books = self.books.lock().unwrap_or_else(PoisonError::into_inner);
        let at = match books.iter().position(|(known, _)| *known == key) {
            Some(at) => at,
            None => {
                let name = match books.len() {
                    0 => "dropped".to_string(),
                    n_books => format!("dropped-{}", n_books + 1),
                };
                let location = format!("{}/", self.folder.join(name).display());
                books.push((key, Book::start(location, schema)?));
                books.len() - 1
            }
        };
        let book = &books[at].1;
        let page = Page { partition, sender: book.sender.clone(), failure: Arc::clone(&book.failure) };
        page.send(Message::Open(partition))?;
        Ok(page)
    }

    /// Gives the files their names. The run must be over.
    pub fn finish(&self) -> Result<Vec<WrittenFile>> {
        let mut files = vec![];
        for (_, book) in self.take_books() {
            files.extend(book.end(Message::End)?);
        }
        Ok(files)
    }

    /// Removes what was written: the run failed. Partitions that still run find their pages closed.
    pub fn give_up(&self) {
        for (_, book) in self.take_books() {
            // That it was given up is no news, and an earlier failure was told to the run.
            let _ = book.end(Message::GiveUp);
        }
    }

    fn take_books(&self) -> Vec<(usize, Book)> {
        std::mem::take(&mut *self.books.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        self.give_up();
    }
}

impl Book {
    fn start(location: String, schema: SchemaRef) -> Result<Self> {
        let options = SinkOptions {
            format: Some(Format::Jsonl),
            compression: Some(Compression::Zstd),
            overwrite: true,
            ..SinkOptions::default()
        };
        let sink = Sink::create(&SinkSpec { location, options }, schema)?;
        let (sender, receiver) = sync_channel(QUEUE_MESSAGES);
        let failure = Failure::default();
        let told = Arc::clone(&failure);
        let work = move || {
            let written = write(sink, &receiver);
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
    fn end(self, last: Message) -> Result<Vec<WrittenFile>> {
        // If the thread stopped early, its result says why.
        let _ = self.sender.send(last);
        self.thread.join().map_err(|_| crate::bug!("the ledger's thread died"))?
    }
}

impl Page {
    /// Adds rows in ascending order of `positions`. The partition will bring none before `done_to` any more.
    pub fn add(&self, batch: Option<RecordBatch>, positions: Option<ArrayRef>, done_to: Option<u64>) -> Result<()> {
        self.send(Message::Rows { partition: self.partition, batch, positions, done_to })
    }

    fn send(&self, message: Message) -> Result<()> {
        self.sender.send(message).map_err(|_| {
            let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
            let why = failure.as_deref().unwrap_or("its thread is gone");
            Error::Data(format!("the drop ledger (`rejects`) could not be written: {why}"))
        })
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // The partition is over, or the run was given up and nobody listens.
        let _ = self.sender.send(Message::Close(self.partition));
    }
}

/// The writing thread: removes what it wrote if it is told to give up, or if the queue closes without an end.
fn write(mut sink: Sink, queue: &Receiver<Message>) -> Result<Vec<WrittenFile>> {
    let mut waiting = Waiting::default();
    while let Ok(message) = queue.recv() {
        match message {
            Message::Open(partition) => {
                waiting.done_to.insert(partition, 0);
            }
            Message::Close(partition) => {
                waiting.done_to.insert(partition, u64::MAX);
            }
            Message::Rows { partition, batch, positions, done_to } => {
                if let Some(batch) = batch {
                    waiting.push(batch, positions);
                }
                waiting.done_to.insert(partition, done_to.unwrap_or(u64::MAX));
            }
            Message::End => {
                waiting.write_up_to(u64::MAX, &mut sink)?;
                return sink.finish();
            }
            Message::GiveUp => break,
        }
        let is_too_much = waiting.n_bytes > MAX_WAITING_BYTES;
        let done_to = waiting.done_to.values().copied().min().unwrap_or(0);
        waiting.write_up_to(if is_too_much { u64::MAX } else { done_to }, &mut sink)?;
    }
    Err(Error::Interrupted)
}

/// Rows that wait until all partitions are past them.
#[derive(Default)]
struct Waiting {
    batches: Vec<RecordBatch>,
    /// For each row waiting its position, its batch and its place there.
    rows: Vec<(u64, usize, usize)>,
    n_bytes: usize,
    done_to: HashMap<usize, u64>,
}

impl Waiting {
    fn push(&mut self, batch: RecordBatch, positions: Option<ArrayRef>) {
        let positions = positions.as_ref().and_then(|column| column.as_primitive_opt::<UInt64Type>());
        let at = self.batches.len();
        // Without positions rows are written as they come.
        let position =
            |row: usize| positions.filter(|column| column.is_valid(row)).map_or(0, |column| column.value(row));
        self.rows.extend((0..batch.num_rows()).map(|row| (position(row), at, row)));
        self.n_bytes += super::coalesce::slice_bytes(&batch);
        self.batches.push(batch);
    }

    fn write_up_to(&mut self, done_to: u64, sink: &mut Sink) -> Result<()> {
        let is_done = |(position, _, _): &(u64, usize, usize)| *position < done_to || done_to == u64::MAX;
        if !self.rows.iter().any(is_done) {
            return Ok(());
        }
        self.rows.sort_unstable();
        let n_done = self.rows.partition_point(is_done);
        let picked: Vec<(usize, usize)> = self.rows[..n_done].iter().map(|&(_, batch, row)| (batch, row)).collect();
        let batches: Vec<&RecordBatch> = self.batches.iter().collect();
        let failed = |error: arrow::error::ArrowError| crate::bug!("rows of the ledger: {error}");
        sink.write(&interleave_record_batch(&batches, &picked).map_err(failed)?)?;
        // What is left moves together, so that written batches are let go.
        let left: Vec<(usize, usize)> = self.rows[n_done..].iter().map(|&(_, batch, row)| (batch, row)).collect();
        let rest = if left.is_empty() { None } else { Some(interleave_record_batch(&batches, &left).map_err(failed)?) };
        let positions: Vec<u64> = self.rows.drain(..).skip(n_done).map(|(position, _, _)| position).collect();
        self.rows.extend(positions.into_iter().enumerate().map(|(row, position)| (position, 0, row)));
        self.n_bytes = rest.as_ref().map_or(0, super::coalesce::slice_bytes);
        self.batches = rest.into_iter().collect();
        Ok(())
    }
}
