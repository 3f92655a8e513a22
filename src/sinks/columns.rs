//! Writes the formats that are columns: rows → slices → Parquet row groups or Arrow batches → parts.
//!
//! Invariant: row groups, Arrow batches and parts end between slices, where a sum over the slices before says so, so
//! the bytes follow from the rows alone. Row groups are encoded on all threads; the one that calls only cuts and appends.
//! Not here: cutting the slices (`slices.rs`).

use super::encoding::{EncodeQueue, InFlight};
use super::file::{CompleteFile, Target};
use super::options::{Compression, Format};
use super::parts::PartNames;
use super::slices::{Slice, SliceSize, Slicer, plain_schema};
use super::spec::Layout;
use crate::{Error, Result};
use arrow::array::{RecordBatch, UInt32Array};
use arrow::compute::take_record_batch;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::ipc::CompressionType;
use arrow::ipc::writer::{FileWriter, IpcWriteOptions};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::basic::{BrotliLevel, Compression as Codec, GzipLevel, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows in one Parquet row group, at most.
const ROW_GROUP_ROWS: usize = 1 << 20;
/// Rows in one slice, at most, however small they are.
const SLICE_ROWS: usize = 8192;

/// A column format being written.
pub(super) struct ColumnWriter {
    layout: Layout,
    schema: SchemaRef,
    slicer: Slicer,
    /// The slices of the next row group.
    group: Vec<Slice>,
    group_rows: usize,
    group_bytes: usize,
    queue: EncodeQueue<Encoded>,
    names: PartNames,
    part: Part,
    complete: Vec<CompleteFile>,
}

/// What goes into a file at once.
enum Encoded {
    RowGroup { columns: Vec<ArrowColumnChunk>, n_rows: usize },
    Batch { batch: RecordBatch, n_bytes: usize },
}

impl Encoded {
    fn n_rows(&self) -> usize {
        match self {
            Encoded::RowGroup { n_rows, .. } => *n_rows,
            Encoded::Batch { batch, .. } => batch.num_rows(),
        }
    }

    /// What a file grows by.
    fn n_bytes(&self) -> u64 {
        match self {
            Encoded::RowGroup { columns, .. } => columns.iter().map(|column| column.close().bytes_written).sum(),
            Encoded::Batch { n_bytes, .. } => *n_bytes as u64,
        }
    }
}

/// The file being written.
struct Part {
    path: PathBuf,
    file: PartFile,
    n_rows: u64,
}

enum PartFile {
    Parquet { writer: Box<SerializedFileWriter<Target>>, columns: Arc<ArrowRowGroupWriterFactory> },
    Arrow(Box<FileWriter<Target>>),
}

impl ColumnWriter {
    pub fn create(layout: &Layout, schema: &Schema, mut names: PartNames) -> Result<ColumnWriter> {
        let schema = plain_schema(schema);
        let in_flight = match layout.is_partitioned {
            // With many outputs open, each may only keep one thread busy.
            true => InFlight { pieces: 1, bytes: 2 * layout.row_group_bytes() },
            false => InFlight::for_all_threads(layout.row_group_bytes(), layout.max_in_flight_bytes),
        };
        let part = Part::open(layout, &schema, names.open()?)?;
        Ok(ColumnWriter {
            layout: layout.clone(),
            schema,
            slicer: Slicer::new(SliceSize { bytes: layout.slice_bytes(), rows: SLICE_ROWS }),
            group: Vec::new(),
            group_rows: 0,
            group_bytes: 0,
            queue: EncodeQueue::new(in_flight),
            names,
            part,
            complete: Vec::new(),
        })
    }

    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        for slice in self.slicer.push(batch) {
            self.add(slice)?;
        }
        Ok(())
    }

    fn add(&mut self, slice: Slice) -> Result<()> {
        let is_full = self.group_bytes + slice.n_bytes > self.layout.row_group_bytes()
            || self.group_rows + slice.n_rows > ROW_GROUP_ROWS
            // An Arrow file is made of batches, not of groups.
            || matches!(self.part.file, PartFile::Arrow(_));
        if self.group_rows > 0 && is_full {
            self.encode_group()?;
        }
        self.group_rows += slice.n_rows;
        self.group_bytes += slice.n_bytes;
        self.group.push(slice);
        Ok(())
    }

    fn encode_group(&mut self) -> Result<()> {
        let slices = std::mem::take(&mut self.group);
        let n_bytes = std::mem::take(&mut self.group_bytes);
        self.group_rows = 0;
        let (schema, path) = (self.schema.clone(), self.part.path.clone());
        match &self.part.file {
            PartFile::Parquet { columns, .. } => {
                let columns = Arc::clone(columns);
                self.queue.push(n_bytes, move || encode_row_group(&slices, &schema, &columns, &path));
            }
            PartFile::Arrow(_) => self.queue.push(n_bytes, move || encode_batch(&slices, &schema, &path)),
        }
        while self.queue.is_full() {
            self.append_oldest()?;
        }
        Ok(())
    }

    /// Writes the oldest piece out; `false` if there is none.
    fn append_oldest(&mut self) -> Result<bool> {
        let Some(encoded) = self.queue.take()? else { return Ok(false) };
        let grown = self.part.n_bytes() + encoded.n_bytes();
        if self.part.n_rows > 0 && self.layout.max_file_bytes.is_some_and(|max| grown > max) {
            let next = Part::open(&self.layout, &self.schema, self.names.open()?)?;
            let full = std::mem::replace(&mut self.part, next);
            self.complete.push(full.complete()?);
        }
        self.part.append(encoded)?;
        Ok(true)
    }

    pub fn finish(mut self) -> Result<Vec<CompleteFile>> {
        if let Some(last) = self.slicer.take() {
            self.add(last)?;
        }
        if self.group_rows > 0 {
            self.encode_group()?;
        }
        while self.append_oldest()? {}
        self.complete.push(self.part.complete()?);
        Ok(self.complete)
    }
}

/// The columns of a row group, as they stand in a file.
fn encode_row_group(
    slices: &[Slice],
    schema: &SchemaRef,
    columns: &ArrowRowGroupWriterFactory,
    path: &Path,
) -> Result<Encoded> {
    // The number of the row group is for encryption alone.
    let mut writers = columns.create_column_writers(0).map_err(|error| failed(path, error))?;
    for slice in slices {
        let batch = slice.to_plain(schema)?;
        let mut leaves = writers.iter_mut();
        for (field, column) in schema.fields().iter().zip(batch.columns()) {
            for leaf in compute_leaves(field, column).map_err(|error| failed(path, error))? {
                let writer = leaves.next().ok_or_else(|| crate::bug!("a leaf of `{}` has no writer", field.name()))?;
                writer.write(&leaf).map_err(|error| failed(path, error))?;
            }
        }
    }
    let columns = writers.into_iter().map(|writer| writer.close().map_err(|error| failed(path, error)));
    let n_rows = slices.iter().map(|slice| slice.n_rows).sum();
    Ok(Encoded::RowGroup { columns: columns.collect::<Result<_>>()?, n_rows })
}

/// A batch of an Arrow file, in buffers of its own.
fn encode_batch(slices: &[Slice], schema: &SchemaRef, path: &Path) -> Result<Encoded> {
    let [slice] = slices else { return Err(crate::bug!("an Arrow batch is one slice, not {}", slices.len())) };
    let batch = repacked(&slice.to_plain(schema)?).map_err(|error| failed(path, error))?;
    Ok(Encoded::Batch { batch, n_bytes: slice.n_bytes })
}

impl Part {
    fn open(layout: &Layout, schema: &SchemaRef, target: Target) -> Result<Part> {
        let path = target.path().to_path_buf();
        let file = match layout.format {
            Format::Parquet => {
                let properties = parquet_properties(layout.compression).map_err(|error| failed(&path, error))?;
                let (writer, columns) = ArrowWriter::try_new(target, schema.clone(), Some(properties))
                    .and_then(ArrowWriter::into_serialized_writer)
                    .map_err(|error| failed(&path, error))?;
                PartFile::Parquet { writer: Box::new(writer), columns: Arc::new(columns) }
            }
            _ => {
                let compression = match layout.compression {
                    Compression::Zstd => Some(CompressionType::ZSTD),
                    Compression::Lz4 => Some(CompressionType::LZ4_FRAME),
                    _ => None,
                };
                let writer = IpcWriteOptions::default()
                    .try_with_compression(compression)
                    .and_then(|options| FileWriter::try_new_with_options(target, schema, options));
                PartFile::Arrow(Box::new(writer.map_err(|error| failed(&path, error))?))
            }
        };
        Ok(Part { path, file, n_rows: 0 })
    }

    /// Bytes written so far.
    fn n_bytes(&self) -> u64 {
        match &self.file {
            PartFile::Parquet { writer, .. } => writer.bytes_written() as u64,
            PartFile::Arrow(writer) => writer.get_ref().n_bytes(),
        }
    }

    fn append(&mut self, encoded: Encoded) -> Result<()> {
        self.n_rows += encoded.n_rows() as u64;
        let path = &self.path;
        match (&mut self.file, encoded) {
            (PartFile::Parquet { writer, .. }, Encoded::RowGroup { columns, .. }) => {
                let mut group = writer.next_row_group().map_err(|error| failed(path, error))?;
                for column in columns {
                    column.append_to_row_group(&mut group).map_err(|error| failed(path, error))?;
                }
                group.close().map_err(|error| failed(path, error))?;
                Ok(())
            }
            (PartFile::Arrow(writer), Encoded::Batch { batch, .. }) => {
                writer.write(&batch).map_err(|error| failed(path, error))
            }
            _ => Err(crate::bug!("what was encoded does not fit the file")),
        }
    }

    fn complete(self) -> Result<CompleteFile> {
        let target = match self.file {
            PartFile::Parquet { writer, .. } => writer.into_inner().map_err(|error| failed(&self.path, error))?,
            PartFile::Arrow(writer) => writer.into_inner().map_err(|error| failed(&self.path, error))?,
        };
        target.complete(self.n_rows)
    }
}

/// The same rows in buffers of their own. The Arrow format writes buffers as they are, with the bits of neighbouring
/// rows in the last byte of a bitmap; those would depend on the batches.
fn repacked(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let rows = UInt32Array::from_iter_values(0..batch.num_rows() as u32);
    take_record_batch(batch, &rows)
}

fn parquet_properties(compression: Compression) -> Result<WriterProperties, ParquetError> {
    let codec = match compression {
        Compression::Snappy => Codec::SNAPPY,
        Compression::Zstd => Codec::ZSTD(ZstdLevel::try_new(3)?),
        Compression::Gzip => Codec::GZIP(GzipLevel::default()),
        Compression::Lz4 => Codec::LZ4_RAW,
        Compression::Brotli => Codec::BROTLI(BrotliLevel::default()),
        _ => Codec::UNCOMPRESSED,
    };
    // Row groups are cut here, between slices, and never by the writer.
    Ok(WriterProperties::builder().set_compression(codec).set_max_row_group_row_count(None).build())
}

fn failed(path: &Path, error: impl Display) -> Error {
    Error::Data(format!("cannot write {}: {error}", path.display()))
}
