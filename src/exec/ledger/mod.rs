//! The drop ledger: every document that a rule dropped, with the rule, the value and the threshold.
//!
//! ```text
//! partitions ──(dropped rows, how far it is)──► one thread per program: rows in input order ──► Sink `rejects/dropped/`
//! ```
//! Invariant: the files have the order of the input (`keys.rs`), and the same names and bytes whatever the number of threads:
//! a row is written once no partition can bring an earlier one; until then it waits, in memory or in a scratch file
//! (`in_order.rs`). Files wait for the commit of the run; a ledger that is given up or dropped writes no more when the call
//! returns. A ledger may stand for one part of a run alone, and keep what is dropped there for a later attempt of the same run
//! ([`Ledger::keeping`]).
//! Not here: which rows are dropped (`annotate/`), how they are kept (`checkpoint/`).

mod in_order;
mod keys;

pub(in crate::exec) use keys::{DropKeys, ascends, position_columns};

use super::checkpoint::{KeptDropWriter, KeptDrops};
use super::{AnnotateExec, DeviceExec};
use crate::sinks::{Compression, DROPPED, Format, RejectsFolder, Sink, SinkOptions, StagedOutput};
use crate::verb::VerbExec;
use crate::{Error, Result, bug};
use arrow::array::{ArrayRef, AsArray, BinaryArray, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, UInt64Type};
use datafusion::physical_plan::ExecutionPlan;
use in_order::{DoneTo, Waiting};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;

/// Messages that may wait for the writing thread; past them the query waits.
const QUEUE_MESSAGES: usize = 64;
/// Rows that wait for others go to a scratch file past this.
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
    files: Option<Arc<DropFiles>>,
    /// Where dropped rows are kept too.
    kept: Option<Arc<KeptDrops>>,
}

/// The files under way: one for each program.
#[derive(Debug)]
struct DropFiles {
    folder: RejectsFolder,
    /// The programs in the order of the plan, by which files are named.
    programs: OnceLock<Vec<usize>>,
    files: Mutex<Vec<DropFile>>,
}

/// The dropped documents of one program.
#[derive(Debug)]
struct DropFile {
    program: usize,
    number: usize,
    sender: SyncSender<Message>,
    failure: Failure,
    thread: JoinHandle<Result<StagedOutput>>,
}

/// Why a file's thread stopped early, for those who find it gone.
type Failure = Arc<Mutex<Option<String>>>;

/// One partition of a program that drops rows.
#[derive(Debug, Clone, Copy)]
pub(in crate::exec) struct DropPartition {
    pub number: usize,
    /// How many partitions the program has.
    pub of: usize,
    /// Whether the keys of each partition's rows ascend.
    pub ascends: bool,
}

/// One partition's way to write into a file.
#[derive(Debug)]
pub struct DropWriter {
    partition: usize,
    file: Option<(SyncSender<Message>, Failure)>,
    kept: Option<KeptDropWriter>,
}

#[derive(Debug)]
enum Message {
    /// A partition was opened; nothing may be written before it says how far it is.
    Open(usize),
    /// Rows dropped, with their keys in the last column, and the key up to which the partition is done.
    Rows {
        partition: usize,
        batch: Option<RecordBatch>,
        done_to: DoneTo,
    },
    Close(usize),
    End,
    GiveUp,
}

impl Ledger {
    /// A ledger that writes into `folder/dropped/`.
    pub fn new(folder: RejectsFolder, detail: RejectDetail) -> Self {
        let files = DropFiles { folder, programs: OnceLock::new(), files: Mutex::default() };
        Self { detail, files: Some(Arc::new(files)), kept: None }
    }

    /// A ledger of a run that only keeps what is dropped, for another one that will write it.
    pub fn that_keeps(detail: RejectDetail) -> Self {
        Self { detail, files: None, kept: None }
    }

    /// The same ledger for a part of the run, whose dropped rows are kept, too.
    pub(super) fn keeping(&self, kept: Arc<KeptDrops>) -> Self {
        Self { detail: self.detail, files: self.files.clone(), kept: Some(kept) }
    }

    pub(super) fn detail(&self) -> RejectDetail {
        self.detail
    }

    /// Names the files by the places of their programs in the plan that is about to run, the nearest to a source first.
    /// Without it they are named in the order in which they are opened.
    pub fn follow(&self, plan: &Arc<dyn ExecutionPlan>) {
        if let Some(files) = &self.files {
            files.programs.get_or_init(|| programs(plan));
        }
    }

    /// The way into the file of the program known by `program`, for one of its partitions, whose dropped rows have this schema.
    /// The partitions bring rows in ascending order of their positions; all are opened before one writes.
    pub fn open(&self, program: usize, schema: SchemaRef, partition: usize) -> Result<DropWriter> {
        self.open_partition(program, &schema, DropPartition { number: partition, of: 1, ascends: true })
    }

    /// The way into a file for rows with keys of their own.
    pub(in crate::exec) fn open_partition(
        &self,
        program: usize,
        schema: &SchemaRef,
        partition: DropPartition,
    ) -> Result<DropWriter> {
        let kept = self.kept.as_ref().map(|kept| kept.open(&with_key(schema)));
        let file = self.files.as_ref().map(|files| files.open(program, schema, partition)).transpose()?;
        let writer = DropWriter { partition: partition.number, file, kept };
        writer.send(Message::Open(partition.number))?;
        Ok(writer)
    }

    /// Completes the files, which wait for the commit. The run must be over.
    pub fn stage(&self) -> Result<Vec<StagedOutput>> {
        self.take_files().into_iter().map(|file| file.end(Message::End)).collect()
    }

    /// Stops writing: the run failed. Partitions that still run find their files closed.
    pub fn give_up(&self) {
        for file in self.take_files() {
            // That it was given up is no news, and an earlier failure was told to the run.
            let _ = file.end(Message::GiveUp);
        }
    }

    fn take_files(&self) -> Vec<DropFile> {
        self.files.as_ref().map_or_else(Vec::new, |files| files.take())
    }
}

/// The programs of a plan that write into the ledger, the nearest to a source first, those of earlier branches first.
fn programs(plan: &Arc<dyn ExecutionPlan>) -> Vec<usize> {
    let mut found: Vec<usize> = plan.children().into_iter().flat_map(programs).collect();
    let annotate = plan.downcast_ref::<DeviceExec>().map(DeviceExec::annotate);
    let annotate = annotate.or_else(|| plan.downcast_ref::<AnnotateExec>());
    found.extend(annotate.and_then(AnnotateExec::recorded_program));
    let verb = plan.downcast_ref::<VerbExec>().filter(|verb| verb.operator().records_drops());
    found.extend(verb.map(VerbExec::id));
    found
}

/// The schema of dropped rows with their keys.
fn with_key(schema: &SchemaRef) -> SchemaRef {
    let key = Arc::new(Field::new("_key", DataType::Binary, false));
    Arc::new(Schema::new(schema.fields().iter().cloned().chain([key]).collect::<Vec<_>>()))
}

impl DropFiles {
    /// The way into the file of `program`, begun if there is none.
    fn open(
        &self,
        program: usize,
        schema: &SchemaRef,
        partition: DropPartition,
    ) -> Result<(SyncSender<Message>, Failure)> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let at = match files.iter().position(|known| known.program == program) {
            Some(at) => at,
            None => {
                let programs = self.programs.get().map_or(&[][..], Vec::as_slice);
                let in_plan = programs.iter().position(|known| *known == program);
                let n_others = files.iter().filter(|file| !programs.contains(&file.program)).count();
                let number = in_plan.unwrap_or(programs.len() + n_others);
                files.push(DropFile::start((program, number), Arc::clone(schema), &self.folder, partition)?);
                files.len() - 1
            }
        };
        Ok((files[at].sender.clone(), Arc::clone(&files[at].failure)))
    }

    fn take(&self) -> Vec<DropFile> {
        let mut files = std::mem::take(&mut *self.files.lock().unwrap_or_else(PoisonError::into_inner));
        files.sort_by_key(|file| file.number);
        files
    }
}

impl Drop for DropFiles {
    fn drop(&mut self) {
        for file in self.take() {
            let _ = file.end(Message::GiveUp);
        }
    }
}

impl DropFile {
    fn start(
        (program, number): (usize, usize),
        schema: SchemaRef,
        folder: &RejectsFolder,
        partition: DropPartition,
    ) -> Result<Self> {
        let options =
            SinkOptions { format: Some(Format::Jsonl), compression: Some(Compression::Zstd), ..SinkOptions::default() };
        let name = match number {
            0 => DROPPED.to_string(),
            _ => format!("{DROPPED}-{}", number + 1),
        };
        let sink = Sink::create_below(folder, Path::new(&name), options, schema)?;
        let (sender, receiver) = sync_channel(QUEUE_MESSAGES);
        let failure = Failure::default();
        let told = Arc::clone(&failure);
        let scratch = folder.claim().staging().to_path_buf();
        let waiting = Waiting::new(partition.of, partition.ascends, scratch, MAX_WAITING_BYTES);
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
        Ok(Self { program, number, sender, failure, thread })
    }

    /// Sends the last message and waits for the thread, which never waits for anyone but its queue.
    fn end(self, last: Message) -> Result<StagedOutput> {
        // If the thread stopped early, its result says why.
        let _ = self.sender.send(last);
        self.thread.join().map_err(|_| bug!("the ledger's thread died"))?
    }
}

impl DropWriter {
    /// Adds rows in ascending order of `positions`. The partition will bring none before `done_to` any more. A partition
    /// without positions is the only one.
    pub fn add(&self, batch: Option<RecordBatch>, positions: Option<ArrayRef>, done_to: Option<u64>) -> Result<()> {
        let n_rows = batch.as_ref().map_or(0, RecordBatch::num_rows);
        let keys = match positions.as_ref().and_then(|positions| positions.as_primitive_opt::<UInt64Type>()) {
            Some(positions) => BinaryArray::from_iter_values(positions.values().iter().map(|at| at.to_be_bytes())),
            None => BinaryArray::from_iter_values(std::iter::repeat_n([], n_rows)),
        };
        let batch = batch.map(|batch| keyed(&batch, keys)).transpose()?;
        let done_to = done_to.map_or(DoneTo::End, |done_to| DoneTo::Key(done_to.to_be_bytes().to_vec()));
        self.send_rows(batch, done_to)
    }

    /// Adds rows with their keys in the last column. The partition will bring none before `last` any more; where it cannot say,
    /// rows are sorted at the end.
    pub(in crate::exec) fn add_keyed(&self, batch: Option<RecordBatch>, last: Option<Vec<u8>>) -> Result<()> {
        self.send_rows(batch, last.map_or(DoneTo::NOTHING, DoneTo::Key))
    }

    fn send_rows(&self, batch: Option<RecordBatch>, done_to: DoneTo) -> Result<()> {
        if let (Some(kept), Some(batch)) = (&self.kept, &batch) {
            kept.write(batch)?;
        }
        self.send(Message::Rows { partition: self.partition, batch, done_to })
    }

    fn send(&self, message: Message) -> Result<()> {
        let Some((sender, failure)) = &self.file else { return Ok(()) };
        sender.send(message).map_err(|_| {
            let failure = failure.lock().unwrap_or_else(PoisonError::into_inner);
            let why = failure.as_deref().unwrap_or("its thread is gone");
            Error::Data(format!("the drop ledger (`rejects`) could not be written: {why}"))
        })
    }
}

impl Drop for DropWriter {
    fn drop(&mut self) {
        if let Some((sender, _)) = &self.file {
            // The partition is over, or the run was given up and nobody listens.
            let _ = sender.send(Message::Close(self.partition));
        }
    }
}

/// Rows with their keys as a last column.
pub(in crate::exec) fn keyed(batch: &RecordBatch, keys: BinaryArray) -> Result<RecordBatch> {
    let columns = batch.columns().iter().cloned().chain([Arc::new(keys) as ArrayRef]).collect();
    RecordBatch::try_new(with_key(&batch.schema()), columns).map_err(|error| bug!("keys of the ledger: {error}"))
}

/// The writing thread: stages nothing if it is told to give up, or if the queue closes without an end.
fn write(mut sink: Sink, mut waiting: Waiting, queue: &Receiver<Message>) -> Result<StagedOutput> {
    while let Ok(message) = queue.recv() {
        match message {
            Message::Open(partition) => waiting.set_done(partition, DoneTo::NOTHING),
            Message::Close(partition) => waiting.set_done(partition, DoneTo::End),
            Message::Rows { partition, batch, done_to } => {
                if let Some(batch) = batch {
                    waiting.push(partition, batch)?;
                }
                waiting.set_done(partition, done_to);
            }
            Message::End => {
                waiting.write_up_to(&DoneTo::End, |batch| sink.write(batch))?;
                return sink.stage();
            }
            Message::GiveUp => break,
        }
        let done_to = waiting.done_to();
        if done_to != DoneTo::NOTHING {
            waiting.write_up_to(&done_to, |batch| sink.write(batch))?;
        }
    }
    Err(Error::Interrupted)
}
