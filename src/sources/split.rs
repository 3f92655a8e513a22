//! Cuts a source into splits: parts that can be read alone, again, and in any process.
//!
//! ```text
//! files   │ a (small) │ b (small) │ c (large)                    │
//! pieces  │ 0         │ 1         │ 2        │ 3        │ 4      │   what a reader opens at a time
//! splits  │ 0                     │ 1        │ 2        │ 3      │   what a partition takes at a time
//! ```
//! A large file makes several splits, several small files make one. Where the cuts are depends on the files and on
//! `blocksize` and `files_per_partition`, never on threads. Pieces are numbered in the order of the input, so a row's
//! position is its piece, then its row there: a total order that every process computes alike.
//! Not here: how a format's files can be cut (`FormatReader::cut`), and reading a piece (`own_lines.rs`, the formats).

use super::discover::SourceFile;
use serde::{Deserialize, Serialize};
use std::num::NonZeroUsize;
use std::ops::Range;

/// What is read of one file at a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Piece {
    /// Its number in the whole source: a row's position begins with it.
    pub number: u32,
    pub file: usize,
    pub extent: Extent,
}

/// The part of a file that a piece covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Extent {
    Whole,
    /// Whole lines around these bytes of the file: see `own_lines.rs` for which lines belong to it. In a packed file, the
    /// members (or frames) that begin there.
    Bytes {
        start: u64,
        end: u64,
    },
    /// Row groups of a Parquet file, or batches of an Arrow file; and how many rows come before them.
    Groups {
        start: usize,
        end: usize,
        first_row: u64,
    },
}

impl Extent {
    /// The bytes of a range.
    pub fn bytes(&self) -> Option<(u64, u64)> {
        match self {
            Extent::Bytes { start, end } => Some((*start, *end)),
            _ => None,
        }
    }

    /// Whether the piece begins where the file does.
    pub fn is_first(&self) -> bool {
        match self {
            Extent::Whole => true,
            Extent::Bytes { start, .. } => *start == 0,
            Extent::Groups { start, .. } => *start == 0,
        }
    }
}

/// How large splits are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SplitSize {
    /// Bytes on disk that a split aims at.
    pub block_bytes: NonZeroUsize,
    /// The most files in one split; `None`: as many as fit.
    pub max_files: Option<NonZeroUsize>,
}

/// The pieces of a source and which of them make a split.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Splits {
    pub pieces: Vec<Piece>,
    /// The pieces of each split.
    pub ranges: Vec<Range<usize>>,
}

impl Splits {
    /// Cuts `files`, the extents of each of which `cut` tells, in order.
    pub fn plan(files: &[SourceFile], size: SplitSize, cut: impl Fn(usize) -> Vec<Extent>) -> Self {
        let block_bytes = size.block_bytes.get() as u64;
        let mut splits = Self::default();
        // The split of small files that the next one may join.
        let mut open: Option<(Range<usize>, u64)> = None;
        for (file, source) in files.iter().enumerate() {
            let extents = if source.size_bytes > block_bytes { cut(file) } else { vec![Extent::Whole] };
            let first = splits.pieces.len();
            let numbered = extents.into_iter().zip(first as u32..);
            splits.pieces.extend(numbered.map(|(extent, number)| Piece { number, file, extent }));
            let pieces = first..splits.pieces.len();
            let may_join = |(range, n_bytes): &(Range<usize>, u64)| {
                let has_room = size.max_files.is_none_or(|max_files| range.len() < max_files.get());
                pieces.len() == 1 && has_room && n_bytes + source.size_bytes <= block_bytes
            };
            if let Some((range, n_bytes)) = open.as_mut().filter(|open| may_join(open)) {
                range.end = pieces.end;
                *n_bytes += source.size_bytes;
                continue;
            }
            splits.ranges.extend(open.take().map(|(range, _)| range));
            if pieces.len() == 1 {
                open = Some((pieces, source.size_bytes));
            } else {
                splits.ranges.extend(pieces.map(|piece| piece..piece + 1));
            }
        }
        splits.ranges.extend(open.map(|(range, _)| range));
        splits
    }

    /// The bytes on disk of each split. Those of row groups and batches count for none: they are cut as they should be.
    pub fn sizes(&self, files: &[SourceFile]) -> Vec<u64> {
        let bytes = |piece: &Piece| match piece.extent {
            Extent::Whole => files[piece.file].size_bytes,
            Extent::Bytes { start, end } => end.min(files[piece.file].size_bytes).saturating_sub(start),
            Extent::Groups { .. } => 0,
        };
        self.ranges.iter().map(|range| self.pieces[range.clone()].iter().map(bytes).sum()).collect()
    }

    /// Some of the splits, and the files that they are of. Pieces keep their numbers.
    ///
    /// What comes before a range of bytes in its file, or between two, becomes one piece that no split has: it may have to be
    /// looked at, to know in which line the range begins, or whether in quotes.
    pub fn pick(&self, splits: Range<usize>) -> (Self, Vec<usize>) {
        let (mut picked, mut files) = (Self::default(), Vec::new());
        for range in &self.ranges[splits] {
            let n_before = picked.pieces.len();
            let mut n_skipped = 0;
            for piece in &self.pieces[range.clone()] {
                let is_new = files.last() != Some(&piece.file);
                if is_new {
                    files.push(piece.file);
                }
                let file = files.len() - 1;
                if let Extent::Bytes { start: end, .. } = piece.extent {
                    let last = picked.pieces.last().filter(|_| !is_new).and_then(|last| last.extent.bytes());
                    let start = last.map_or(0, |(_, end)| end);
                    if start < end {
                        n_skipped += 1;
                        picked.pieces.push(Piece { file, extent: Extent::Bytes { start, end }, ..piece.clone() });
                    }
                }
                picked.pieces.push(Piece { file, ..piece.clone() });
            }
            picked.ranges.push(n_before + n_skipped..picked.pieces.len());
        }
        (picked, files)
    }

    /// What splits hold of some of the files, and those files. Pieces keep their numbers.
    pub fn of_files(&self, is_wanted: impl Fn(usize) -> bool) -> (Self, Vec<usize>) {
        let (mut kept, mut files) = (Self::default(), Vec::new());
        for range in &self.ranges {
            let first = kept.pieces.len();
            for piece in self.pieces[range.clone()].iter().filter(|piece| is_wanted(piece.file)) {
                if files.last() != Some(&piece.file) {
                    files.push(piece.file);
                }
                kept.pieces.push(Piece { file: files.len() - 1, ..piece.clone() });
            }
            if kept.pieces.len() > first {
                kept.ranges.push(first..kept.pieces.len());
            }
        }
        (kept, files)
    }

    /// Whether a file is one piece.
    pub fn is_whole(&self, file: usize) -> bool {
        let at = self.pieces.partition_point(|piece| piece.file < file);
        self.pieces.get(at).is_some_and(|piece| piece.file == file && piece.extent == Extent::Whole)
    }

    /// The pieces of the same file that come before one.
    pub fn before(&self, piece: usize) -> Range<usize> {
        let file = self.pieces[piece].file;
        let first = self.pieces[..piece].iter().rposition(|other| other.file != file).map_or(0, |at| at + 1);
        first..piece
    }
}

/// Ranges of about `block_bytes` of a file of `size_bytes`. The last one goes on to the end, wherever that is by then.
pub(crate) fn byte_ranges(size_bytes: u64, block_bytes: u64) -> Vec<Extent> {
    let n_blocks = size_bytes.div_ceil(block_bytes).max(1);
    let end = |block: u64| if block + 1 == n_blocks { u64::MAX } else { (block + 1) * block_bytes };
    (0..n_blocks).map(|block| Extent::Bytes { start: block * block_bytes, end: end(block) }).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn ranges(sizes: &[u64], max_files: Option<usize>) -> Vec<Range<usize>> {
        let files: Vec<SourceFile> = sizes
            .iter()
            .map(|size| SourceFile {
                path: "x".into(),
                name: "x".into(),
                size_bytes: *size,
                modified: None,
                etag: None,
                partitions: Vec::new(),
            })
            .collect();
        let size = SplitSize {
            block_bytes: NonZeroUsize::new(10).unwrap(),
            max_files: max_files.map(|n| NonZeroUsize::new(n).unwrap()),
        };
        let splits = Splits::plan(&files, size, |file| byte_ranges(sizes[file], 10));
        assert_eq!(splits.ranges.iter().map(Range::len).sum::<usize>(), splits.pieces.len());
        splits.ranges
    }

    #[test]
    fn small_files_make_one_split_and_a_large_one_makes_several() {
        assert_eq!(ranges(&[3, 3, 3, 3], None), [0..3, 3..4]);
        assert_eq!(ranges(&[3, 3, 3, 3], Some(2)), [0..2, 2..4]);
        assert_eq!(ranges(&[4, 25, 4, 4], None), [0..1, 1..2, 2..3, 3..4, 4..6]);
        assert!(ranges(&[], None).is_empty());
        assert_eq!(ranges(&[0, 0, 9, 3], None), [0..3, 3..4]);
    }

    #[test]
    fn some_files_keep_the_numbers_of_their_pieces() {
        let file = |number, file| Piece { number, file, extent: Extent::Whole };
        let pieces = vec![file(0, 0), file(1, 1), file(2, 2), file(3, 2), file(4, 3)];
        let splits = Splits { pieces, ranges: vec![0..2, 2..3, 3..4, 4..5] };
        let (kept, files) = splits.of_files(|file| file == 0 || file == 2);
        assert_eq!(kept.pieces, [file(0, 0), file(2, 1), file(3, 1)]);
        assert_eq!((kept.ranges, files), (vec![0..1, 1..2, 2..3], vec![0, 2]));
    }

    #[test]
    fn the_pieces_before_one_are_those_of_its_file() {
        let file = |file| Piece { number: 0, file, extent: Extent::Whole };
        let splits = Splits { pieces: vec![file(0), file(1), file(1), file(1), file(2)], ranges: vec![] };
        assert_eq!([0, 1, 3, 4].map(|piece| splits.before(piece)), [0..0, 1..1, 1..3, 4..4]);
    }

    #[test]
    fn picked_splits_keep_their_numbers_and_know_what_comes_before() {
        let files: Vec<SourceFile> = [4, 35, 4]
            .map(|size_bytes| SourceFile {
                path: "x".into(),
                name: "x".into(),
                size_bytes,
                modified: None,
                etag: None,
                partitions: Vec::new(),
            })
            .into();
        let size = SplitSize { block_bytes: NonZeroUsize::new(10).unwrap(), max_files: None };
        let splits = Splits::plan(&files, size, |file| byte_ranges(files[file].size_bytes, 10));
        let (picked, files) = splits.pick(3..6);
        let bytes = |number, start, end| Piece { number, file: 0, extent: Extent::Bytes { start, end } };
        let last = Piece { number: 5, file: 1, extent: Extent::Whole };
        assert_eq!(picked.pieces, [bytes(3, 0, 20), bytes(3, 20, 30), bytes(4, 30, u64::MAX), last]);
        assert_eq!((picked.ranges, files), (vec![1..2, 2..3, 3..4], vec![1, 2]));
    }
}
