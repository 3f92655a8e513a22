//! Arrow IPC files, of the file or the stream kind: a unit is a piece of a file.

use super::columnar::{GroupSize, UnionSchema, conform, cut_groups, rows_per_batch};
use super::compression::{ByteCount, open_file};
use super::discover::SourceFile;
use super::encoded::ReaderForm;
use super::format::{DecodedRows, FormatReader, Input, InputPosition, Origin, RowsIter, Scan, Stop, Unit};
use super::queue::UnitSender;
use super::spec::Compression;
use super::split::Extent;
use crate::store::StoredFile;
use crate::{Error, Result};
use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, SchemaRef};
use arrow::error::ArrowError;
use arrow::ipc::reader::{FileReader, StreamReader, read_footer_length};
use arrow::ipc::{root_as_footer, root_as_message};
use std::io::{BufReader, Cursor, Read, Seek, SeekFrom};
use std::ops::Range;

/// Reads Arrow IPC.
#[derive(Debug)]
pub(crate) struct IpcReader {
    schema: SchemaRef,
    names: Vec<String>,
}

trait ReadSeek: Read + Seek + Send {}
impl<T: Read + Seek + Send> ReadSeek for T {}

enum Batches {
    File(FileReader<Box<dyn ReadSeek>>),
    Stream(StreamReader<Box<dyn ReadSeek>>),
}

impl Batches {
    fn open(source: &SourceFile, compression: Option<Compression>) -> Result<Self, ArrowError> {
        let packed = compression.or(Compression::of_file_name(&source.name).1);
        let mut input: Box<dyn ReadSeek> = if packed.is_some_and(|kind| kind != Compression::None) {
            // The file kind is read from its end, which a packed file has only in memory.
            let mut bytes = Vec::new();
            open_file(&source.path, packed, &ByteCount::default())?.read_to_end(&mut bytes)?;
            Box::new(Cursor::new(bytes))
        } else {
            Box::new(BufReader::new(StoredFile::open(&source.path)?))
        };
        let mut magic = [0; 6];
        let is_file_kind = input.read_exact(&mut magic).is_ok() && magic == *b"ARROW1";
        input.seek(SeekFrom::Start(0))?;
        if is_file_kind {
            Ok(Self::File(FileReader::try_new(input, None)?))
        } else {
            Ok(Self::Stream(StreamReader::try_new(input, None)?))
        }
    }

    fn schema(&self) -> SchemaRef {
        match self {
            Self::File(reader) => reader.schema(),
            Self::Stream(reader) => reader.schema(),
        }
    }

    /// Goes to a batch of a file.
    fn go_to(&mut self, batch: usize) -> Result<(), ArrowError> {
        match self {
            Self::File(reader) if batch > 0 => reader.set_index(batch),
            _ => Ok(()),
        }
    }

    fn next(&mut self) -> Option<Result<RecordBatch, ArrowError>> {
        match self {
            Self::File(reader) => reader.next(),
            Self::Stream(reader) => reader.next(),
        }
    }
}

impl IpcReader {
    /// Takes columns that were learnt before.
    pub fn known(schema: SchemaRef, names: Vec<String>) -> Self {
        Self { schema, names }
    }

    /// Reads the schemas. A file that cannot be read is skipped here and rejected by the scan.
    pub fn new(files: &[SourceFile], compression: Option<Compression>) -> Result<Self> {
        let mut union = UnionSchema::default();
        let mut failure = None;
        let mut n_readable = 0;
        for source in files {
            match Batches::open(source, compression) {
                Ok(batches) => {
                    n_readable += 1;
                    union.add(&source.name, &batches.schema())?;
                }
                Err(error) => failure = failure.or(Some(format!("cannot read '{}': {error}", source.name))),
            }
        }
        match failure {
            Some(failure) if n_readable == 0 => Err(Error::Data(failure)),
            _ => {
                let (schema, names) = union.finish();
                Ok(Self { schema, names })
            }
        }
    }
}

/// The batches of a file that is not packed and of the file kind, from its footer and the head of each batch.
fn batch_sizes(source: &SourceFile) -> Option<Vec<GroupSize>> {
    let file = StoredFile::open(&source.path).ok()?;
    let n_bytes = file.n_bytes().ok()?;
    let read = |at: u64, n_bytes: usize| {
        let mut bytes = vec![0; n_bytes];
        file.read_exact_at(&mut bytes, at).ok().map(|()| bytes)
    };
    let tail = n_bytes.checked_sub(10)?;
    let footer_bytes = read_footer_length(read(tail, 10)?.try_into().ok()?).ok()?;
    let footer = read(tail.checked_sub(footer_bytes as u64)?, footer_bytes)?;
    let batches = root_as_footer(&footer).ok()?.recordBatches()?;
    let size = |block: &arrow::ipc::Block| {
        let head = read(block.offset() as u64, usize::try_from(block.metaDataLength()).ok()?)?;
        // A mark of 4 bytes (not in old files) and the length of 4 come before the message.
        let start = if head.starts_with(&[0xff; 4]) { 8 } else { 4 };
        let n_rows = root_as_message(head.get(start..)?).ok()?.header_as_record_batch()?.length();
        Some(GroupSize { n_rows: n_rows.max(0) as u64, n_bytes: block.bodyLength().max(0) as u64 })
    };
    batches.iter().map(size).collect()
}

impl FormatReader for IpcReader {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn cut(&self, input: &Input, file: usize, block_bytes: u64) -> Vec<Extent> {
        let sizes = match input.is_packed(file) {
            Ok(false) => batch_sizes(&input.files[file]),
            _ => None,
        };
        sizes.map_or_else(|| vec![Extent::Whole], |sizes| cut_groups(&sizes, block_bytes))
    }

    fn produce(&self, _scan: &Scan, mut pieces: Range<usize>, units: &UnitSender) -> Result<(), Stop> {
        Ok(pieces.try_for_each(|piece| units.push(Unit::Piece(piece)))?)
    }

    fn form(&self) -> ReaderForm {
        ReaderForm::Columns { columns: self.schema.clone(), names: self.names.clone() }
    }

    fn decode(&self, unit: Unit, scan: &Scan) -> Result<RowsIter> {
        let Unit::Piece(piece) = unit else { return Err(crate::bug!("Arrow got the unit {unit:?}")) };
        let source = scan.input.file_of(piece);
        let wanted = scan
            .projection
            .iter()
            .map(|index| (self.names[*index].clone(), self.schema.field(*index).data_type().clone()))
            .collect();
        let extent = scan.input.splits.pieces[piece].extent;
        let (first, n_batches) = match extent {
            Extent::Groups { start, end, .. } => (start, end - start),
            _ => (0, usize::MAX),
        };
        let opened = Batches::open(source, scan.input.compression);
        scan.input.check_not_replaced(piece)?;
        match opened.and_then(|mut batches| batches.go_to(first).map(|()| batches)) {
            Ok(batches) => {
                if extent.is_first() {
                    scan.counters.bytes_scanned.add(source.size_bytes as usize);
                }
                Ok(Box::new(IpcDecoder {
                    scan: scan.clone(),
                    piece,
                    row: 1,
                    batches: Some(batches),
                    n_left: n_batches,
                    wanted,
                    rest: None,
                }))
            }
            Err(error) => {
                scan.reject_rest(InputPosition::start_of(piece), error)?;
                Ok(Box::new(std::iter::empty()))
            }
        }
    }
}

struct IpcDecoder {
    scan: Scan,
    piece: usize,
    /// The next row, from 1.
    row: u64,
    batches: Option<Batches>,
    /// Batches of the piece that were not read yet.
    n_left: usize,
    wanted: Vec<(String, DataType)>,
    /// What is left of a batch that was larger than ours may be, and how many rows of it to take at a time.
    rest: Option<(RecordBatch, usize)>,
}

impl IpcDecoder {
    fn next_of_piece(&mut self) -> Option<Result<RecordBatch, ArrowError>> {
        self.n_left = self.n_left.checked_sub(1)?;
        self.batches.as_mut()?.next()
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>, String> {
        let (batch, n_rows) = match self.rest.take() {
            Some(rest) => rest,
            None => match self.next_of_piece() {
                Some(batch) => {
                    let batch = batch.map_err(|error| error.to_string())?;
                    let n_bytes = batch.get_array_memory_size();
                    let (batch_rows, batch_bytes) = (self.scan.batch_rows, self.scan.batch_bytes);
                    let n_rows = rows_per_batch(n_bytes, batch.num_rows(), batch_rows, batch_bytes);
                    (batch, n_rows)
                }
                None => return Ok(None),
            },
        };
        if batch.num_rows() > n_rows {
            self.rest = Some((batch.slice(n_rows, batch.num_rows() - n_rows), n_rows));
            return Ok(Some(batch.slice(0, n_rows)));
        }
        Ok(Some(batch))
    }
}

impl Iterator for IpcDecoder {
    type Item = Result<DecodedRows, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let decoded = self.next_batch().and_then(|batch| {
            batch.map(|batch| Ok((batch.num_rows() as u64, conform(&batch, &self.wanted)?))).transpose()
        });
        match decoded {
            Ok(None) => None,
            Ok(Some((n_rows, columns))) => {
                let piece = self.piece as u32;
                let origins = (self.row..self.row + n_rows).map(|row| Origin { piece, row }).collect();
                self.row += n_rows;
                Some(Ok(DecodedRows { columns, lines: None, origins }))
            }
            Err(error) => {
                self.batches = None;
                let place = InputPosition { piece: self.piece, line: self.row, byte_offset: 0 };
                self.scan.reject_rest(place, error).err().map(Err)
            }
        }
    }
}
