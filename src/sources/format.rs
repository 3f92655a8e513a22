//! What a format is to the scan: it says where files can be cut, cuts a split into units on one thread, and decodes a
//! unit into rows on others.
//!
//! Adding a format is one implementation of [`FormatReader`] and one line in `open`.

use super::buffers::Buffers;
use super::compression::{ByteCount, ByteStream, open_file};
use super::csv::SeenBlocks;
use super::discover::SourceFile;
use super::encoded::ReaderForm;
use super::held::HeldHeads;
use super::line_counts::{CountPiece, LineCounts, count_lines};
use super::line_fields::LineFields;
use super::lines::{Block, MAX_LINE_BYTES};
use super::long_lines::LongLines;
use super::members::Members;
use super::own_lines::{LineEnds, OwnLines, PlainRange};
use super::queue::{Cancelled, UnitSender};
use super::rejects::{Reject, RejectKind, RejectLog};
use super::spec::Compression;
use super::split::{Extent, Piece, Splits};
use super::warc::RecordBlock;
use super::warm::{MAX_WARM, WarmFiles};
use crate::sinks::is_of_output;
use crate::store::{FoundObject, Stat, StoredFile, is_remote, most_of_free_memory, object, outage, stat};
use crate::{Error, Result};
use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use datafusion::physical_optimizer::pruning::PruningPredicate;
use datafusion::physical_plan::metrics::Count;
use std::fmt::Debug;
use std::io;
use std::num::NonZero;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// A piece of input that one partition decodes.
#[derive(Debug)]
pub(crate) enum Unit {
    /// Whole lines of one piece.
    Lines(Block),
    /// Whole records of one piece of a crawl.
    Records(RecordBlock),
    /// Whole small files, each a piece.
    Texts(Vec<(usize, Vec<u8>)>),
    /// A piece that its decoder opens itself.
    Piece(usize),
    /// One row group of a Parquet file.
    RowGroup {
        piece: usize,
        row_group: usize,
        /// The row of the piece that it begins with, from 1.
        first_row: u64,
        metadata: parquet::arrow::arrow_reader::ArrowReaderMetadata,
    },
}

impl Unit {
    /// Memory that the unit holds while it waits.
    pub fn memory_bytes(&self) -> usize {
        match self {
            Unit::Lines(block) => block.data.len(),
            Unit::Records(block) => block.data.len(),
            Unit::Texts(texts) => texts.iter().map(|(_, text)| text.len()).sum(),
            Unit::Piece(_) | Unit::RowGroup { .. } => 0,
        }
    }
}

/// Where a row came from: its piece of the input, and its line or row there, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub piece: u32,
    pub row: u64,
}

/// A place in a piece of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InputPosition {
    pub piece: usize,
    /// The line or row in the piece, from 1.
    pub line: u64,
    /// Bytes of the piece before it, unpacked.
    pub byte_offset: u64,
}

impl InputPosition {
    /// Where a piece begins.
    pub fn start_of(piece: usize) -> Self {
        Self { piece, line: 1, byte_offset: 0 }
    }
}

/// Decoded rows: the projected columns of the file's own, and each row's origin.
#[derive(Debug)]
pub(crate) struct DecodedRows {
    pub columns: Vec<ArrayRef>,
    /// The bytes that each row was read from, if the scan asks for them and the format is one of lines.
    pub lines: Option<ArrayRef>,
    pub origins: Vec<Origin>,
}

/// Batches of rows, decoded as they are asked for.
pub(crate) type RowsIter = Box<dyn Iterator<Item = Result<DecodedRows>> + Send>;

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

    /// The extents that a file larger than a block is cut into, in order.
    fn cut(&self, _input: &Input, _file: usize, _block_bytes: u64) -> Vec<Extent> {
        vec![Extent::Whole]
    }

    /// Walks the pieces of one split in order and queues their units. Runs on a thread of its own.
    fn produce(&self, scan: &Scan, pieces: Range<usize>, units: &UnitSender) -> Result<(), Stop>;

    /// Which fields of its line each column is read from; `None` if the rows of the format are no JSON objects.
    fn line_fields(&self) -> Option<LineFields> {
        None
    }

    /// What the reader knows, for another process to read the same files with.
    fn form(&self) -> ReaderForm;

    /// What separates the fields of records that may hold line feeds, if the files have such.
    fn delimiter(&self) -> Option<u8> {
        None
    }

    /// How the rows of a piece are counted, whatever becomes of them.
    fn count_piece(&self) -> CountPiece {
        count_lines
    }

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
    /// The lines that the rows are read from are wanted too.
    pub wants_lines: bool,
    /// What the rows must satisfy above the scan; a reader may skip what cannot.
    pub predicate: Option<Arc<PruningPredicate>>,
    pub batch_rows: usize,
    pub batch_bytes: usize,
    /// No batch or page of a file may take more, unpacked.
    pub max_group_bytes: u64,
    /// The memory of blocks of lines.
    pub buffers: Arc<Buffers>,
    pub counters: Counters,
}

/// The bytes of a source.
#[derive(Debug)]
pub(crate) struct Input {
    pub files: Vec<SourceFile>,
    pub compression: Option<Compression>,
    /// The largest window that a packed file may ask for.
    pub max_window_bytes: u64,
    /// What lines that are longer than a block may hold.
    pub long_lines: Arc<LongLines>,
    /// How the format changes a stream before it reads it.
    pub adapt: Adapt,
    /// Beginnings that were read to learn the columns.
    pub heads: HeldHeads,
    /// Objects that are on their way.
    pub warm: WarmFiles,
    /// Standard input in place of the (one) file.
    pub stdin: Option<StdinOnce>,
    /// What is read at a time, and by one partition.
    pub splits: Splits,
    /// How many lines the pieces have, where that is known.
    pub counts: LineCounts,
    /// How they are counted.
    pub count_piece: CountPiece,
    /// What separates the fields of records that may hold line feeds, if the files have such.
    pub delimiter: Option<u8>,
    pub seen_blocks: SeenBlocks,
}

/// What a thread may take to unpack a file: half of the memory, if all of them do.
pub(super) fn max_window_bytes(memory_limit_bytes: Option<usize>, n_threads: usize) -> u64 {
    let limit_bytes = memory_limit_bytes.or_else(most_of_free_memory).unwrap_or_default();
    (limit_bytes / 2 / n_threads.max(1)) as u64
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
    /// An input that is one split for each file, until it is cut.
    pub fn new(files: Vec<SourceFile>, compression: Option<Compression>, adapt: Adapt) -> Self {
        let pieces = (0..files.len()).map(|file| Piece { number: file as u32, file, extent: Extent::Whole }).collect();
        let ranges = (0..files.len()).map(|file| file..file + 1).collect();
        Self {
            files,
            compression,
            max_window_bytes: max_window_bytes(None, std::thread::available_parallelism().map_or(1, NonZero::get)),
            long_lines: LongLines::within(None),
            adapt,
            heads: HeldHeads::default(),
            warm: WarmFiles::default(),
            stdin: None,
            splits: Splits { pieces, ranges },
            counts: LineCounts::default(),
            count_piece: count_lines,
            delimiter: None,
            seen_blocks: SeenBlocks::default(),
        }
    }

    /// Takes what a reader knows of its files.
    pub fn follow(&mut self, reader: &dyn FormatReader) {
        (self.delimiter, self.count_piece) = (reader.delimiter(), reader.count_piece());
    }

    /// The file that a piece is of.
    pub fn file_of(&self, piece: usize) -> &SourceFile {
        &self.files[self.splits.pieces[piece].file]
    }

    /// Opens a piece for a scan. Standard input opens once; that error ends the run, others only the piece.
    pub fn open(&self, piece: usize) -> Result<io::Result<Opened>> {
        if let Some(stdin) = &self.stdin {
            let taken = stdin.0.lock().unwrap_or_else(PoisonError::into_inner).take();
            return taken.map(|stream| Ok(Opened { stream, count: ByteCount::default() })).ok_or_else(|| {
                let name = &self.file_of(piece).name;
                let shown = if name == "-" { "standard input".to_string() } else { format!("the pipe '{name}'") };
                Error::Data(format!(
                    "{shown} can be read only once, and this query reads '{name}' twice; save it to a file first"
                ))
            });
        }
        let Piece { file, extent, .. } = self.splits.pieces[piece];
        self.warm_after(piece);
        let opened = match extent {
            Extent::Bytes { start, end } => self.open_range(piece, file, start, end),
            _ => {
                let warm = self.warm.take(piece);
                let open = || match warm {
                    Some(stored) => self.open_stored(file, stored),
                    None => self.open_anew(file),
                };
                self.heads.take(file, &self.files[file]).map_or_else(open, Ok)
            }
        };
        self.check_not_replaced(piece)?;
        Ok(opened)
    }

    /// Opens the file of a piece as it is on disk, for a format that finds its way in packed files by itself.
    pub fn open_file(&self, piece: usize) -> Result<io::Result<StoredFile>> {
        let source = self.file_of(piece);
        self.warm_after(piece);
        let opened = self.warm.take(piece).map_or_else(|| source.open(), Ok);
        self.check_not_replaced(piece)?;
        Ok(opened.map(|file| match self.splits.pieces[piece].extent {
            Extent::Bytes { start, end } => file.within(start, end).from(0),
            _ => file,
        }))
    }

    /// Fails if another run has replaced the output that a file is part of. Asked after a file is opened: rows of both
    /// runs would be mixed. Files that are no output of ours may change as they like.
    pub fn check_not_replaced(&self, piece: usize) -> Result<()> {
        let SourceFile { path, name, size_bytes, modified, .. } = self.file_of(piece);
        let is_same = |now: Stat| now.n_bytes == *size_bytes && now.modified == *modified;
        // Of an object no other version is read; `check_object` asks when reading has failed.
        if is_remote(path) {
            return Ok(());
        }
        if modified.is_none() || stat(path).is_ok_and(is_same) || !is_of_output(path) {
            return Ok(());
        }
        Err(Error::Data(format!("'{name}' was replaced by another run while it was being read; run the query again")))
    }

    /// What is wrong with an object that could not be read to its end, if the run must not go on: nobody answers for it, or
    /// another run has replaced the output that it is part of.
    fn check_object(&self, piece: usize) -> Result<()> {
        let SourceFile { path, name, size_bytes, modified, etag, .. } = self.file_of(piece);
        if !is_remote(path) {
            return Ok(());
        }
        if let Some(why) = outage(path) {
            return Err(Error::Data(format!("{name}: {why}; the store cannot be reached, so the run ends here")));
        }
        let is_same =
            |now: &FoundObject| now.stat.n_bytes == *size_bytes && now.stat.modified == *modified && now.etag == *etag;
        match object(path) {
            Ok(now) if is_same(&now) => Ok(()),
            Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => {
                Err(Error::io(path, error))
            }
            _ if is_of_output(path) => Err(Error::Data(format!(
                "'{name}' was replaced by another run while it was being read; run the query again"
            ))),
            _ => Ok(()),
        }
    }

    /// Small objects are asked for some before it is their turn: each takes a while to answer.
    fn warm_after(&self, piece: usize) {
        if !is_remote(&self.file_of(piece).path) {
            return;
        }
        let split = self.splits.ranges.partition_point(|range| range.end <= piece);
        let end = self.splits.ranges.get(split).map_or(piece, |range| range.end);
        let next = (piece + 1..end).take(MAX_WARM).filter(|next| self.splits.pieces[*next].extent == Extent::Whole);
        next.for_each(|next| self.warm.open(next, self.file_of(next)));
    }

    /// The lines that belong to a range of a file.
    fn open_range(&self, piece: usize, file: usize, start: u64, end: u64) -> io::Result<Opened> {
        let count = ByteCount::default();
        let source = self.files[file].open()?.within(start, end);
        let compression = self.compression_of(file).unwrap_or(Compression::None);
        let stream: ByteStream = if compression == Compression::None {
            let ends = match self.delimiter {
                Some(delimiter) => {
                    let before =
                        self.splits.before(piece).filter_map(|earlier| self.splits.pieces[earlier].extent.bytes());
                    LineEnds::Records(self.seen_blocks.behind(file, &source, delimiter, before)?)
                }
                None => LineEnds::LineFeeds,
            };
            let range = PlainRange { stream: count.of(source), left: end - start };
            Box::new(OwnLines::new(range, ends, start == 0))
        } else {
            let members = Members::open(source, compression, start, end, &count, self.max_window_bytes)?;
            Box::new(OwnLines::new(members, LineEnds::LineFeeds, start == 0))
        };
        Ok(Opened { stream, count })
    }

    /// Opens a file, whatever was read of it before.
    pub fn open_anew(&self, file: usize) -> io::Result<Opened> {
        self.open_stored(file, self.files[file].open()?)
    }

    /// The same of a file that is open.
    pub fn open_stored(&self, file: usize, stored: StoredFile) -> io::Result<Opened> {
        let source = &self.files[file];
        let count = ByteCount::default();
        let stream = open_file(source, stored, self.compression, &count, self.max_window_bytes)?;
        Ok(Opened { stream: (self.adapt)(&source.name, stream)?, count })
    }

    /// Whether a file is packed, as its name, the query or its first bytes tell.
    pub fn is_packed(&self, file: usize) -> io::Result<bool> {
        let found = || self.files[file].open().and_then(|file| Compression::of_file(&file));
        Ok(self.compression_of(file).map_or_else(found, Ok)? != Compression::None)
    }

    /// Whether the format changes a file's stream, as far as its name tells.
    pub fn is_adapted(&self, file: usize) -> bool {
        let (plain, _) = Compression::of_file_name(&self.files[file].name);
        plain.to_ascii_lowercase().ends_with(".json")
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
    /// DecodedRows not read because the predicate cannot hold for them.
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

/// What the system says if no more files can be opened, by the process or on the machine (`EMFILE`, `ENFILE`).
const OUT_OF_DESCRIPTORS: [&str; 2] = ["(os error 24)", "(os error 23)"];

impl Scan {
    /// The longest line, or record, that becomes a row: it has to fit into memory.
    pub fn max_line_bytes(&self) -> usize {
        usize::try_from(self.max_group_bytes).map_or(MAX_LINE_BYTES, |most| most.min(MAX_LINE_BYTES))
    }

    /// Sets a piece of input aside.
    pub fn reject(&self, at: InputPosition, kind: RejectKind, reason: String, raw: Vec<u8>) -> Result<()> {
        if kind == RejectKind::Unreadable {
            self.input.check_object(at.piece)?;
        }
        // Only now is it worth knowing what comes before the piece in its file.
        let before = self.input.counts.before(&self.input, at.piece)?;
        let (line, byte_offset) = (before.lines + at.line, before.bytes + at.byte_offset);
        let file = self.input.file_of(at.piece).name.clone();
        self.counters.reject(Reject { file, line, byte_offset, kind, reason, raw })
    }

    /// Says so if the file that ends here is not the size that it had when the run began: then rows are missing, or not read.
    pub fn check_unchanged(&self, at: InputPosition) -> Result<()> {
        let source = self.input.file_of(at.piece);
        let is_end = match self.input.splits.pieces[at.piece].extent {
            Extent::Bytes { end, .. } => end >= source.size_bytes,
            Extent::Groups { .. } => false,
            Extent::Whole => true,
        };
        // All requests for an object are for the one that was listed: another one under its name is an error.
        if self.input.stdin.is_some() || is_remote(&source.path) || !is_end {
            return Ok(());
        }
        let told = match stat(&source.path) {
            Ok(now) if now.n_bytes == source.size_bytes => return Ok(()),
            Ok(now) => format!("it had {} bytes when the run began and has {} now", source.size_bytes, now.n_bytes),
            // It was open, and has been read.
            Err(_) => return Ok(()),
        };
        self.reject(at, RejectKind::Unreadable, format!("the file has changed while it was read: {told}"), Vec::new())
    }

    /// Sets the rest of a piece aside, because it cannot be read.
    pub fn reject_rest(&self, at: InputPosition, reason: impl std::fmt::Display) -> Result<()> {
        let reason = reason.to_string();
        // That says nothing of the file.
        if OUT_OF_DESCRIPTORS.iter().any(|told| reason.contains(told)) {
            let name = &self.input.file_of(at.piece).name;
            return Err(Error::Data(format!(
                "{name}: the process has too many files open; raise the limit (`ulimit -n`), or use fewer threads"
            )));
        }
        let reason = format!("cannot read the file from here on: {reason}");
        self.reject(at, RejectKind::Unreadable, reason, Vec::new())
    }
}
