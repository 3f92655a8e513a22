//! Numbers that are appended, then read from front to back as often as one likes: in memory, past the budget on disk.

use super::Budget;
use super::byte_log::ByteLog;
use crate::Result;
use std::sync::Arc;

/// What is read at a time.
const READ_BYTES: usize = 64 << 10;

/// A growing list of numbers.
pub(super) struct WordLog {
    bytes: ByteLog,
}

impl WordLog {
    pub(super) fn new(budget: &Arc<dyn Budget>) -> Self {
        Self { bytes: ByteLog::new(budget) }
    }

    /// Memory that so many numbers need in order to stay off the disk.
    pub(super) fn memory_bytes(n_words: u64) -> u64 {
        n_words.saturating_mul(8)
    }

    pub(super) fn push(&mut self, word: u64) -> Result<()> {
        self.bytes.append(&word.to_le_bytes())
    }

    pub(super) fn len(&self) -> u64 {
        self.bytes.len_bytes() / 8
    }

    /// Call once, after the last `push` and before the first read.
    pub(super) fn flush(&mut self) -> Result<()> {
        self.bytes.flush()
    }

    /// One of the numbers.
    pub(super) fn get(&self, place: u64) -> Result<u64> {
        let mut bytes = [0; 8];
        self.bytes.read_at(place * 8, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Calls `f` with each number in turn.
    pub(super) fn for_each(&self, mut f: impl FnMut(u64) -> Result<()>) -> Result<()> {
        let mut buffer = vec![0; READ_BYTES];
        let mut offset = 0;
        while offset < self.bytes.len_bytes() {
            let n_bytes = (self.bytes.len_bytes() - offset).min(READ_BYTES as u64) as usize;
            self.bytes.read_at(offset, &mut buffer[..n_bytes])?;
            offset += n_bytes as u64;
            buffer[..n_bytes].as_chunks::<8>().0.iter().try_for_each(|word| f(u64::from_le_bytes(*word)))?;
        }
        Ok(())
    }
}
