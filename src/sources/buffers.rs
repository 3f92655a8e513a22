//! Buffers that go round: the reading thread fills them, the partition that has decoded one gives it back.
//!
//! Memory that was used before is there and in the cache; memory from the system is cleared page by page first, which
//! costs about as much as decoding it.

use super::long_lines::LongLine;
use std::fmt::{Debug, Formatter};
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};

/// The buffers of one reading. Those that wait are as many as its queue once held.
#[derive(Debug)]
pub(crate) struct Buffers {
    usual_bytes: usize,
    spare: Mutex<Vec<Vec<u8>>>,
}

/// Bytes whose memory goes back to where it came from.
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    home: Arc<Buffers>,
    /// Of a line that is longer than a block.
    pub long_line: Option<LongLine>,
}

impl Buffers {
    /// Buffers that mostly hold up to `usual_bytes`; larger ones are not kept.
    pub fn new(usual_bytes: usize) -> Arc<Self> {
        Arc::new(Self { usual_bytes, spare: Mutex::default() })
    }

    /// An empty buffer.
    pub fn empty(self: &Arc<Self>) -> Buffer {
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let bytes = spare.unwrap_or_else(|| Vec::with_capacity(self.usual_bytes));
        Buffer { bytes, home: self.clone(), long_line: None }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let mut bytes = std::mem::take(&mut self.bytes);
        if bytes.capacity() <= self.home.usual_bytes.saturating_mul(2) {
            bytes.clear();
            self.home.spare.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
        }
    }
}

impl Deref for Buffer {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        &self.bytes
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }
}

impl Debug for Buffer {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_goes_round_unless_it_grew_too_large() {
        let buffers = Buffers::new(1000);
        let mut first = buffers.empty();
        first.extend_from_slice(&[7; 1000]);
        let place = first.as_ptr();
        drop(first);
        let mut second = buffers.empty();
        assert!(second.is_empty());
        assert_eq!(second.as_ptr(), place);
        second.resize(5000, 0);
        drop(second);
        assert!(buffers.empty().capacity() < 5000);
    }
}
