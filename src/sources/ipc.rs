//! Arrow IPC files, of the file or the stream kind: a unit is a file.

use super::columnar::{UnionSchema, conform, rows_per_batch};
use super::compression::{ByteCount, open_file};
use super::discover::SourceFile;
use super::format::{FormatReader, Origin, Rows, RowsIter, Scan, Stop, Unit};
use super::queue::Lane;
use super::spec::Compression;
use crate::{Error, Result};
use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, SchemaRef};
use arrow::error::ArrowError;
use arrow::ipc::reader::{FileReader, StreamReader};
use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek, SeekFrom};

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
            Box::new(BufReader::new(File::open(&source.path)?))
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

    fn next(&mut self) -> Option<Result<RecordBatch, ArrowError>> {
        match self {
            Self::File(reader) => reader.next(),
            Self::Stream(reader) => reader.next(),
        }
    }
}

impl IpcReader {
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

impl FormatReader for IpcReader {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn produce(&self, scan: &Scan, lane: &Lane) -> Result<(), Stop> {
        for file in 0..scan.input.files.len() {
            lane.push(Unit::File(file))?;
        }
        Ok(())
    }

    fn decode(&self, unit: Unit, scan: &Scan) -> Result<RowsIter> {
        let Unit::File(file) = unit else { return Err(crate::bug!("Arrow got the unit {unit:?}")) };
        let source = &scan.input.files[file];
        let wanted = scan
            .projection
            .iter()
            .map(|index| (self.names[*index].clone(), self.schema.field(*index).data_type().clone()))
            .collect();
        match Batches::open(source, scan.input.compression) {
            Ok(batches) => {
                scan.counters.bytes_scanned.add(source.size_bytes as usize);
                Ok(Box::new(IpcDecoder {
                    scan: scan.clone(),
                    file,
                    row: 1,
                    batches: Some(batches),
                    wanted,
                    rest: None,
                }))
            }
            Err(error) => {
                scan.reject_rest(file, 1, 0, error)?;
                Ok(Box::new(std::iter::empty()))
            }
        }
    }
}

struct IpcDecoder {
    scan: Scan,
    file: usize,
    /// The next row, from 1.
    row: u64,
    batches: Option<Batches>,
    wanted: Vec<(String, DataType)>,
    /// What is left of a batch that was larger than ours may be, and how many rows of it to take at a time.
    rest: Option<(RecordBatch, usize)>,
}

impl IpcDecoder {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, String> {
        let (batch, n_rows) = match self.rest.take() {
            Some(rest) => rest,
            None => match self.batches.as_mut().and_then(Batches::next) {
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
    type Item = Result<Rows, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let decoded = self.next_batch().and_then(|batch| {
            batch.map(|batch| Ok((batch.num_rows() as u64, conform(&batch, &self.wanted)?))).transpose()
        });
        match decoded {
            Ok(None) => None,
            Ok(Some((n_rows, columns))) => {
                let file = self.file as u32;
                let origins = (self.row..self.row + n_rows).map(|row| Origin { file, row }).collect();
                self.row += n_rows;
                Some(Ok(Rows { columns, origins }))
            }
            Err(error) => {
                self.batches = None;
                self.scan.reject_rest(self.file, self.row, 0, error).err().map(Err)
            }
        }
    }
}
