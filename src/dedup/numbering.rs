//! Numbers for rows that are read in several partitions at once: each row's place in the whole input, which is known when
//! all rows are there.
//!
//! ```text
//! partition 0: positions 0 1 2 │ 7 8      partition 1: positions 3 4 │ 9
//! runs:        0..3 of 0, 0..2 of 1, 3..5 of 0, 2..3 of 1     ──► numbers 0 to 7
//! ```
//! While it is read, a row is known by its partition and its place there ([`packed`]). A run is a stretch of one partition
//! that no row of another one interrupts; partitions of a scan hold whole splits, so runs are few.
//! What rows are made of, lines or bytes, can be numbered in the same way: where "row" stands here, read "unit".
//! Memory: 24 bytes a run, and while rows come some bytes for each gap between their positions, past the budget on disk.
//! Invariant: numbers depend on positions alone, not on how rows are spread over partitions.

use super::Budget;
use super::byte_log::ByteLog;
use crate::{Result, bug};
use std::sync::Arc;

/// Bits of a [`packed`] row for its place in the partition.
const PLACE_BITS: u32 = 44;
/// Positions that are read back at a time.
const READ_BYTES: usize = 16 << 10;
/// The most bytes of one number in the log.
const MOST_NUMBER_BYTES: usize = 10;
/// Numbers that the log has for a stretch.
const NUMBERS_OF_STRETCH: usize = 3;

/// A row that has no number yet, as one word.
pub fn packed(partition: usize, place: u64) -> u64 {
    (partition as u64) << PLACE_BITS | place
}

/// The positions of one partition's rows.
pub struct Positions {
    /// For each stretch of consecutive positions: how far it begins behind the one before, its length, and its units.
    stretches: ByteLog,
    /// Units are numbered, not rows.
    counts_units: bool,
    /// The stretch under way.
    first: u64,
    n_rows_in_stretch: u64,
    n_units_in_stretch: u64,
    /// Where the stretch before ended.
    end: u64,
    n_units: u64,
}

impl Positions {
    /// None yet. Rows are numbered.
    pub fn new(budget: &Arc<dyn Budget>) -> Self {
        Self {
            stretches: ByteLog::new(budget),
            counts_units: false,
            first: 0,
            n_rows_in_stretch: 0,
            n_units_in_stretch: 0,
            end: 0,
            n_units: 0,
        }
    }

    /// The same for the units of rows.
    pub fn of_units(budget: &Arc<dyn Budget>) -> Self {
        Self { counts_units: true, ..Self::new(budget) }
    }

    /// Adds the position of the next row, which is after all earlier ones.
    pub fn push(&mut self, position: u64) -> Result<()> {
        self.push_units(position, 1)
    }

    /// The same of a row of so many units.
    pub fn push_units(&mut self, position: u64, n_units: u64) -> Result<()> {
        let next = self.first + self.n_rows_in_stretch;
        if position < next {
            return Err(bug!("position {position} came after {next}"));
        }
        if position > next || self.n_rows_in_stretch == 0 {
            self.end_stretch()?;
            self.first = position;
        }
        self.n_rows_in_stretch += 1;
        self.n_units_in_stretch += n_units;
        self.n_units += n_units;
        Ok(())
    }

    fn end_stretch(&mut self) -> Result<()> {
        if self.n_rows_in_stretch == 0 {
            return Ok(());
        }
        let mut bytes = Vec::with_capacity(NUMBERS_OF_STRETCH * MOST_NUMBER_BYTES);
        write_number(self.first - self.end, &mut bytes);
        write_number(self.n_rows_in_stretch, &mut bytes);
        if self.counts_units {
            write_number(self.n_units_in_stretch, &mut bytes);
        }
        self.end = self.first + self.n_rows_in_stretch;
        (self.n_rows_in_stretch, self.n_units_in_stretch) = (0, 0);
        self.stretches.append(&bytes)
    }

    fn finish(mut self) -> Result<Stretches> {
        self.end_stretch()?;
        self.stretches.flush()?;
        let mut stretches = Stretches {
            log: self.stretches,
            counts_units: self.counts_units,
            read_to: 0,
            buffer: vec![],
            at: 0,
            end: 0,
            next: None,
            n_units: 0,
        };
        stretches.advance()?;
        Ok(stretches)
    }
}

fn write_number(mut number: u64, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// The positions of a partition, read from the first.
struct Stretches {
    log: ByteLog,
    counts_units: bool,
    read_to: u64,
    buffer: Vec<u8>,
    at: usize,
    /// The first position of the stretch under way; none after the last.
    next: Option<u64>,
    /// Where it ends.
    end: u64,
    n_units: u64,
}

impl Stretches {
    fn advance(&mut self) -> Result<()> {
        self.fill()?;
        if self.at == self.buffer.len() {
            self.next = None;
            return Ok(());
        }
        let first = self.end + self.read_number();
        let n_rows = self.read_number();
        self.n_units = if self.counts_units { self.read_number() } else { n_rows };
        self.end = first + n_rows;
        self.next = Some(first);
        Ok(())
    }

    /// At least one whole stretch, if there is one.
    fn fill(&mut self) -> Result<()> {
        let n_unread = self.log.len_bytes() - self.read_to;
        if self.buffer.len() - self.at >= NUMBERS_OF_STRETCH * MOST_NUMBER_BYTES || n_unread == 0 {
            return Ok(());
        }
        self.buffer.drain(..self.at);
        self.at = 0;
        let n_bytes = n_unread.min(READ_BYTES as u64) as usize;
        let n_before = self.buffer.len();
        self.buffer.resize(n_before + n_bytes, 0);
        self.log.read_at(self.read_to, &mut self.buffer[n_before..])?;
        self.read_to += n_bytes as u64;
        Ok(())
    }

    fn read_number(&mut self) -> u64 {
        let (mut number, mut shift) = (0, 0);
        while let Some(byte) = self.buffer.get(self.at) {
            self.at += 1;
            number |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
        number
    }
}

/// Rows of one partition that no row of another interrupts.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Stretch {
    partition: usize,
    /// Its first row's place in the partition.
    place: u64,
    /// Its first row's number.
    number: u64,
}

/// The numbers of all rows.
#[derive(Debug)]
pub struct Numbering {
    /// Ascending by number.
    runs: Vec<Stretch>,
    /// Of each partition, places and numbers, ascending.
    of_partitions: Vec<Vec<(u64, u64)>>,
    n_rows: u64,
}

impl Numbering {
    /// One partition: a row's number is its place.
    pub fn of_one(n_rows: u64) -> Self {
        let run = Stretch { partition: 0, place: 0, number: 0 };
        Self { runs: vec![run], of_partitions: vec![vec![(0, 0)]], n_rows }
    }

    /// By the positions of all rows.
    pub fn new(positions: Vec<Positions>) -> Result<Self> {
        let n_rows = positions.iter().map(|positions| positions.n_units).sum();
        let mut partitions = positions.into_iter().map(Positions::finish).collect::<Result<Vec<_>>>()?;
        let mut places = vec![0; partitions.len()];
        let mut of_partitions = vec![vec![]; partitions.len()];
        let (mut runs, mut number) = (vec![], 0);
        loop {
            let heads = partitions.iter().enumerate();
            let mut heads: Vec<(u64, usize)> =
                heads.filter_map(|(partition, rows)| Some((rows.next?, partition))).collect();
            heads.sort_unstable();
            let Some(&(_, partition)) = heads.first() else { break };
            let limit = heads.get(1).map_or(u64::MAX, |(next, _)| *next);
            runs.push(Stretch { partition, place: places[partition], number });
            of_partitions[partition].push((places[partition], number));
            let rows = &mut partitions[partition];
            loop {
                // No row of another partition lies within a stretch of consecutive positions.
                if rows.end > limit {
                    return Err(bug!("two rows have the position {limit}"));
                }
                places[partition] += rows.n_units;
                number += rows.n_units;
                rows.advance()?;
                if rows.next.is_none_or(|next| next >= limit) {
                    break;
                }
            }
        }
        Ok(Self { runs, of_partitions, n_rows })
    }

    /// How many rows there are.
    pub fn n_rows(&self) -> u64 {
        self.n_rows
    }

    /// How many partitions there are.
    pub fn n_partitions(&self) -> usize {
        self.of_partitions.len()
    }

    /// The number of a partition's row. A row past its last one has the number past the last one's.
    pub fn number_of(&self, partition: usize, place: u64) -> u64 {
        let runs = &self.of_partitions[partition];
        let run = runs.partition_point(|(first, _)| *first <= place).checked_sub(1);
        run.map_or(0, |run| runs[run].1 + (place - runs[run].0))
    }

    /// The number of a [`packed`] row.
    pub fn number_of_packed(&self, row: u64) -> u64 {
        self.number_of((row >> PLACE_BITS) as usize, row & ((1 << PLACE_BITS) - 1))
    }

    /// The partition of a row, and its place there.
    pub fn place_of(&self, number: u64) -> (usize, u64) {
        let run = self.runs.partition_point(|run| run.number <= number).checked_sub(1);
        run.map_or((0, 0), |run| {
            let run = self.runs[run];
            (run.partition, run.place + (number - run.number))
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::dedup::FixedBudget;

    fn numbering(partitions: &[Vec<u64>], memory: usize) -> Numbering {
        let budget: Arc<dyn Budget> = Arc::new(FixedBudget::of(memory, 1));
        let log = |positions: &Vec<u64>| {
            let mut log = Positions::new(&budget);
            positions.iter().for_each(|position| log.push(*position).unwrap());
            log
        };
        Numbering::new(partitions.iter().map(log).collect()).unwrap()
    }

    #[test]
    fn numbers_follow_positions_whichever_partition_has_them() {
        let mut state = 7_u64;
        for n_partitions in [1, 2, 5] {
            let mut partitions: Vec<Vec<u64>> = vec![vec![]; n_partitions];
            let (mut all, mut position) = (vec![], 0_u64);
            for _ in 0..20_000 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                position += match state >> 60 {
                    0 => 1 << 40,
                    1..4 => (state >> 50) % 300 + 1,
                    _ => 1,
                };
                let partition = (position >> 7) as usize % n_partitions;
                all.push((partition, partitions[partition].len() as u64));
                partitions[partition].push(position);
            }
            for memory in [usize::MAX, 0] {
                let numbering = numbering(&partitions, memory);
                assert_eq!(numbering.n_rows(), all.len() as u64);
                for (number, (partition, place)) in (0..).zip(all.iter().copied()) {
                    assert_eq!(numbering.number_of(partition, place), number);
                    assert_eq!(numbering.number_of_packed(packed(partition, place)), number);
                    assert_eq!(numbering.place_of(number), (partition, place));
                }
            }
        }
    }

    #[test]
    fn units_of_rows_are_numbered_through_all_partitions() {
        let budget: Arc<dyn Budget> = Arc::new(FixedBudget::new());
        let log = |rows: &[(u64, u64)]| {
            let mut log = Positions::of_units(&budget);
            rows.iter().for_each(|(position, n_units)| log.push_units(*position, *n_units).unwrap());
            log
        };
        // Rows of 3, 0, 2 │ 4 units, and between them of 0 │ 5.
        let partitions = vec![log(&[(0, 3), (1, 0), (2, 2), (9, 4)]), log(&[(3, 0), (7, 5)])];
        let numbering = Numbering::new(partitions).unwrap();
        assert_eq!(numbering.n_rows(), 14);
        let numbers = |partition, n: u64| (0..n).map(|at| numbering.number_of(partition, at)).collect::<Vec<_>>();
        assert_eq!(numbers(0, 9), [0, 1, 2, 3, 4, 10, 11, 12, 13]);
        assert_eq!(numbers(1, 5), [5, 6, 7, 8, 9]);
        assert_eq!([4, 5, 9, 10].map(|number| numbering.place_of(number)), [(0, 4), (1, 0), (1, 4), (0, 5)]);
    }

    #[test]
    fn whole_splits_make_few_runs_and_empty_partitions_none() {
        let numbering = numbering(&[(0..100).chain(300..400).collect(), vec![], (100..300).step_by(3).collect()], 0);
        assert_eq!(numbering.runs.len(), 3);
        assert_eq!((numbering.number_of(0, 100), numbering.number_of(0, 200)), (167, 267));
        assert_eq!(Numbering::of_one(9).place_of(8), (0, 8));
    }

    #[test]
    fn positions_that_fall_or_stand_twice_are_refused() {
        let budget: Arc<dyn Budget> = Arc::new(FixedBudget::new());
        let mut one = Positions::new(&budget);
        one.push(5).unwrap();
        assert!(one.push(5).is_err() && one.push(4).is_err());
        let mut other = Positions::new(&budget);
        other.push(5).unwrap();
        let mut five = Positions::new(&budget);
        five.push(5).unwrap();
        assert!(Numbering::new(vec![five, other]).is_err());
    }
}
