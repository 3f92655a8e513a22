//! Writes the formats that are lines of text: rows → chunks of text → compressed chunks → parts.
//!
//! Invariant: a chunk ends with the first row that brings it to the layout's size, and a part before the first chunk
//! that would make it too large. Both follow from the rows alone, so the bytes do too.

use super::chunks::{Chunk, ChunkQueue, compress};
use super::csv::{CsvRows, csv_header};
use super::file::{CompleteFile, Target};
use super::json::JsonRows;
use super::options::{Compression, Format};
use super::parts::PartNames;
use super::spec::Layout;
use super::text::TextRows;
use crate::{Error, Result};
use arrow::array::RecordBatch;
use arrow::datatypes::Schema;

/// Encodes the rows of one batch as text.
pub(super) trait EncodeRow {
    /// Appends one row and its line end.
    fn encode(&self, row: usize, out: &mut Vec<u8>) -> Result<()>;
}

/// A line format being written.
pub(super) struct LineWriter {
    format: Format,
    compression: Compression,
    chunk_bytes: usize,
    max_file_bytes: Option<u64>,
    /// The first bytes of every part, compressed.
    header: Vec<u8>,
    text: Vec<u8>,
    text_rows: u64,
    queue: ChunkQueue,
    names: PartNames,
    part: Target,
    part_rows: u64,
    complete: Vec<CompleteFile>,
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
        // With many outputs open, each may only keep one thread busy.
        let max_chunks = if layout.is_partitioned { 1 } else { rayon::current_num_threads() + 1 };
        let mut part = names.open()?;
        part.append(&header)?;
        Ok(LineWriter {
            format: layout.format,
            compression,
            chunk_bytes,
            max_file_bytes: layout.max_file_bytes,
            header,
            text: Vec::new(),
            text_rows: 0,
            queue: ChunkQueue::new(compression, max_chunks, chunk_bytes),
            names,
            part,
            part_rows: 0,
            complete: Vec::new(),
        })
    }

    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let n_rows = batch.num_rows();
        match self.format {
            Format::Csv => self.encode(&CsvRows::new(batch, b',')?, n_rows),
            Format::Tsv => self.encode(&CsvRows::new(batch, b'\t')?, n_rows),
            Format::Text => self.encode(&TextRows::new(batch)?, n_rows),
            _ => self.encode(&JsonRows::new(batch)?, n_rows),
        }
    }

    fn encode(&mut self, rows: &impl EncodeRow, n_rows: usize) -> Result<()> {
        for row in 0..n_rows {
            rows.encode(row, &mut self.text)?;
            self.text_rows += 1;
            if self.text.len() >= self.chunk_bytes {
                self.cut_chunk()?;
            }
        }
        Ok(())
    }

    fn cut_chunk(&mut self) -> Result<()> {
        // The next chunk will be about as long: ask for the room at once.
        let next = Vec::with_capacity(self.text.len().min(2 * self.chunk_bytes));
        let text = std::mem::replace(&mut self.text, next);
        self.queue.push(text, std::mem::take(&mut self.text_rows));
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
        if self.text_rows > 0 {
            self.cut_chunk()?;
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

fn compressed(text: Vec<u8>, compression: Compression) -> Result<Vec<u8>> {
    compress(text, compression).map_err(|error| Error::Data(format!("cannot compress: {error}")))
}
