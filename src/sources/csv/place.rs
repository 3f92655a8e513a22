//! Where a CSV record begins: its line and byte.

use std::collections::VecDeque;
use std::io::Read;

/// Where a record begins.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub line: u64,
    pub byte_offset: u64,
}

/// Notes the line ends that pass. The parser's own positions lie before the line ends and blank lines that precede a
/// record, which makes them wrong by a line in files with CRLF.
pub(super) struct LineCounter<R> {
    inner: R,
    n_bytes: u64,
    last: u8,
    /// Offsets of line ends not yet passed by a record, and whether each is a CRLF.
    ends: VecDeque<(u64, bool)>,
    line: u64,
}

impl<R> LineCounter<R> {
    pub fn new(inner: R) -> Self {
        Self { inner, n_bytes: 0, last: 0, ends: VecDeque::new(), line: 1 }
    }

    /// The place of the record that begins at or after `start`. Records must be asked for in order.
    pub fn place_of(&mut self, start: u64) -> Place {
        let mut byte_offset = start;
        while let Some((end, is_crlf)) = self.ends.front().copied() {
            let is_blank = end == byte_offset || is_crlf && end == byte_offset + 1;
            if end >= byte_offset && !is_blank {
                break;
            }
            byte_offset = byte_offset.max(end + 1);
            self.line += 1;
            self.ends.pop_front();
        }
        Place { line: self.line, byte_offset }
    }
}

impl<R: Read> Read for LineCounter<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n_read = self.inner.read(buffer)?;
        let bytes = &buffer[..n_read];
        for at in memchr::memchr_iter(b'\n', bytes) {
            let before = if at == 0 { self.last } else { bytes[at - 1] };
            self.ends.push_back((self.n_bytes + at as u64, before == b'\r'));
        }
        self.last = bytes.last().copied().unwrap_or(self.last);
        self.n_bytes += n_read as u64;
        Ok(n_read)
    }
}
