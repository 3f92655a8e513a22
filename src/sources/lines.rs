//! Cuts the lines of a piece into blocks.
//!
//! ```text
//! piece ──unpack──► bytes ──cut at newlines──► Block, Block, …  (about `batch_bytes` each; a longer line is its own)
//! ```
//!
//! Invariant: every byte of a piece is in exactly one block or in a reject, and each block knows its first line and
//! its offset there. Not here: what a line means.

use super::buffers::{Buffer, Buffers};
use super::compression::ByteStream;
use super::format::{Input, InputPosition, Opened, Scan, Stop, Unit};
use super::line_counts::LineCount;
use super::long_lines::{LONG_BYTES, LongLines};
use super::members::can_cut;
use super::queue::UnitSender;
use super::rejects::RejectKind;
use super::split::{Extent, byte_ranges};
use std::io::{self, Read};
use std::ops::Range;
use std::str::Utf8Error;
use std::sync::Arc;

/// The longest line that becomes a row. Arrow's text columns end at 2 GiB a batch.
pub(crate) const MAX_LINE_BYTES: usize = 1 << 30;
/// How much of a line that is too long goes to the rejects.
pub(crate) const RAW_PREFIX_BYTES: usize = 64 << 10;
const READ_AHEAD_BYTES: usize = 32 << 20;
const MAX_BLOCK_BYTES: usize = 256 << 20;
const BOM: &[u8] = b"\xef\xbb\xbf";

/// Whole lines of one piece.
#[derive(Debug)]
pub(crate) struct Block {
    pub piece: usize,
    /// The number of the first line in the piece, from 1.
    pub first_line: u64,
    /// Where the block begins in the unpacked piece.
    pub byte_offset: u64,
    pub data: Buffer,
}

/// The buffers of blocks that aim at `block_bytes`: so much, and the beginning of a line that was read before.
pub(crate) fn block_buffers(block_bytes: usize) -> Arc<Buffers> {
    Buffers::new(block_bytes.min(MAX_BLOCK_BYTES) / 8 * 9)
}

/// What [`LineCutter::next`] found.
#[derive(Debug)]
pub(crate) enum Cut {
    Block(Block),
    /// A line past [`MAX_LINE_BYTES`]: its place and its beginning.
    TooLong {
        line: u64,
        byte_offset: u64,
        n_bytes: u64,
        prefix: Vec<u8>,
    },
    /// The stream broke; what came before has been cut already.
    Broken {
        line: u64,
        byte_offset: u64,
        error: String,
        rest: Vec<u8>,
    },
    End,
}

/// Cuts one stream.
pub(crate) struct LineCutter {
    stream: ByteStream,
    piece: usize,
    block_bytes: usize,
    buffers: Arc<Buffers>,
    max_line_bytes: usize,
    long_lines: Arc<LongLines>,
    /// Bytes after the last newline of the previous block.
    carry: Vec<u8>,
    line: u64,
    byte_offset: u64,
    /// At the beginning of a file, where a byte order mark may stand.
    at_start: bool,
    at_end: bool,
    error: Option<io::Error>,
}

impl LineCutter {
    /// `is_first`: the piece begins where its file does.
    pub fn new(
        stream: ByteStream,
        piece: usize,
        is_first: bool,
        (block_bytes, max_line_bytes): (usize, usize),
        (buffers, long_lines): (Arc<Buffers>, Arc<LongLines>),
    ) -> Self {
        Self {
            stream,
            piece,
            block_bytes: block_bytes.clamp(1, MAX_BLOCK_BYTES),
            buffers,
            long_lines,
            max_line_bytes,
            carry: Vec::new(),
            line: 1,
            byte_offset: 0,
            at_start: is_first,
            at_end: false,
            error: None,
        }
    }

    /// The next block of whole lines.
    pub fn next(&mut self) -> Cut {
        let mut data = self.buffers.empty();
        data.append(&mut self.carry);
        let mut n_searched = 0;
        loop {
            self.fill(&mut data);
            if let Some(at) = memchr::memrchr(b'\n', &data[n_searched..]) {
                let end = n_searched + at + 1;
                if self.at_end && self.error.is_none() {
                    return self.block(data);
                }
                self.carry.extend_from_slice(&data[end..]);
                data.truncate(end);
                return self.block(data);
            }
            if self.at_end {
                return self.finish(data);
            }
            if data.len() > self.max_line_bytes {
                return self.skip_long_line(data);
            }
            n_searched = data.len();
            if n_searched >= LONG_BYTES.max(self.block_bytes) {
                // As much will be read of it next.
                let next_bytes = n_searched + n_searched.min(READ_AHEAD_BYTES);
                match &mut data.long_line {
                    Some(long) => long.grow_to(next_bytes),
                    none => *none = Some(self.long_lines.begin(self.piece, next_bytes)),
                }
            }
        }
    }

    /// Reads until there is a block's worth more, or the stream ends.
    fn fill(&mut self, data: &mut Vec<u8>) {
        // The longer a line already is, the more is read of it at a time: it is searched in few, large steps.
        let at_least = if self.at_start { BOM.len() } else { data.len().min(READ_AHEAD_BYTES) };
        let wanted = self.block_bytes.max(at_least) as u64;
        if !self.at_end {
            let before = data.len();
            match self.stream.by_ref().take(wanted).read_to_end(data) {
                Ok(_) => self.at_end = ((data.len() - before) as u64) < wanted,
                Err(error) => {
                    self.at_end = true;
                    self.error = Some(error);
                }
            }
        }
        if self.at_start {
            self.at_start = false;
            if data.starts_with(BOM) {
                data.drain(..BOM.len());
                self.byte_offset = BOM.len() as u64;
            }
        }
    }

    fn block(&mut self, data: Buffer) -> Cut {
        let block = Block { piece: self.piece, first_line: self.line, byte_offset: self.byte_offset, data };
        self.line += memchr::memchr_iter(b'\n', &block.data).count() as u64;
        self.byte_offset += block.data.len() as u64;
        Cut::Block(block)
    }

    fn finish(&mut self, mut data: Buffer) -> Cut {
        match self.error.take() {
            Some(error) => {
                let rest = std::mem::take(&mut *data);
                Cut::Broken { line: self.line, byte_offset: self.byte_offset, error: error.to_string(), rest }
            }
            None if data.is_empty() => Cut::End,
            None => self.block(data),
        }
    }

    fn skip_long_line(&mut self, mut data: Buffer) -> Cut {
        let (line, byte_offset) = (self.line, self.byte_offset);
        let mut n_bytes = 0;
        let prefix = data[..data.len().min(RAW_PREFIX_BYTES)].to_vec();
        loop {
            if let Some(end) = memchr::memchr(b'\n', &data) {
                n_bytes += end as u64;
                self.carry = data.split_off(end + 1);
                self.byte_offset += n_bytes + 1;
                break;
            }
            n_bytes += data.len() as u64;
            data.clear();
            if self.at_end {
                self.byte_offset += n_bytes;
                break;
            }
            self.fill(&mut data);
        }
        self.line += 1;
        Cut::TooLong { line, byte_offset, n_bytes, prefix }
    }
}

/// How a file of lines is cut: anywhere if it is not packed, between members if they can be found.
pub(crate) fn cut_lines(input: &Input, file: usize, block_bytes: u64) -> Vec<Extent> {
    let source = &input.files[file];
    let between_members = |packed| can_cut(&source.open()?, packed, block_bytes);
    let is_cuttable = match (input.is_packed(file), input.compression_of(file)) {
        (Ok(false), _) => true,
        // Packed, and its name does not tell how: then members are not looked for.
        (Ok(true), Some(packed)) => between_members(packed).unwrap_or(false),
        _ => false,
    };
    // A JSON document of several lines is read from its beginning.
    if is_cuttable && !input.is_adapted(file) {
        byte_ranges(source.size_bytes, block_bytes)
    } else {
        vec![Extent::Whole]
    }
}

/// Queues the lines of pieces. The rest of a piece that breaks goes to the rejects.
pub(crate) fn produce_lines(scan: &Scan, pieces: Range<usize>, units: &UnitSender) -> Result<(), Stop> {
    pieces.into_iter().try_for_each(|piece| produce_piece(scan, piece, units))
}

fn produce_piece(scan: &Scan, piece: usize, units: &UnitSender) -> Result<(), Stop> {
    let Opened { stream, count } = match scan.input.open(piece)? {
        Ok(opened) => opened,
        Err(error) => return Ok(scan.reject_rest(InputPosition::start_of(piece), error)?),
    };
    let is_first = scan.input.splits.pieces[piece].extent.is_first();
    let max_line_bytes = scan.max_line_bytes();
    let memory = (scan.buffers.clone(), scan.input.long_lines.clone());
    let mut cutter = LineCutter::new(stream, piece, is_first, (scan.batch_bytes, max_line_bytes), memory);
    loop {
        let cut = cutter.next();
        scan.counters.bytes_scanned.add(count.take() as usize);
        match cut {
            Cut::Block(block) => units.push(Unit::Lines(block))?,
            Cut::TooLong { line, byte_offset, n_bytes, prefix } => {
                let reason =
                    format!("the line has {n_bytes} bytes; the most is {max_line_bytes} (its beginning is kept)");
                scan.reject(InputPosition { piece, line, byte_offset }, RejectKind::TooLarge, reason, prefix)?;
            }
            Cut::Broken { line, byte_offset, error, rest } => {
                let reason = format!("cannot read the file from here on: {error}");
                let place = InputPosition { piece, line, byte_offset };
                return Ok(scan.reject(place, RejectKind::Unreadable, reason, rest)?);
            }
            Cut::End => {
                let count = LineCount { lines: cutter.line - 1, bytes: cutter.byte_offset };
                scan.input.counts.learn(piece, count);
                let place = InputPosition { piece, line: cutter.line, byte_offset: cutter.byte_offset };
                return Ok(scan.check_unchanged(place)?);
            }
        }
    }
}

/// Bytes as text. The fast check does not say what is wrong; the slow one then does.
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str, Utf8Error> {
    simdutf8::basic::from_utf8(bytes).or_else(|_| std::str::from_utf8(bytes))
}

/// One line of a block: its number and its offset in the unpacked piece, and its bytes without the line end.
pub(crate) struct Line<'a> {
    pub number: u64,
    pub byte_offset: u64,
    pub bytes: &'a [u8],
    /// A carriage return stood before the line feed.
    pub has_carriage_return: bool,
}

/// Where the next line of a block begins; survives between batches of one block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinePlace {
    number: u64,
    at: usize,
}

impl Block {
    pub fn start(&self) -> LinePlace {
        LinePlace { number: self.first_line, at: 0 }
    }

    /// The line at a place, and the place is moved behind it. LF and CRLF end a line.
    pub fn next_line(&self, place: &mut LinePlace) -> Option<Line<'_>> {
        let rest = self.data.get(place.at..).filter(|rest| !rest.is_empty())?;
        let (line, n_taken) = match memchr::memchr(b'\n', rest) {
            Some(end) => (&rest[..end], end + 1),
            None => (rest, rest.len()),
        };
        let without_return = line.strip_suffix(b"\r");
        let found = Line {
            number: place.number,
            byte_offset: self.byte_offset + place.at as u64,
            bytes: without_return.unwrap_or(line),
            has_carriage_return: without_return.is_some(),
        };
        place.number += 1;
        place.at += n_taken;
        Some(found)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn cut_all(text: &[u8], block_bytes: usize, max_line_bytes: usize) -> Vec<Cut> {
        let (stream, limits) = (Box::new(Cursor::new(text.to_vec())), (block_bytes, max_line_bytes));
        let mut cutter = LineCutter::new(stream, 0, true, limits, (Buffers::new(9), LongLines::within(None)));
        let mut cuts = Vec::new();
        loop {
            match cutter.next() {
                Cut::End => return cuts,
                cut => cuts.push(cut),
            }
        }
    }

    #[test]
    fn blocks_of_any_size_hold_the_same_lines() {
        let text = b"\xef\xbb\xbfone\r\n\ntwo three four five\nsix";
        for block_bytes in 1..40 {
            let mut lines = Vec::new();
            for cut in cut_all(text, block_bytes, 100) {
                let Cut::Block(block) = cut else { panic!("{cut:?}") };
                let mut place = block.start();
                while let Some(line) = block.next_line(&mut place) {
                    lines.push((line.number, line.byte_offset, String::from_utf8(line.bytes.to_vec()).unwrap()));
                }
            }
            let expected = [(1, 3, "one"), (2, 8, ""), (3, 9, "two three four five"), (4, 29, "six")];
            assert_eq!(lines, expected.map(|(n, at, text)| (n, at, text.to_string())), "{block_bytes}");
        }
    }

    #[test]
    fn lines_past_the_limit_are_skipped_and_the_next_is_read() {
        for block_bytes in [1, 3, 7] {
            let cuts = cut_all(b"a\n0123456789012345678901234567890123456789\nb\n", block_bytes, 20);
            let Some(Cut::TooLong { line, byte_offset, n_bytes, .. }) =
                cuts.iter().find(|cut| matches!(cut, Cut::TooLong { .. }))
            else {
                panic!("{cuts:?}")
            };
            assert_eq!((*line, *byte_offset, *n_bytes), (2, 2, 40));
            let Some(Cut::Block(last)) = cuts.last() else { panic!("{cuts:?}") };
            assert_eq!((last.first_line, last.byte_offset, last.data.as_slice()), (3, 43, b"b\n".as_slice()));
        }
    }
}
