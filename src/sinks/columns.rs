//! Writes the formats that are columns: rows → slices → Parquet row groups or Arrow batches → parts.
//!
//! Invariant: row groups, Arrow batches and parts end between slices, where a sum over the slices before says so, so
//! the bytes follow from the rows alone. Not here: cutting the slices (`slices.rs`).

use super::file::{CompleteFile, Target};
use super::options::{Compression, Format};
use super::parts::PartNames;
use super::slices::{Slice, Slicer};
use super::spec::Layout;
use crate::{Error, Result};
use arrow::array::{RecordBatch, UInt32Array};
use arrow::compute::take_record_batch;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::ipc::CompressionType;
use arrow::ipc::writer::{FileWriter, IpcWriteOptions};
use parquet::arrow::ArrowWriter;
use parquet::basic::{BrotliLevel, Compression as Codec, GzipLevel, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use std::fmt::Display;
use std::path::{Path, PathBuf};

/// Rows in one Parquet row group, at most.
const ROW_GROUP_ROWS: usize = 1 << 20;

/// A column format being written.
pub(super) struct ColumnWriter {
    layout: Layout,
    slicer: Slicer,
    names: PartNames,
    part: Part,
    complete: Vec<CompleteFile>,
}

/// The file being written.
struct Part {
    path: PathBuf,
    encoder: Encoder,
    n_rows: u64,
    group_rows: usize,
    group_bytes: usize,
}

enum Encoder {
    Parquet(Box<ArrowWriter<Target>>),
    Arrow(Box<FileWriter<Target>>),
}

impl ColumnWriter {
    pub fn create(layout: &Layout, schema: &Schema, mut names: PartNames) -> Result<ColumnWriter> {
        let slicer = Slicer::new(schema, layout.slice_bytes());
        let part = Part::open(layout, slicer.schema(), names.open()?)?;
        Ok(ColumnWriter { layout: layout.clone(), slicer, names, part, complete: Vec::new() })
    }

    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        for slice in self.slicer.push(batch)? {
            self.write_slice(slice)?;
        }
        Ok(())
    }

    fn write_slice(&mut self, slice: Slice) -> Result<()> {
        let grown = self.part.n_bytes() + slice.n_bytes as u64;
        if self.part.n_rows > 0 && self.layout.max_file_bytes.is_some_and(|max| grown > max) {
            let next = Part::open(&self.layout, self.slicer.schema(), self.names.open()?)?;
            let full = std::mem::replace(&mut self.part, next);
            self.complete.push(full.complete()?);
        }
        self.part.write(slice, self.layout.row_group_bytes())
    }

    pub fn finish(mut self) -> Result<Vec<CompleteFile>> {
        if let Some(last) = self.slicer.take()? {
            self.write_slice(last)?;
        }
        self.complete.push(self.part.complete()?);
        Ok(self.complete)
    }
}

impl Part {
    fn open(layout: &Layout, schema: &SchemaRef, target: Target) -> Result<Part> {
        let path = target.path().to_path_buf();
        let encoder = match layout.format {
            Format::Parquet => {
                let properties = parquet_properties(layout.compression).map_err(|error| failed(&path, error))?;
                let writer = ArrowWriter::try_new(target, schema.clone(), Some(properties));
                Encoder::Parquet(Box::new(writer.map_err(|error| failed(&path, error))?))
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
                Encoder::Arrow(Box::new(writer.map_err(|error| failed(&path, error))?))
            }
        };
        Ok(Part { path, encoder, n_rows: 0, group_rows: 0, group_bytes: 0 })
    }

    /// Bytes written, and for Parquet what the open row group will need.
    fn n_bytes(&self) -> u64 {
        match &self.encoder {
            Encoder::Parquet(writer) => (writer.bytes_written() + writer.in_progress_size()) as u64,
            Encoder::Arrow(writer) => writer.get_ref().n_bytes(),
        }
    }

    fn write(&mut self, slice: Slice, row_group_bytes: usize) -> Result<()> {
        let n_rows = slice.batch.num_rows();
        match &mut self.encoder {
            Encoder::Parquet(writer) => {
                let is_full = self.group_bytes + slice.n_bytes > row_group_bytes;
                if self.group_rows > 0 && (is_full || self.group_rows + n_rows > ROW_GROUP_ROWS) {
                    writer.flush().map_err(|error| failed(&self.path, error))?;
                    (self.group_rows, self.group_bytes) = (0, 0);
                }
                writer.write(&slice.batch).map_err(|error| failed(&self.path, error))?;
                self.group_rows += n_rows;
                self.group_bytes += slice.n_bytes;
            }
            Encoder::Arrow(writer) => {
                let written = repacked(&slice.batch).and_then(|batch| writer.write(&batch));
                written.map_err(|error| failed(&self.path, error))?;
            }
        }
        self.n_rows += n_rows as u64;
        Ok(())
    }

    fn complete(self) -> Result<CompleteFile> {
        let target = match self.encoder {
            Encoder::Parquet(writer) => writer.into_inner().map_err(|error| failed(&self.path, error))?,
            Encoder::Arrow(writer) => writer.into_inner().map_err(|error| failed(&self.path, error))?,
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
