//! Unit vectors, numbered from 0: in memory as long as the budget lasts, in a temporary file after.
//!
//! Each partition of the rows fills a [`VectorStore`] of its own; [`Vectors`] are those of all, in the order of the rows.
//! Invariant: a vector reads back with the bits it was pushed with, whichever place it lies in.
//! Memory: 4 bytes for each value (padded to eight values a vector) in chunks that make [`CHUNK_BYTES`] together, one of
//! each store; one chunk of a store when the rest is in its file.

use super::dots::LANES;
use crate::dedup::{Budget, Numbering};
use crate::store::ScratchFile;
use crate::{Error, Result};
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::sync::Arc;

/// What is claimed, written and read at a time. Small in tests, so that they cross its borders.
pub(super) const CHUNK_BYTES: usize = if cfg!(test) { 16 << 10 } else { 1 << 20 };

/// Takes vectors, one after the other.
pub(super) struct VectorStore {
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

impl VectorStore {
    /// One of `n_stores` for vectors of so many values.
    pub(super) fn new(dimension: usize, n_stores: usize, budget: Arc<dyn Budget>) -> Self {
        let stride = stride(dimension);
        let chunk_rows = (chunk_rows(stride) / n_stores).max(1);
        let (chunks, tail) = (Vec::new(), Vec::new());
        Self { stride, n: 0, chunk_rows, chunks, tail, file: None, budget, claimed_bytes: 0 }
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

    /// The vectors of a block where they lie, if they lie side by side in memory.
    fn lent(&self, block: &Range<usize>) -> Option<&[f32]> {
        let (chunk, at) = (block.start / self.chunk_rows, block.start % self.chunk_rows);
        self.chunks.get(chunk)?.get(at * self.stride..(at + block.len()) * self.stride)
    }

    /// Appends the vectors of a block to `to`.
    fn copy(&self, block: Range<usize>, to: &mut Vec<f32>) -> Result<()> {
        if let Some(file) = &self.file {
            return read_values(file, block.start * self.stride..block.end * self.stride, to);
        }
        let mut at = block.start;
        while at < block.end {
            let chunk = &self.chunks[at / self.chunk_rows];
            let n_rows = (self.chunk_rows - at % self.chunk_rows).min(block.end - at);
            to.extend_from_slice(&chunk[at % self.chunk_rows * self.stride..][..n_rows * self.stride]);
            at += n_rows;
        }
        Ok(())
    }
}

impl Drop for VectorStore {
    fn drop(&mut self) {
        self.budget.shrink(self.claimed_bytes);
    }
}

/// The vectors of several stores, or of one.
pub(super) struct Vectors {
    stores: Vec<VectorStore>,
    /// Which store has a vector, and where.
    numbering: Numbering,
    stride: usize,
}

impl Vectors {
    /// Those of one store.
    pub(super) fn of_one(mut store: VectorStore) -> Result<Self> {
        store.finish()?;
        let (stride, numbering) = (store.stride, Numbering::of_one(store.n as u64));
        Ok(Self { stores: vec![store], numbering, stride })
    }

    /// Those of several, which are finished; a partition of the numbering has each. There are vectors of so many values.
    pub(super) fn of_partitions(stores: Vec<VectorStore>, numbering: Numbering, dimension: usize) -> Self {
        Self { stores, numbering, stride: stride(dimension) }
    }

    pub(super) fn len(&self) -> usize {
        self.numbering.n_rows() as usize
    }

    /// Values from one vector to the next.
    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    /// How many vectors to read at a time.
    pub(super) fn chunk_rows(&self) -> usize {
        chunk_rows(self.stride)
    }

    /// All vectors in ranges of so many.
    pub(super) fn blocks(&self, block_rows: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let n = self.len();
        (0..n).step_by(block_rows.max(1)).map(move |start| start..(start + block_rows).min(n))
    }

    /// The vectors of a block; `buffer` is used if they do not lie side by side in memory.
    pub(super) fn rows<'a>(&'a self, block: Range<usize>, buffer: &'a mut Vec<f32>) -> Result<&'a [f32]> {
        let (store, places, n_rows) = self.stretch(&block);
        if n_rows == block.len()
            && let Some(rows) = self.stores[store].lent(&places)
        {
            return Ok(rows);
        }
        buffer.clear();
        let mut rest = block;
        while !rest.is_empty() {
            let (store, places, n_rows) = self.stretch(&rest);
            self.stores[store].copy(places, buffer)?;
            rest.start += n_rows;
        }
        Ok(buffer)
    }

    /// The longest beginning of a block that lies side by side in one store: the store, the places there, how many.
    fn stretch(&self, block: &Range<usize>) -> (usize, Range<usize>, usize) {
        let (store, first) = self.numbering.place_of(block.start as u64);
        let goes_on = |n: &usize| self.numbering.place_of((block.start + n) as u64) == (store, first + *n as u64);
        // Places ascend with the numbers, so that whatever lies between two that fit does too.
        let (mut n_rows, mut too_many) = (1, block.len() + 1);
        while n_rows + 1 < too_many {
            let middle = n_rows.midpoint(too_many);
            if goes_on(&(middle - 1)) { n_rows = middle } else { too_many = middle }
        }
        (store, first as usize..first as usize + n_rows, n_rows)
    }

    /// Copies the vectors of `rows` one after the other into `to`.
    pub(super) fn gather(&self, rows: &[u32], to: &mut Vec<f32>) -> Result<()> {
        to.clear();
        let place_of = |row: u32| {
            let (store, place) = self.numbering.place_of(u64::from(row));
            (&self.stores[store], place as usize)
        };
        if self.stores.iter().all(|store| store.file.is_none()) {
            return rows.iter().map(|row| place_of(*row)).try_for_each(|(store, at)| store.copy(at..at + 1, to));
        }
        // Files are read from front to back, whatever order is wanted.
        let mut places: Vec<(u32, u32)> = rows.iter().zip(0u32..).map(|(&row, place)| (row, place)).collect();
        places.sort_unstable();
        to.resize(rows.len() * self.stride, 0.0);
        let mut vector = Vec::with_capacity(self.stride);
        for (row, place) in places {
            let (store, at) = place_of(row);
            vector.clear();
            store.copy(at..at + 1, &mut vector)?;
            to[place as usize * self.stride..][..self.stride].copy_from_slice(&vector);
        }
        Ok(())
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
    Error::Data(error.to_string())
}

/// What to say when not even the least is granted.
pub(super) fn no_memory(n_bytes: usize) -> Error {
    Error::Data(format!("DEDUP SEMANTIC needs {n_bytes} bytes more than the memory it was given"))
}
