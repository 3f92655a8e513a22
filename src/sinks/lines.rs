//! Writes the formats that are lines of text: rows → slices → compressed text → parts.
//!
//! Invariant: a slice ends with the first row that brings it to the layout's size, and a part before the first slice
//! that would make it too large. Both follow from the rows alone, so the bytes do too. Text is made and compressed on all
//! threads; the one that calls only cuts and appends.

use super::chunks::compress;
use super::csv::{CsvRows, csv_header};
use super::encoding::{EncodeQueue, InFlight};
use super::file::{CompleteFile, Target};
use super::json::{JsonRows, LineRows};
use super::options::{Compression, Format};
use super::parts::PartNames;
use super::slices::{Slice, SliceSize, Slicer};
use super::source_lines::SourceLines;
use super::spec::{Destination, Layout};
use super::text::TextRows;
use crate::{Error, Result};
use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use std::sync::Arc;

/// Encodes the rows of one batch as text.
pub(super) trait EncodeRow {
    /// Appends one row and its line end.
    fn encode(&self, row: usize, out: &mut Vec<u8>) -> Result<()>;
}

/// A line format being written.
pub(super) struct LineWriter {
    format: Format,
    compression: Compression,
    lines: Option<Arc<SourceLines>>,
    max_file_bytes: Option<u64>,
    /// The first bytes of every part, compressed.
    header: Vec<u8>,
    slicer: Slicer,
    queue: EncodeQueue<Chunk>,
    names: PartNames,
    part: Target,
    part_rows: u64,
    complete: Vec<CompleteFile>,
}

/// Compressed text and the number of its rows.
struct Chunk {
    bytes: Vec<u8>,
    n_rows: u64,
}

impl LineWriter {
    pub fn create(layout: &Layout, schema: &Schema, mut names: PartNames) -> Result<LineWriter> {
        let compression = layout.compression;
        let header = match layout.format {
            Format::Csv => csv_header(schema, b','),
            Format::Tsv => csv_header(schema, b'\t'),
            _ => Vec::new(),
        };
        let header = if header.is_empty() { header } else { compressed(header, compression)? };
        let chunk_bytes = layout.chunk_bytes();
        let in_flight = match layout.place {
            // Somebody may be waiting for each line.
            Destination::Stdout | Destination::Stream(_) => InFlight::one_at_a_time(),
            // With many outputs open, each may only keep one thread busy.
            _ if layout.is_partitioned => InFlight { pieces: 1, bytes: 2 * chunk_bytes },
            _ => InFlight::for_all_threads(2 * chunk_bytes, layout.max_in_flight_bytes),
        };
        let mut part = names.open()?;
        part.append(&header)?;
        Ok(LineWriter {
            format: layout.format,
            compression,
            lines: layout.lines.clone(),
            max_file_bytes: layout.max_file_bytes,
            header,
            slicer: Slicer::new(SliceSize { bytes: chunk_bytes, rows: usize::MAX }),
            queue: EncodeQueue::new(in_flight),
            names,
            part,
            part_rows: 0,
            complete: Vec::new(),
        })
    }

    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        for slice in self.slicer.push(batch) {
            self.encode(slice)?;
        }
        Ok(())
    }

    fn encode(&mut self, slice: Slice) -> Result<()> {
        let (format, compression, lines) = (self.format, self.compression, self.lines.clone());
        self.queue.push(slice.n_bytes, move || {
            let bytes = compressed(text_of(&slice, format, lines.as_deref())?, compression)?;
            Ok(Chunk { bytes, n_rows: slice.n_rows as u64 })
        });
        while self.queue.is_full() {
            self.append_oldest()?;
        }
        Ok(())
    }

    /// Writes the oldest chunk out; `false` if there is none.
    fn append_oldest(&mut self) -> Result<bool> {
        let Some(Chunk { bytes, n_rows }) = self.queue.take()? else { return Ok(false) };
        let grown = self.part.n_bytes() + bytes.len() as u64;
        if self.part_rows > 0 && self.max_file_bytes.is_some_and(|max| grown > max) {
            let mut next = self.names.open()?;
            next.append(&self.header)?;
            let full = std::mem::replace(&mut self.part, next);
            self.complete.push(full.complete(std::mem::take(&mut self.part_rows))?);
        }
        self.part.append(&bytes)?;
        self.part_rows += n_rows;
        Ok(true)
    }

    pub fn finish(mut self) -> Result<Vec<CompleteFile>> {
        if let Some(last) = self.slicer.take() {
            self.encode(last)?;
        }
        while self.append_oldest()? {}
        if self.part.n_bytes() == 0 {
            // No bytes at all are not a valid compressed file.
            let nothing = compressed(Vec::new(), self.compression)?;
            self.part.append(&nothing)?;
        }
        self.complete.push(self.part.complete(self.part_rows)?);
        Ok(self.complete)
    }
}

/// The lines of a slice.
fn text_of(slice: &Slice, format: Format, lines: Option<&SourceLines>) -> Result<Vec<u8>> {
    // Values as they are, and some for names, quotes and escapes.
    let mut text = Vec::with_capacity(slice.n_bytes + slice.n_bytes / 8);
    for batch in &slice.batches {
        let n_rows = batch.num_rows();
        match (format, lines) {
            (Format::Csv, _) => encode_rows(&CsvRows::new(batch, b',')?, n_rows, &mut text)?,
            (Format::Tsv, _) => encode_rows(&CsvRows::new(batch, b'\t')?, n_rows, &mut text)?,
            (Format::Text, _) => encode_rows(&TextRows::new(batch)?, n_rows, &mut text)?,
            (_, Some(lines)) => encode_rows(&LineRows::new(batch, lines)?, n_rows, &mut text)?,
            (_, None) => encode_rows(&JsonRows::new(batch)?, n_rows, &mut text)?,
        }
    }
    Ok(text)
}

fn encode_rows(rows: &impl EncodeRow, n_rows: usize, text: &mut Vec<u8>) -> Result<()> {
    (0..n_rows).try_for_each(|row| rows.encode(row, text))
}

fn compressed(text: Vec<u8>, compression: Compression) -> Result<Vec<u8>> {
    compress(text, compression).map_err(|error| Error::Data(format!("cannot compress: {error}")))
}
