//! Connected components of pairs on disk, in a few passes over them and without a sort.
//!
//! Rows are cut into ranges, each as large as memory allows, and pairs lie by the range of their larger row.
//!
//! ```text
//! from the last range down   unite the pairs inside the range; a cluster C hangs on u, the smallest row before the range
//!                            that it has a pair with; every other pair of C with a row x before becomes the pair (x, u)
//! from the first range up    a cluster has the smallest row of what it hangs on, which is known by then
//! ```
//! What was connected through C still is, so a range can be forgotten once it was looked at: of C there is left where it
//! hangs. Pairs never become more, and a pair moves on to an earlier range or is gone: with r ranges a pair is read 2·r
//! times at worst. A chain or a star is read about 4 times however many ranges there are, random pairs 2·(1 + ln r) times.
//! Memory: 8 bytes for each row of a range, at least a 256th of all rows.

use super::Budget;
use super::claim::Claim;
use super::groups::{Groups, N_PARTS};
use super::spill_file::SpillFile;
use crate::{Error, Result};
use std::ops::Range;
use std::sync::Arc;

/// In a forest: not a row before the range.
const NOWHERE: u64 = ROOT - 1;
/// Marks roots.
const ROOT: u64 = 1 << 63;

/// Used without asking when there is no memory at all: enough for 134 million rows.
const UNASKED_BYTES: usize = 4 << 20;

/// What the work was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Passes {
    /// Ranges that rows were cut into.
    pub(super) n_ranges: usize,
    /// Pairs that were read, each as often as it was.
    pub(super) n_read: u64,
}

/// Calls `f` with each row that is not the smallest of its component, ascending, and the smallest. `pairs` are by row,
/// each as (larger, smaller).
pub(super) fn for_each_child(
    mut pairs: Groups<2>,
    n_rows: u64,
    budget: &Arc<dyn Budget>,
    mut f: impl FnMut(u64, u64) -> Result<()>,
) -> Result<Passes> {
    let mut claim = Claim::none(budget);
    let parts_a_range = parts_a_range(&mut pairs, n_rows, &mut claim)?;
    let mut ranges: Vec<RangeOfRows> = Vec::new();
    for first in (0..N_PARTS).step_by(parts_a_range) {
        let parts = first..first + parts_a_range;
        let rows = pairs.smallest_of(first).min(n_rows)..pairs.smallest_of(parts.end).min(n_rows);
        ranges.extend((!rows.is_empty()).then_some(RangeOfRows { parts, rows, offset_bytes: 0 }));
    }
    let (forests, hanging, n_read) = contract(pairs, n_rows, &mut ranges, budget)?;
    expand(forests, hanging, n_rows, &ranges, budget, &mut f)?;
    Ok(Passes { n_ranges: ranges.len(), n_read })
}

/// The rows of some parts of a [`Groups`].
struct RangeOfRows {
    parts: Range<usize>,
    rows: Range<u64>,
    /// Where its forest lies.
    offset_bytes: u64,
}

/// As many as memory is granted for, a power of two.
fn parts_a_range(pairs: &mut Groups<2>, n_rows: u64, claim: &mut Claim) -> Result<usize> {
    let mut n_parts = N_PARTS;
    loop {
        let range_rows = pairs.smallest_of(n_parts).min(n_rows);
        let n_bytes = usize::try_from(range_rows).unwrap_or(usize::MAX).saturating_mul(size_of::<u64>());
        // Distances within a range are stored in 32 bits.
        if range_rows <= u64::from(u32::MAX) && claim.try_grow(n_bytes) {
            return Ok(n_parts);
        }
        if n_parts == 1 {
            return if n_bytes <= UNASKED_BYTES { Ok(1) } else { Err(no_memory(n_bytes)) };
        }
        if n_parts == N_PARTS {
            // Pairs are read one after the other, wherever they lie; rows are not.
            pairs.spill()?;
        }
        n_parts /= 2;
    }
}

fn no_memory(n_bytes: usize) -> Error {
    Error::Data(format!("out of memory: the clusters of a DEDUP take {n_bytes} bytes\nraise the limit with --memory"))
}

/// The way down. Leaves the forest of each range in a file, and for each root that hangs on a row: (that row, root).
fn contract(
    mut pairs: Groups<2>,
    n_rows: u64,
    ranges: &mut [RangeOfRows],
    budget: &Arc<dyn Budget>,
) -> Result<(SpillFile, Groups<2>, u64)> {
    let forests = SpillFile::new(budget.as_ref())?;
    let mut hanging = Groups::<2>::by_row(budget, n_rows);
    let mut n_read = 0;
    let mut forest = Forest::for_ranges(ranges);
    for range in ranges.iter_mut().rev() {
        let first = range.rows.start;
        forest.clear((range.rows.end - first) as usize);
        let parts: Vec<_> = range.parts.clone().map(|part| pairs.take_part(part)).collect();
        for part in &parts {
            part.for_each(|&[large, small]| {
                n_read += 1;
                match small.checked_sub(first) {
                    Some(inside) => forest.unite((large - first) as usize, inside as usize),
                    None => forest.hang((large - first) as usize, small),
                }
                Ok(())
            })?;
        }
        for part in parts {
            part.for_each(|&[large, small]| {
                n_read += 1;
                if small >= first {
                    return Ok(());
                }
                let (_, hangs_on) = forest.root((large - first) as usize);
                if small == hangs_on { Ok(()) } else { pairs.push([small.max(hangs_on), small.min(hangs_on)]) }
            })?;
        }
        range.offset_bytes = forests.len_bytes();
        forest.write(&forests, budget.as_ref(), |root, hangs_on| hanging.push([hangs_on, first + root as u64]))?;
    }
    Ok((forests, hanging, n_read))
}

/// The way up.
fn expand(
    forests: SpillFile,
    mut hanging: Groups<2>,
    n_rows: u64,
    ranges: &[RangeOfRows],
    budget: &Arc<dyn Budget>,
    f: &mut impl FnMut(u64, u64) -> Result<()>,
) -> Result<()> {
    // Root, the smallest row of its component.
    let mut known = Groups::<2>::by_row(budget, n_rows);
    let mut forest = Forest::for_ranges(ranges);
    for range in ranges {
        let first = range.rows.start;
        forest.read(&forests, range.offset_bytes, (range.rows.end - first) as usize)?;
        for part in range.parts.clone() {
            known.take_part(part).for_each(|&[root, smallest]| {
                forest.hang((root - first) as usize, smallest);
                Ok(())
            })?;
        }
        let smallest_of = |forest: &Forest, row: u64| match forest.flat_root((row - first) as usize) {
            (root, NOWHERE) => first + root as u64,
            (_, smallest) => smallest,
        };
        for row in range.rows.clone() {
            let smallest = smallest_of(&forest, row);
            if smallest != row {
                f(row, smallest)?;
            }
        }
        for part in range.parts.clone() {
            hanging.take_part(part).for_each(|&[hangs_on, root]| known.push([root, smallest_of(&forest, hangs_on)]))?;
        }
    }
    Ok(())
}

/// A union-find over the rows of a range. A row holds its parent, which is smaller; a root holds the row that it hangs
/// on, marked.
struct Forest {
    rows: Vec<u64>,
}

impl Forest {
    /// With memory for the largest of the ranges, and no more.
    fn for_ranges(ranges: &[RangeOfRows]) -> Self {
        let most_rows = ranges.iter().map(|range| range.rows.end - range.rows.start).max().unwrap_or(0);
        Self { rows: Vec::with_capacity(most_rows as usize) }
    }

    fn clear(&mut self, n_rows: usize) {
        self.rows.clear();
        self.rows.resize(n_rows, ROOT | NOWHERE);
    }

    /// The root of a row and what it hangs on. Halves the path to it.
    #[inline]
    fn root(&mut self, mut row: usize) -> (usize, u64) {
        loop {
            let parent = self.rows[row];
            if parent & ROOT != 0 {
                return (row, parent & !ROOT);
            }
            let above = self.rows[parent as usize];
            if above & ROOT != 0 {
                return (parent as usize, above & !ROOT);
            }
            self.rows[row] = above;
            row = above as usize;
        }
    }

    /// The same where every row is a root or has one as parent.
    fn flat_root(&self, row: usize) -> (usize, u64) {
        let parent = self.rows[row];
        if parent & ROOT != 0 { (row, parent & !ROOT) } else { (parent as usize, self.rows[parent as usize] & !ROOT) }
    }

    #[inline]
    fn unite(&mut self, a: usize, b: usize) {
        let ((a, a_on), (b, b_on)) = (self.root(a), self.root(b));
        if a != b {
            self.rows[a.max(b)] = a.min(b) as u64;
            self.rows[a.min(b)] = ROOT | a_on.min(b_on);
        }
    }

    /// The root of a row hangs on `other`, unless on a smaller one.
    #[inline]
    fn hang(&mut self, row: usize, other: u64) {
        let (root, hangs_on) = self.root(row);
        self.rows[root] = ROOT | hangs_on.min(other);
    }

    /// Writes the root of each row. `hanging` is called with each root that hangs on something.
    fn write(
        &mut self,
        file: &SpillFile,
        budget: &dyn Budget,
        mut hanging: impl FnMut(usize, u64) -> Result<()>,
    ) -> Result<()> {
        let mut bytes = Vec::with_capacity(PIECE_ROWS * size_of::<u32>());
        for start in (0..self.rows.len()).step_by(PIECE_ROWS) {
            bytes.clear();
            for row in start..(start + PIECE_ROWS).min(self.rows.len()) {
                let (root, hangs_on) = self.root(row);
                if root == row && hangs_on != NOWHERE {
                    hanging(root, hangs_on)?;
                }
                // How far it is: below the rows of a range, which memory bounds.
                bytes.extend(((row - root) as u32).to_le_bytes());
            }
            file.append(&bytes, budget)?;
        }
        Ok(())
    }

    /// Reads what was written. Roots hang on nothing yet.
    fn read(&mut self, file: &SpillFile, offset_bytes: u64, n_rows: usize) -> Result<()> {
        self.clear(n_rows);
        let mut bytes = vec![0; PIECE_ROWS * size_of::<u32>()];
        for start in (0..n_rows).step_by(PIECE_ROWS) {
            let n_bytes = PIECE_ROWS.min(n_rows - start) * size_of::<u32>();
            file.read_at(offset_bytes + (start * size_of::<u32>()) as u64, &mut bytes[..n_bytes])?;
            let distances = bytes[..n_bytes].as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes));
            for (row, distance) in (start..).zip(distances).filter(|(_, distance)| *distance > 0) {
                self.rows[row] = (row - distance as usize) as u64;
            }
        }
        Ok(())
    }
}

/// Rows of a forest that are written or read at a time.
const PIECE_ROWS: usize = 16 << 10;
