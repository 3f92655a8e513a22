//! How many lines come before a piece of a file that was cut.
//!
//! A piece is read without knowing: rows are numbered within their piece. Only `_row` and the places of rejects need the
//! numbers of the whole file, and only then are the pieces before counted, each once in the process; those that a scan has
//! read to their end are known already.

use super::format::Input;
use super::split::Extent;
use crate::Result;
use std::collections::HashMap;
use std::io::Read;
use std::sync::{Mutex, PoisonError};

/// The lines and bytes of a piece, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LineCount {
    pub lines: u64,
    pub bytes: u64,
}

/// Counts the rows of a piece.
pub(crate) type CountPiece = fn(&Input, usize) -> Result<LineCount>;

/// What is known of the pieces.
#[derive(Debug, Default)]
pub(crate) struct LineCounts(Mutex<HashMap<usize, LineCount>>);

impl LineCounts {
    /// A piece was read to its end.
    pub fn learn(&self, piece: usize, count: LineCount) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(piece, count);
    }

    /// What comes before a piece in its file. Reads from disk where that is not known.
    pub fn before(&self, input: &Input, piece: usize) -> Result<LineCount> {
        match input.splits.pieces[piece].extent {
            Extent::Whole => Ok(LineCount::default()),
            Extent::Groups { first_row, .. } => Ok(LineCount { lines: first_row, bytes: 0 }),
            Extent::Bytes { .. } => {
                let mut sum = LineCount::default();
                for earlier in input.splits.before(piece) {
                    let count = self.of(input, earlier)?;
                    sum = LineCount { lines: sum.lines + count.lines, bytes: sum.bytes + count.bytes };
                }
                Ok(sum)
            }
        }
    }

    fn of(&self, input: &Input, piece: usize) -> Result<LineCount> {
        // A copy: the lock must not be held while a file is read.
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&piece).copied();
        if let Some(count) = known {
            return Ok(count);
        }
        let count = (input.count_piece)(input, piece)?;
        self.learn(piece, count);
        Ok(count)
    }
}

/// The line feeds of a piece.
pub(super) fn count_lines(input: &Input, piece: usize) -> Result<LineCount> {
    let mut count = LineCount::default();
    if let Ok(mut opened) = input.open(piece)? {
        let mut buffer = vec![0; 256 << 10];
        // What cannot be read is no lines here either; the scan of that piece says what is wrong with it.
        while let Ok(n_bytes @ 1..) = opened.stream.read(&mut buffer) {
            count.lines += memchr::memchr_iter(b'\n', &buffer[..n_bytes]).count() as u64;
            count.bytes += n_bytes as u64;
        }
    }
    Ok(count)
}
