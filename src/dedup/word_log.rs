//! Numbers that are appended, then read from front to back as often as one likes: in memory, past the budget on disk.

use super::Budget;
use super::byte_log::ByteLog;
use crate::Result;
use std::collections::VecDeque;
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

    /// The numbers, `N` at a time.
    pub(super) fn into_records<const N: usize>(self) -> Records<N> {
        Records { log: self, offset: 0, buffer: VecDeque::new() }
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

/// The numbers of a log that was flushed, from the first, `N` at a time.
pub(super) struct Records<const N: usize> {
    log: WordLog,
    offset: u64,
    buffer: VecDeque<[u64; N]>,
}

impl<const N: usize> Records<N> {
    fn fill(&mut self) -> Result<()> {
        let record_bytes = 8 * N as u64;
        let n_bytes = (self.log.bytes.len_bytes() - self.offset).min(READ_BYTES as u64 / record_bytes * record_bytes);
        let mut bytes = vec![0; n_bytes as usize];
        self.log.bytes.read_at(self.offset, &mut bytes)?;
        self.offset += n_bytes;
        let word = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
        let record = |bytes: &[u8]| std::array::from_fn(|at| word(&bytes[8 * at..8 * at + 8]));
        self.buffer.extend(bytes.chunks_exact(8 * N).map(record));
        Ok(())
    }
}

impl<const N: usize> Iterator for Records<N> {
    type Item = Result<[u64; N]>;

    fn next(&mut self) -> Option<Result<[u64; N]>> {
        if self.buffer.is_empty()
            && let Err(error) = self.fill()
        {
            return Some(Err(error));
        }
        self.buffer.pop_front().map(Ok)
    }
}
