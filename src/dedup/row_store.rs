//! One byte string a row, in memory or on disk: texts to verify, keys that `KEEP … BY` orders by.
//!
//! Memory: the bytes and 8 more for each row ([`RowStore::new`]) or 16 for each row that is stored
//! ([`RowStore::sparse`]), claimed in pieces. Refused: all of it goes to two files, and from then on only a buffer is
//! in memory, with one row number in 256 to find rows by.

use super::Budget;
use super::byte_log::ByteLog;
use super::numbering::Numbering;
use crate::{Result, bug};
use std::sync::Arc;

/// Rows between two that are remembered.
const BLOCK_ROWS: usize = 256;

/// Takes byte strings, in ascending order of their rows.
pub struct RowStore {
    bytes: ByteLog,
    /// Dense: where each row ends. Sparse: its number and where it ends.
    ends: ByteLog,
    /// The number of each block's first row, if sparse.
    first_rows: Option<Vec<u64>>,
    n_rows: u64,
    next_row: u64,
}

impl RowStore {
    /// For all rows.
    pub fn new(budget: &Arc<dyn Budget>) -> Self {
        let (bytes, ends) = (ByteLog::new(budget), ByteLog::new(budget));
        Self { bytes, ends, first_rows: None, n_rows: 0, next_row: 0 }
    }

    /// For some of the rows.
    pub fn sparse(budget: &Arc<dyn Budget>) -> Self {
        Self { first_rows: Some(Vec::new()), ..Self::new(budget) }
    }

    /// The bytes of the next row: the one after the last that was pushed.
    pub fn push(&mut self, bytes: &[u8]) -> Result<()> {
        self.push_row(self.next_row, bytes)
    }

    /// The bytes of a row after the last that was pushed; of any such row only if the store is sparse.
    pub fn push_row(&mut self, row: u64, bytes: &[u8]) -> Result<()> {
        if row < self.next_row || (self.first_rows.is_none() && row != self.next_row) {
            return Err(bug!("row {row} stored where {} was due", self.next_row));
        }
        if let Some(first_rows) = &mut self.first_rows {
            if self.n_rows.is_multiple_of(BLOCK_ROWS as u64) {
                first_rows.push(row);
            }
            self.ends.append(&row.to_le_bytes())?;
        }
        self.bytes.append(bytes)?;
        self.ends.append(&self.bytes.len_bytes().to_le_bytes())?;
        self.n_rows += 1;
        self.next_row = row + 1;
        Ok(())
    }

    /// True if rows went to disk.
    #[cfg(test)]
    pub fn has_spilled(&self) -> bool {
        self.bytes.has_spilled() || self.ends.has_spilled()
    }

    /// Ends the adding.
    pub fn finish(mut self) -> Result<StoredRows> {
        self.bytes.flush()?;
        self.ends.flush()?;
        let part = Part { bytes: self.bytes, ends: self.ends, first_rows: self.first_rows, n_rows: self.n_rows };
        Ok(StoredRows { parts: vec![part], numbering: None })
    }
}

/// Byte strings by their rows; readable from several threads.
pub struct StoredRows {
    parts: Vec<Part>,
    /// Which part a row is in, and where, if there are several.
    numbering: Option<Arc<Numbering>>,
}

impl StoredRows {
    /// What each partition stored, by the numbers of the rows.
    pub fn of_partitions(stored: Vec<StoredRows>, numbering: &Arc<Numbering>) -> Self {
        let parts: Vec<Part> = stored.into_iter().flat_map(|stored| stored.parts).collect();
        let numbering = Some(Arc::clone(numbering)).filter(|_| parts.len() > 1);
        Self { parts, numbering }
    }

    /// Rows that are stored.
    #[cfg(test)]
    pub fn n_rows(&self) -> u64 {
        self.parts.iter().map(|part| part.n_rows).sum()
    }

    /// Puts the bytes of `row` in place of what is in `bytes`; false, and nothing, if the row is not stored.
    pub fn get(&self, row: u64, bytes: &mut Vec<u8>) -> Result<bool> {
        let (part, row) = self.place_of(row);
        self.parts[part].get(row, bytes)
    }

    /// Puts the bytes of `row` from `start` on in place of the first of `bytes`, as far as both go; returns how many the
    /// row has in all.
    pub fn get_from(&self, row: u64, start: u64, bytes: &mut [u8]) -> Result<u64> {
        let (part, row) = self.place_of(row);
        self.parts[part].get_from(row, start, bytes)
    }

    fn place_of(&self, row: u64) -> (usize, u64) {
        self.numbering.as_ref().map_or((0, row), |numbering| numbering.place_of(row))
    }
}

/// The byte strings of one partition.
struct Part {
    bytes: ByteLog,
    ends: ByteLog,
    first_rows: Option<Vec<u64>>,
    n_rows: u64,
}

impl Part {
    fn get(&self, row: u64, bytes: &mut Vec<u8>) -> Result<bool> {
        bytes.clear();
        let Some((start, end)) = self.range(row)? else { return Ok(false) };
        let n_bytes = usize::try_from(end - start).map_err(|_| bug!("row {row} has {} bytes", end - start))?;
        bytes.resize(n_bytes, 0);
        self.bytes.read_at(start, bytes)?;
        Ok(true)
    }

    fn get_from(&self, row: u64, start: u64, bytes: &mut [u8]) -> Result<u64> {
        let Some((first, end)) = self.range(row)? else { return Ok(0) };
        let n_bytes = (end - first).saturating_sub(start).min(bytes.len() as u64) as usize;
        self.bytes.read_at(first + start, &mut bytes[..n_bytes])?;
        Ok(end - first)
    }

    fn range(&self, row: u64) -> Result<Option<(u64, u64)>> {
        let Some(first_rows) = &self.first_rows else {
            if row >= self.n_rows {
                return Ok(None);
            }
            let mut ends = [0; 16];
            match row {
                0 => self.ends.read_at(0, &mut ends[8..])?,
                _ => self.ends.read_at((row - 1) * 8, &mut ends)?,
            }
            return Ok(Some((word(&ends, 0), word(&ends, 1))));
        };
        let Some(block) = first_rows.partition_point(|first| *first <= row).checked_sub(1) else { return Ok(None) };
        let mut at = (block * BLOCK_ROWS) as u64;
        let mut n = (self.n_rows - at).min(BLOCK_ROWS as u64);
        let mut entry = [0; 16];
        // The entry in at .. at + n with the largest row number that is not above `row`.
        while n > 1 {
            let half = n / 2;
            self.ends.read_at((at + half) * 16, &mut entry[..8])?;
            if word(&entry, 0) <= row {
                at += half;
                n -= half;
            } else {
                n = half;
            }
        }
        self.ends.read_at(at * 16, &mut entry)?;
        if word(&entry, 0) != row {
            return Ok(None);
        }
        let end = word(&entry, 1);
        let mut start = [0; 8];
        if at > 0 {
            self.ends.read_at(at * 16 - 8, &mut start)?;
        }
        Ok(Some((u64::from_le_bytes(start), end)))
    }
}

fn word(bytes: &[u8; 16], place: usize) -> u64 {
    bytes[place * 8..place * 8 + 8].try_into().map_or(0, u64::from_le_bytes)
}
