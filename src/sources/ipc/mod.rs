//! Arrow IPC files, of the file or the stream kind: a unit is a piece of a file.

mod claims;
mod messages;

use self::messages::{Footer, Messages, n_rows};
use super::columnar::{GroupSize, UnionSchema, conform, cut_groups, rows_per_batch};
use super::discover::SourceFile;
use super::encoded::ReaderForm;
use super::format::{DecodedRows, FormatReader, Input, InputPosition, Origin, RowsIter, Scan, Stop, Unit};
use super::guarded::guarded;
use super::queue::UnitSender;
use super::spec::Compression;
use super::split::Extent;
use super::warm::for_each_file;
use crate::{Error, Result};
use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, SchemaRef};
use std::ops::Range;

/// Reads Arrow IPC.
#[derive(Debug)]
pub(crate) struct IpcReader {
    schema: SchemaRef,
    names: Vec<String>,
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
        // No batch is read for the schema.
        let schemas = for_each_file(files, |source| Messages::open(source, compression, 0).map(|found| found.schema()));
        for (source, schema) in files.iter().zip(schemas) {
            match schema {
                Ok(schema) => {
                    n_readable += 1;
                    union.add(&source.name, &schema)?;
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
    guarded(|| {
        let file = source.open().map_err(|error| error.to_string())?;
        let size = |block: &arrow::ipc::Block| {
            Ok(GroupSize { n_rows: n_rows(&file, *block)?, n_bytes: block.bodyLength().max(0) as u64 })
        };
        Footer::read(&file)?.batches.iter().map(size).collect::<Result<_, String>>()
    })
    .ok()
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
        let opened = Messages::open(source, scan.input.compression, scan.max_group_bytes);
        scan.input.check_not_replaced(piece)?;
        match opened {
            Ok(mut messages) => {
                messages.go_to(first);
                if extent.is_first() {
                    scan.counters.bytes_scanned.add(source.size_bytes as usize);
                }
                Ok(Box::new(IpcDecoder {
                    scan: scan.clone(),
                    piece,
                    row: 1,
                    messages: Some(messages),
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
    messages: Option<Messages>,
    /// Batches of the piece that were not read yet.
    n_left: usize,
    wanted: Vec<(String, DataType)>,
    /// What is left of a batch that was larger than ours may be, and how many rows of it to take at a time.
    rest: Option<(RecordBatch, usize)>,
}

impl IpcDecoder {
    fn next_of_piece(&mut self) -> Option<Result<RecordBatch, String>> {
        self.n_left = self.n_left.checked_sub(1)?;
        self.messages.as_mut()?.next()
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>, String> {
        let (batch, n_rows) = match self.rest.take() {
            Some(rest) => rest,
            None => match self.next_of_piece() {
                Some(batch) => {
                    let batch = batch?;
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
            let conform = |batch: RecordBatch| {
                guarded(|| Ok::<_, String>((batch.num_rows() as u64, conform(&batch, &self.wanted)?)))
            };
            batch.map(conform).transpose()
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
                self.messages = None;
                self.rest = None;
                let place = InputPosition { piece: self.piece, line: self.row, byte_offset: 0 };
                self.scan.reject_rest(place, error).err().map(Err)
            }
        }
    }
}
