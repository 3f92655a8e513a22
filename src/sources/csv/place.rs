//! Where a CSV record begins, its line and byte, and the bytes it was read from; and whether it ends.

use super::ends::RecordEnds;
use std::collections::VecDeque;
use std::io::Read;

/// Where a record begins.
#[derive(Clone, Copy)]
pub(super) struct RecordPlace {
    pub line: u64,
    pub byte_offset: u64,
}

/// Notes the line ends that pass, and keeps the bytes of the current record. The parser's own positions lie before the line
/// ends and blank lines that precede a record, which makes them wrong by a line in files with CRLF.
pub(super) struct LineCounter<R> {
    inner: R,
    n_bytes: u64,
    last: u8,
    /// Offsets of line ends not yet passed by a record, and whether each is a CRLF.
    ends: VecDeque<(u64, bool)>,
    line: u64,
    /// The bytes from offset `kept_from` on that may still be asked for.
    kept: Vec<u8>,
    kept_from: u64,
    needed_from: u64,
    quotes: RecordEnds,
    is_end: bool,
    /// The longest record that is read.
    max_record_bytes: u64,
}

impl<R> LineCounter<R> {
    pub fn new(inner: R, delimiter: u8, max_record_bytes: u64) -> Self {
        Self {
            quotes: RecordEnds::new(delimiter),
            is_end: false,
            max_record_bytes,
            inner,
            n_bytes: 0,
            last: 0,
            ends: VecDeque::new(),
            line: 1,
            kept: Vec::new(),
            kept_from: 0,
            needed_from: 0,
        }
    }

    /// The next record begins at `start` or after it: what was before is not asked for again.
    pub fn begin_record(&mut self, start: u64) {
        self.needed_from = start;
    }

    /// The current record as it stands in the file, up to the offset `end`, without the line ends around it.
    pub fn record(&self, end: u64) -> &[u8] {
        let at = |offset: u64| offset.saturating_sub(self.kept_from) as usize;
        let bytes = self.kept.get(at(self.needed_from)..at(end)).unwrap_or_default();
        without_line_ends(if self.needed_from == 0 {
            bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
        } else {
            bytes
        })
    }

    /// How many bytes the record that begins at `start` has, if it ends in the middle of a quoted field, with the file.
    pub fn cut_off(&self, start: u64, end: u64) -> Option<u64> {
        (self.is_end && self.quotes.is_open() && end >= self.n_bytes).then(|| self.n_bytes - start.min(self.n_bytes))
    }

    /// The place of the record that begins at or after `start`. Records must be asked for in order.
    pub fn place_of(&mut self, start: u64) -> RecordPlace {
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
        RecordPlace { line: self.line, byte_offset }
    }
}

impl<R: Read> Read for LineCounter<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.n_bytes - self.needed_from.min(self.n_bytes) > self.max_record_bytes {
            let most = self.max_record_bytes;
            let told = format!("a record is longer than {most} bytes: a quote may be open that is never closed");
            return Err(std::io::Error::other(told));
        }
        let n_read = self.inner.read(buffer)?;
        self.is_end = n_read == 0 && !buffer.is_empty();
        let bytes = &buffer[..n_read];
        for at in memchr::memchr_iter(b'\n', bytes) {
            let before = if at == 0 { self.last } else { bytes[at - 1] };
            self.ends.push_back((self.n_bytes + at as u64, before == b'\r'));
        }
        let text = if self.n_bytes == 0 { bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes) } else { bytes };
        self.quotes.pass(text);
        self.last = bytes.last().copied().unwrap_or(self.last);
        let n_gone = (self.needed_from.saturating_sub(self.kept_from) as usize).min(self.kept.len());
        self.kept.drain(..n_gone);
        self.kept_from += n_gone as u64;
        self.kept.extend_from_slice(bytes);
        self.n_bytes += n_read as u64;
        Ok(n_read)
    }
}

/// The parser stops at the first byte of a CRLF, and passes over blank lines.
pub(super) fn without_line_ends(record: &[u8]) -> &[u8] {
    let is_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
    let start = record.iter().position(|byte| !is_end(byte)).unwrap_or(record.len());
    let end = record.iter().rposition(|byte| !is_end(byte)).map_or(start, |last| last + 1);
    &record[start..end]
}
