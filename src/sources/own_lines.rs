//! The lines that belong to a range of bytes, when a file is cut at bytes that are not ends of lines.
//!
//! ```text
//! bytes   …aaa\nbbbbb│bbb\ncc\nddd│ddd\n…
//!                    └ range ─────┘
//! lines              bbb skipped; cc, dddddd belong to it
//! ```
//! A line belongs to the range that holds the line feed before it, and the first line of a file to the first range.
//! So a range skips through its first line feed and goes on through the first one behind its end. Who reads a range
//! need not know what comes before it, not even one byte: the range may be the frames of a packed file.
//! The same goes for records that may hold line feeds in quotes: what counts is the line feed that ends one.
//! Invariant: the lines of all ranges, one after the other, are the file.

use super::csv::RecordEnds;
use std::io::{self, Read};

/// Bytes that know where a range ends.
pub(crate) trait Bounded {
    /// Reads some bytes, and tells whether they lie behind the end of the range. Never a mixture; no bytes are the end of
    /// the file.
    fn read_bounded(&mut self, buffer: &mut [u8]) -> io::Result<(usize, bool)>;
}

/// What ends a line.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LineEnds {
    /// Each line feed.
    LineFeeds,
    /// Those outside of quotes.
    Records(RecordEnds),
}

impl LineEnds {
    /// The line feed that ends the current line. Goes on behind it, or behind all bytes if it is not there.
    fn find(&mut self, bytes: &[u8]) -> Option<usize> {
        match self {
            LineEnds::LineFeeds => memchr::memchr(b'\n', bytes),
            LineEnds::Records(ends) => ends.find(bytes),
        }
    }

    /// Goes on behind the bytes.
    fn pass(&mut self, bytes: &[u8]) {
        if let LineEnds::Records(ends) = self {
            ends.pass(bytes);
        }
    }
}

/// The lines of one range, as a stream.
pub(crate) struct OwnLines<B> {
    bytes: B,
    ends: LineEnds,
    state: State,
}

#[derive(PartialEq)]
enum State {
    /// In a line that belongs to the range before.
    Skip,
    Inside,
    /// In the last line, behind the end.
    Last,
    Done,
}

impl<B: Bounded> OwnLines<B> {
    /// `ends`: what stands at the start of the range. `is_first`: it is the start of the file.
    pub fn new(bytes: B, ends: LineEnds, is_first: bool) -> Self {
        Self { bytes, ends, state: if is_first { State::Inside } else { State::Skip } }
    }
}

impl<B: Bounded> Read for OwnLines<B> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.state != State::Done && !buffer.is_empty() {
            let (n_bytes, is_behind) = self.bytes.read_bounded(buffer)?;
            if n_bytes == 0 {
                self.state = State::Done;
            } else if self.state == State::Skip && is_behind {
                // No line begins in the range. Where the one that it is in ends is not looked for: it may be a gigabyte long.
                self.state = State::Done;
            } else if self.state == State::Skip {
                let Some(at) = self.ends.find(&buffer[..n_bytes]) else { continue };
                self.state = State::Inside;
                self.ends.pass(&buffer[at + 1..n_bytes]);
                buffer.copy_within(at + 1..n_bytes, 0);
                if n_bytes > at + 1 {
                    return Ok(n_bytes - at - 1);
                }
            } else if is_behind {
                self.state = State::Last;
                if let Some(at) = self.ends.find(&buffer[..n_bytes]) {
                    self.state = State::Done;
                    return Ok(at + 1);
                }
                return Ok(n_bytes);
            } else {
                self.ends.pass(&buffer[..n_bytes]);
                return Ok(n_bytes);
            }
        }
        Ok(0)
    }
}

/// A file that is not packed, from the start of a range on.
pub(crate) struct PlainRange<R> {
    /// Stands at the start of the range.
    pub stream: R,
    /// Bytes left before its end.
    pub left: u64,
}

impl<R: Read + Send> Bounded for PlainRange<R> {
    fn read_bounded(&mut self, buffer: &mut [u8]) -> io::Result<(usize, bool)> {
        if self.left == 0 {
            return Ok((self.stream.read(buffer)?, true));
        }
        let most = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let n_bytes = self.stream.read(&mut buffer[..most])?;
        self.left -= n_bytes as u64;
        Ok((n_bytes, false))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Cursor;

    fn lines(text: &[u8], start: usize, end: usize) -> Vec<u8> {
        let range = PlainRange { stream: Cursor::new(&text[start..]), left: (end - start) as u64 };
        let mut lines = Vec::new();
        // A small buffer, so that line feeds lie on its edges.
        let mut buffer = [0; 3];
        let mut own = OwnLines::new(range, LineEnds::LineFeeds, start == 0);
        while let n_bytes @ 1.. = own.read(&mut buffer).unwrap() {
            lines.extend_from_slice(&buffer[..n_bytes]);
        }
        lines
    }

    #[test]
    fn a_line_belongs_to_the_range_of_the_line_feed_before_it() {
        let text = b"aaa\nbbbbbbbb\ncc\ndddddd\n";
        assert_eq!(lines(text, 0, 9), b"aaa\nbbbbbbbb\n");
        assert_eq!(lines(text, 9, 19), b"cc\ndddddd\n");
        assert_eq!(lines(text, 5, 8), b"", "no line begins here");
        assert_eq!(lines(text, 3, 4), b"bbbbbbbb\n", "the line feed alone");
    }

    #[test]
    fn a_range_inside_a_line_is_read_no_further_than_its_end() {
        struct Counted<'a>(Cursor<&'a [u8]>, &'a std::cell::Cell<usize>);
        impl Bounded for Counted<'_> {
            fn read_bounded(&mut self, buffer: &mut [u8]) -> io::Result<(usize, bool)> {
                let is_behind = self.0.position() >= 100;
                let most = if is_behind { buffer.len() } else { buffer.len().min(100 - self.0.position() as usize) };
                let n_bytes = self.0.read(&mut buffer[..most])?;
                self.1.set(self.1.get() + n_bytes);
                Ok((n_bytes, is_behind))
            }
        }
        let (text, count) = (vec![b'a'; 100_000], std::cell::Cell::new(0));
        let mut own = OwnLines::new(Counted(Cursor::new(&text), &count), LineEnds::LineFeeds, false);
        assert_eq!(own.read(&mut [0; 64]).unwrap(), 0);
        assert!(count.get() <= 100 + 64, "{}", count.get());
    }

    proptest! {
        #[test]
        fn ranges_one_after_the_other_are_the_file(text in "[a\n]{0,60}", block in 1usize..20) {
            let text = text.as_bytes();
            let mut all = Vec::new();
            for start in (0..text.len().max(1)).step_by(block) {
                let end = (start + block).min(text.len().max(start + 1));
                all.extend(lines(text, start, end));
            }
            prop_assert_eq!(all, text);
        }
    }
}
