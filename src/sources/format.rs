//! What a format is to the scan: it cuts the input into units on some threads, and decodes a unit into rows on others.
//!
//! Adding a format is one implementation of [`FormatReader`] and one line in `open`.

use super::buffers::Buffers;
use super::compression::{ByteCount, ByteStream, open_file};
use super::discover::SourceFile;
use super::held::HeldHeads;
use super::lines::Block;
use super::queue::{Cancelled, Lane};
use super::rejects::{Reject, RejectKind, RejectLog};
use super::spec::Compression;
use crate::{Error, Result};
use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use datafusion::physical_optimizer::pruning::PruningPredicate;
use datafusion::physical_plan::metrics::Count;
use std::fmt::Debug;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// A piece of input that one partition decodes.
#[derive(Debug)]
pub(crate) enum Unit {
    /// Whole lines of one file.
    Lines(Block),
    /// Whole small files.
    Texts(Vec<(usize, Vec<u8>)>),
    /// A file that its decoder opens itself.
    File(usize),
    /// One row group of a Parquet file.
    RowGroup {
        file: usize,
        row_group: usize,
        first_row: u64,
        metadata: parquet::arrow::arrow_reader::ArrowReaderMetadata,
    },
}

impl Unit {
    /// Memory that the unit holds while it waits.
    pub fn memory_bytes(&self) -> usize {
        match self {
            Unit::Lines(block) => block.data.len(),
            Unit::Texts(texts) => texts.iter().map(|(_, text)| text.len()).sum(),
            Unit::File(_) | Unit::RowGroup { .. } => 0,
        }
    }
}

/// Where a row came from: its file, and its line or row there, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub file: u32,
    pub row: u64,
}

/// Decoded rows: the projected columns of the file's own, and each row's origin.
#[derive(Debug)]
pub(crate) struct Rows {
    pub columns: Vec<ArrayRef>,
    pub origins: Vec<Origin>,
}

/// Batches of rows, decoded as they are asked for.
pub(crate) type RowsIter = Box<dyn Iterator<Item = Result<Rows>> + Send>;

/// Why a reader stopped before the end of its input.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Nobody wants the rest.
    Cancelled,
    /// It cannot go on.
    Failed(Error),
}

impl From<Cancelled> for Stop {
    fn from(_: Cancelled) -> Self {
        Stop::Cancelled
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Failed(error)
    }
}

/// One format's way from bytes to rows.
pub(crate) trait FormatReader: Debug + Send + Sync {
    /// The columns that the files have, all together.
    fn schema(&self) -> SchemaRef;

    /// Into how many parts the input falls that can be walked at the same time.
    fn n_lanes(&self, _input: &Input) -> usize {
        1
    }

    /// Walks one part of the input in order and queues its units. Runs on a thread of its own.
    fn produce(&self, scan: &Scan, lane: &Lane) -> Result<(), Stop>;

    /// Decodes one unit. The batches hold the columns `scan.projection`, in that order.
    fn decode(&self, unit: Unit, scan: &Scan) -> Result<RowsIter>;
}

/// One reading of a source: what to read, how much at a time, and where to report.
///
/// The threads that read share one and each partition has its own, which differ only in the counters.
#[derive(Clone, Debug)]
pub(crate) struct Scan {
    pub input: Arc<Input>,
    /// Columns wanted, as indices into the reader's schema.
    pub projection: Arc<[usize]>,
    /// What the rows must satisfy above the scan; a reader may skip what cannot.
    pub predicate: Option<Arc<PruningPredicate>>,
    pub batch_rows: usize,
    pub batch_bytes: usize,
    /// The memory of blocks of lines.
    pub buffers: Arc<Buffers>,
    pub counters: Counters,
}

/// The bytes of a source.
#[derive(Debug)]
pub(crate) struct Input {
    pub files: Vec<SourceFile>,
    pub compression: Option<Compression>,
    /// How the format changes a stream before it reads it.
    pub adapt: Adapt,
    /// Beginnings that were read to learn the columns.
    pub heads: HeldHeads,
    /// Standard input in place of the (one) file.
    pub stdin: Option<StdinOnce>,
}

/// Changes a file's stream: the way from a JSON array to lines.
pub(crate) type Adapt = fn(&str, ByteStream) -> io::Result<ByteStream>;

/// A file from its first byte, unpacked and adapted.
pub(crate) struct Opened {
    pub stream: ByteStream,
    /// What was read of the file on disk.
    pub count: ByteCount,
}

/// Standard input, already unpacked and peeked into: it can be taken once.
pub(crate) struct StdinOnce(pub Mutex<Option<ByteStream>>);

impl Debug for StdinOnce {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StdinOnce")
    }
}

impl Input {
    /// Opens a file for a scan. Standard input opens once; that error ends the run, others only the file.
    pub fn open(&self, file: usize) -> Result<io::Result<Opened>> {
        if let Some(stdin) = &self.stdin {
            let taken = stdin.0.lock().unwrap_or_else(PoisonError::into_inner).take();
            return taken.map(|stream| Ok(Opened { stream, count: ByteCount::default() })).ok_or_else(|| {
                Error::Data(
                    "standard input can be read only once, and this query reads '-' twice; \
                     save it to a file first"
                        .into(),
                )
            });
        }
        Ok(self.heads.take(file, &self.files[file].path).map_or_else(|| self.open_anew(file), Ok))
    }

    /// Opens a file, whatever was read of it before.
    pub fn open_anew(&self, file: usize) -> io::Result<Opened> {
        let SourceFile { path, name, .. } = &self.files[file];
        let count = ByteCount::default();
        let stream = open_file(path, self.compression, &count)?;
        Ok(Opened { stream: (self.adapt)(name, stream)?, count })
    }

    /// How a file is packed, as far as its name or the query tells.
    pub fn compression_of(&self, file: usize) -> Option<Compression> {
        self.compression.or_else(|| Compression::of_file_name(&self.files[file].name).1)
    }
}

/// What a scan counts, and where its rejects go.
#[derive(Clone, Debug)]
pub(crate) struct Counters {
    pub bytes_scanned: Count,
    pub rejected_rows: Count,
    /// Rows not read because the predicate cannot hold for them.
    pub pruned_rows: Count,
    pub log: Option<Arc<RejectLog>>,
}

impl Counters {
    /// Counts a reject and sets it aside; an error in strict mode.
    pub fn reject(&self, reject: Reject) -> Result<()> {
        self.rejected_rows.add(1);
        tracing::debug!(%reject, "set aside");
        self.log.as_ref().map_or(Ok(()), |log| log.report(reject))
    }
}

impl Scan {
    /// Sets the rest of a file aside, from `line` and `byte_offset` on, because it cannot be read.
    pub fn reject_rest(&self, file: usize, line: u64, byte_offset: u64, reason: impl std::fmt::Display) -> Result<()> {
        self.counters.reject(Reject {
            file: self.input.files[file].name.clone(),
            line,
            byte_offset,
            kind: RejectKind::Unreadable,
            reason: format!("cannot read the file from here on: {reason}"),
            raw: Vec::new(),
        })
    }
}
