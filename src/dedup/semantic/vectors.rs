//! Unit vectors, numbered from 0: in memory as long as the budget lasts, in a temporary file after.
//!
//! Invariant: a vector reads back with the bits it was pushed with, whichever place it lies in.
//! Memory: 4 bytes for each value (padded to eight values a vector) in chunks of [`CHUNK_BYTES`]; one chunk when the
//! rest is in the file.

use super::dots::LANES;
use crate::dedup::Budget;
use crate::store::ScratchFile;
use crate::{Error, Result};
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::sync::Arc;

/// What is claimed, written and read at a time. Small in tests, so that they cross its borders.
pub(super) const CHUNK_BYTES: usize = if cfg!(test) { 16 << 10 } else { 1 << 20 };

/// See the module.
pub(super) struct Vectors {
    stride: usize,
    n: usize,
    chunk_rows: usize,
    /// Full chunks; empty once there is a file.
    chunks: Vec<Vec<f32>>,
    /// The chunk that is being filled.
    tail: Vec<f32>,
    file: Option<ScratchFile>,
    budget: Arc<dyn Budget>,
    claimed_bytes: usize,
}

impl Vectors {
    /// For vectors of so many values.
    pub(super) fn new(dimension: usize, budget: Arc<dyn Budget>) -> Self {
        let stride = stride(dimension);
        let chunk_rows = chunk_rows(stride);
        let (chunks, tail) = (Vec::new(), Vec::new());
        Self { stride, n: 0, chunk_rows, chunks, tail, file: None, budget, claimed_bytes: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.n
    }

    /// Values from one vector to the next.
    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    /// Appends a vector; it is filled up with zeros.
    pub(super) fn push(&mut self, vector: &[f32]) -> Result<()> {
        if self.n.is_multiple_of(self.chunk_rows) {
            self.start_chunk()?;
        }
        self.tail.extend_from_slice(vector);
        self.tail.resize(self.tail.len() + self.stride - vector.len(), 0.0);
        self.n += 1;
        Ok(())
    }

    /// Puts the full chunk away and makes room for the next one.
    fn start_chunk(&mut self) -> Result<()> {
        let chunk_values = self.chunk_rows * self.stride;
        let chunk_bytes = chunk_values * size_of::<f32>();
        if self.file.is_none() && self.budget.try_grow(chunk_bytes) {
            self.claimed_bytes += chunk_bytes;
            let full = std::mem::replace(&mut self.tail, Vec::with_capacity(chunk_values));
            if !full.is_empty() {
                self.chunks.push(full);
            }
            return Ok(());
        }
        if self.n == 0 {
            return Err(no_memory(chunk_bytes));
        }
        self.write_out()?;
        self.budget.shrink(self.claimed_bytes - chunk_bytes);
        self.claimed_bytes = chunk_bytes;
        Ok(())
    }

    /// Appends all that is in memory to the file.
    fn write_out(&mut self) -> Result<()> {
        let mut file = match self.file.take() {
            Some(file) => file,
            None => self.budget.temp_file()?,
        };
        for chunk in std::mem::take(&mut self.chunks) {
            write_values(&mut file, &chunk, &*self.budget)?;
        }
        write_values(&mut file, &self.tail, &*self.budget)?;
        self.tail.clear();
        self.file = Some(file);
        Ok(())
    }

    /// Ends the pushing.
    pub(super) fn finish(&mut self) -> Result<()> {
        if self.file.is_some() {
            self.write_out()?;
            self.tail = Vec::new();
            self.budget.shrink(self.claimed_bytes);
            self.claimed_bytes = 0;
        } else if !self.tail.is_empty() {
            self.chunks.push(std::mem::take(&mut self.tail));
        }
        Ok(())
    }

    /// Vectors of a chunk, which can be read where they are.
    pub(super) fn chunk_rows(&self) -> usize {
        self.chunk_rows
    }

    /// All vectors in ranges of so many.
    pub(super) fn blocks(&self, block_rows: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let n = self.n;
        (0..n).step_by(block_rows.max(1)).map(move |start| start..(start + block_rows).min(n))
    }

    /// The vectors of a block; `buffer` is used if they lie in the file or in several chunks.
    pub(super) fn rows<'a>(&'a self, block: Range<usize>, buffer: &'a mut Vec<f32>) -> Result<&'a [f32]> {
        match &self.file {
            None => {
                let chunk_values = self.chunk_rows * self.stride;
                let (start, end) = (block.start * self.stride, block.end * self.stride);
                let first = start / chunk_values;
                if end <= (first + 1) * chunk_values {
                    return Ok(&self.chunks[first][start - first * chunk_values..end - first * chunk_values]);
                }
                buffer.clear();
                for (at, chunk) in self.chunks.iter().enumerate().skip(first) {
                    let chunk_start = at * chunk_values;
                    let from = start.saturating_sub(chunk_start).min(chunk.len());
                    let to = end.saturating_sub(chunk_start).min(chunk.len());
                    buffer.extend_from_slice(&chunk[from..to]);
                }
                Ok(buffer)
            }
            Some(file) => {
                buffer.clear();
                read_values(file, block.start * self.stride..block.end * self.stride, buffer)?;
                Ok(buffer)
            }
        }
    }

    /// Copies the vectors of `rows` one after the other into `to`.
    pub(super) fn gather(&self, rows: &[u32], to: &mut Vec<f32>) -> Result<()> {
        to.clear();
        let Some(file) = &self.file else {
            for &row in rows {
                let (chunk, at) = (row as usize / self.chunk_rows, row as usize % self.chunk_rows);
                to.extend_from_slice(&self.chunks[chunk][at * self.stride..][..self.stride]);
            }
            return Ok(());
        };
        // The file is read from front to back, whatever order is wanted.
        let mut places: Vec<(u32, u32)> = rows.iter().zip(0u32..).map(|(&row, place)| (row, place)).collect();
        places.sort_unstable();
        to.resize(rows.len() * self.stride, 0.0);
        let mut vector = Vec::with_capacity(self.stride);
        for (row, place) in places {
            let start = row as usize * self.stride;
            vector.clear();
            read_values(file, start..start + self.stride, &mut vector)?;
            to[place as usize * self.stride..][..self.stride].copy_from_slice(&vector);
        }
        Ok(())
    }
}

impl Drop for Vectors {
    fn drop(&mut self) {
        self.budget.shrink(self.claimed_bytes);
    }
}

/// Vectors of a chunk.
fn chunk_rows(stride: usize) -> usize {
    (CHUNK_BYTES / (stride * size_of::<f32>())).max(1)
}

/// Bytes of one chunk, the least that vectors of a dimension need.
#[cfg(test)]
pub(super) fn chunk_bytes(dimension: usize) -> usize {
    chunk_rows(stride(dimension)) * stride(dimension) * size_of::<f32>()
}

/// Values a vector takes.
pub(super) fn stride(dimension: usize) -> usize {
    dimension.max(1).next_multiple_of(LANES)
}

/// The length of a vector is 1 afterwards; false if it has no direction.
pub(super) fn normalize(vector: &mut [f32]) -> bool {
    let length = vector.iter().map(|&value| f64::from(value) * f64::from(value)).sum::<f64>().sqrt();
    if !length.is_finite() || length == 0.0 {
        return false;
    }
    vector.iter_mut().for_each(|value| *value = (f64::from(*value) / length) as f32);
    true
}

fn write_values(file: &mut ScratchFile, values: &[f32], budget: &dyn Budget) -> Result<()> {
    let mut bytes = Vec::with_capacity(64 << 10);
    for part in values.chunks((64 << 10) / size_of::<f32>()) {
        bytes.clear();
        bytes.extend(part.iter().flat_map(|value| value.to_le_bytes()));
        file.write_all(&bytes).map_err(spill_error)?;
    }
    budget.note_spilled(size_of_val(values) as u64);
    Ok(())
}

fn read_values(mut file: &ScratchFile, values: Range<usize>, to: &mut Vec<f32>) -> Result<()> {
    file.seek(SeekFrom::Start((values.start * size_of::<f32>()) as u64)).map_err(spill_error)?;
    let mut bytes = vec![0; (values.len() * size_of::<f32>()).min(64 << 10)];
    let mut left_bytes = values.len() * size_of::<f32>();
    while left_bytes > 0 {
        let n_bytes = left_bytes.min(bytes.len());
        file.read_exact(&mut bytes[..n_bytes]).map_err(spill_error)?;
        to.extend(bytes[..n_bytes].as_chunks::<4>().0.iter().map(|value| f32::from_le_bytes(*value)));
        left_bytes -= n_bytes;
    }
    Ok(())
}

fn spill_error(error: std::io::Error) -> Error {
    Error::io("temporary file of vectors", error)
}

/// What to say when not even the least is granted.
pub(super) fn no_memory(n_bytes: usize) -> Error {
    Error::Data(format!("DEDUP SEMANTIC needs {n_bytes} bytes more than the memory it was given"))
}
