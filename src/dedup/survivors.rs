//! Chooses the row of each cluster that stays, and gives the decision of every clustered row in row order.
//!
//! Memory: 45 bytes for each row that has a duplicate ([`Survivors::memory_bytes`]), past the budget on disk. Rows
//! without one have no decision: they stay.
//! Invariant: the same clusters and keys give the same decisions.

use super::groups::Groups;
use super::numbering::Numbering;
use super::row_store::StoredRows;
use super::word_log::WordLog;
use super::{Budget, KeepWhich};
use crate::{Error, Result};
use std::io::{self, BufRead, BufReader, Read};
use std::iter::Peekable;
use std::sync::Arc;

/// What a fate takes on disk.
const RECORD_BYTES: usize = 5 * size_of::<u64>();

/// What is read at a time of decisions that were kept.
const READ_BYTES: usize = 128 << 10;

/// What stays of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// A row of this run.
    Row(u64),
    /// A document of an index, by its number there; no row of this run stays.
    Indexed(u64),
    /// Nothing: `KEEP NONE`.
    Nobody,
}

/// What becomes of a row that has a duplicate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decision {
    /// The row.
    pub row: u64,
    /// What stays of its cluster.
    pub kept: Kept,
    /// The smallest row of its cluster.
    pub cluster: u64,
    /// Rows of this run in the cluster.
    pub size: u64,
    /// How similar it is to what stays, where that was asked for.
    pub similarity: Option<f64>,
}

impl Decision {
    /// True if this is the row that stays.
    pub fn is_kept(&self) -> bool {
        self.kept == Kept::Row(self.row)
    }

    fn to_record(self) -> [u64; 5] {
        let (tag, kept) = match self.kept {
            Kept::Row(row) => (0, row),
            Kept::Indexed(ordinal) => (1, ordinal),
            Kept::Nobody => (2, 0),
        };
        let similarity = self.similarity.unwrap_or(f64::NAN).to_bits();
        [self.row, kept, self.cluster, self.size << 2 | tag, similarity]
    }

    fn from_record([row, kept, cluster, size, similarity]: [u64; 5]) -> Self {
        let kept = match size & 3 {
            0 => Kept::Row(kept),
            1 => Kept::Indexed(kept),
            _ => Kept::Nobody,
        };
        let similarity = Some(f64::from_bits(similarity)).filter(|similarity| !similarity.is_nan());
        Self { row, kept, cluster, size: size >> 2, similarity }
    }
}

/// How the row that stays is chosen.
#[derive(Clone, Copy)]
pub struct Chooser<'a> {
    /// The end of the cluster's order that stays.
    pub which: KeepWhich,
    /// What the rows of a cluster are ordered by, before their place in the input: bytes that compare as the values do.
    pub keys: Option<&'a StoredRows>,
}

impl Chooser<'_> {
    /// What stays of a cluster with these rows (ascending, at least one), if the index has `indexed` of it.
    pub fn choose(&self, rows: &[u64], indexed: Option<u64>) -> Result<Kept> {
        if self.which == KeepWhich::None {
            return Ok(Kept::Nobody);
        }
        if let Some(ordinal) = indexed {
            return Ok(Kept::Indexed(ordinal));
        }
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return Ok(Kept::Nobody) };
        let Some(keys) = self.keys.filter(|_| self.which != KeepWhich::Any) else {
            return Ok(Kept::Row(if self.which == KeepWhich::Last { *last } else { *first }));
        };
        let (mut best_row, mut best_key, mut key) = (*first, Vec::new(), Vec::new());
        keys.get(best_row, &mut best_key)?;
        for row in &rows[1..] {
            keys.get(*row, &mut key)?;
            let is_better = if self.which == KeepWhich::Last { key >= best_key } else { key < best_key };
            if is_better {
                best_row = *row;
                std::mem::swap(&mut best_key, &mut key);
            }
        }
        Ok(Kept::Row(best_row))
    }
}

/// Takes clusters, in any order.
pub struct Survivors {
    decisions: Groups<5>,
    n_dropped: u64,
}

impl Survivors {
    /// For the clusters of so many rows.
    pub fn new(n_rows: u64, budget: &Arc<dyn Budget>) -> Self {
        Self { decisions: Groups::by_row(budget, n_rows), n_dropped: 0 }
    }

    /// Memory that so many rows with duplicates need in order to stay off the disk.
    pub fn memory_bytes(n_clustered_rows: u64) -> u64 {
        Groups::<5>::memory_bytes(n_clustered_rows)
    }

    /// Decides a cluster: its rows, ascending, and what the index has of it. `similarity` is asked for each row that
    /// goes, with what stays, which is returned.
    pub fn add_cluster(
        &mut self,
        rows: &[u64],
        indexed: Option<u64>,
        chooser: Chooser<'_>,
        similarity: impl FnMut(u64, Kept) -> Result<Option<f64>>,
    ) -> Result<Kept> {
        let kept = chooser.choose(rows, indexed)?;
        self.add_decided(rows, kept, similarity)?;
        Ok(kept)
    }

    /// Writes down what stays of a cluster, whose rows are ascending.
    pub fn add_decided(
        &mut self,
        rows: &[u64],
        kept: Kept,
        mut similarity: impl FnMut(u64, Kept) -> Result<Option<f64>>,
    ) -> Result<()> {
        let Some(cluster) = rows.first().copied() else { return Ok(()) };
        for row in rows.iter().copied() {
            let mut decision = Decision { row, kept, cluster, size: rows.len() as u64, similarity: None };
            if !decision.is_kept() {
                decision.similarity = similarity(row, kept)?;
                self.n_dropped += 1;
            }
            self.decisions.push(decision.to_record())?;
        }
        Ok(())
    }

    /// Adds a decision that was decided elsewhere; one a row.
    pub fn add_decision(&mut self, decision: Decision) -> Result<()> {
        self.n_dropped += u64::from(!decision.is_kept());
        self.decisions.push(decision.to_record())
    }

    /// Rows that go.
    #[cfg(test)]
    pub fn n_dropped(&self) -> u64 {
        self.n_dropped
    }

    /// True if decisions went to disk.
    #[cfg(test)]
    pub fn has_spilled(&self) -> bool {
        self.decisions.has_spilled()
    }

    /// The decisions in row order.
    pub fn finish(self) -> Result<DecisionReader> {
        Ok(DecisionReader::of(self.decisions.finish()?))
    }
}

/// Decisions in row order.
pub struct DecisionReader {
    decisions: Peekable<Box<dyn Iterator<Item = Result<[u64; 5]>> + Send>>,
}

impl DecisionReader {
    fn of(records: impl Iterator<Item = Result<[u64; 5]>> + Send + 'static) -> Self {
        let records: Box<dyn Iterator<Item = Result<[u64; 5]>> + Send> = Box::new(records);
        Self { decisions: records.peekable() }
    }

    /// All of them as bytes, to be kept.
    pub fn into_bytes(self) -> impl Iterator<Item = Result<[u8; RECORD_BYTES]>> {
        self.decisions.map(|record| {
            let mut bytes = [0; RECORD_BYTES];
            bytes.as_chunks_mut().0.iter_mut().zip(record?).for_each(|(bytes, word)| *bytes = word.to_le_bytes());
            Ok(bytes)
        })
    }

    /// Those whose bytes were kept.
    pub fn from_bytes(from: impl Read + Send + 'static) -> Self {
        let mut from = BufReader::with_capacity(READ_BYTES, from);
        let mut next = move || -> io::Result<Option<[u64; 5]>> {
            if from.fill_buf()?.is_empty() {
                return Ok(None);
            }
            let mut bytes = [0; RECORD_BYTES];
            from.read_exact(&mut bytes)?;
            let words = bytes.as_chunks().0;
            Ok(Some(std::array::from_fn(|at| u64::from_le_bytes(words[at]))))
        };
        let unreadable = |error: io::Error| Error::Data(format!("kept decisions cannot be read: {error}"));
        Self::of(std::iter::from_fn(move || next().map_err(unreadable).transpose()))
    }

    /// The decisions of each partition's rows.
    pub fn of_partitions(self, numbering: &Numbering, budget: &Arc<dyn Budget>) -> Result<Vec<DecisionReader>> {
        if numbering.n_partitions() == 1 {
            return Ok(vec![self]);
        }
        let mut dealt: Vec<WordLog> = (0..numbering.n_partitions()).map(|_| WordLog::new(budget)).collect();
        for record in self.decisions {
            let record = record?;
            let (partition, _) = numbering.place_of(record[0]);
            record.into_iter().try_for_each(|word| dealt[partition].push(word))?;
        }
        let reader = |mut log: WordLog| {
            log.flush()?;
            Ok(Self::of(log.into_records()))
        };
        dealt.into_iter().map(reader).collect()
    }

    /// The decision of `row`; none if it has no duplicate. Rows are asked for in ascending order.
    pub fn next_for(&mut self, row: u64) -> Result<Option<Decision>> {
        while self.decisions.next_if(|decision| matches!(decision, Ok(record) if record[0] < row)).is_some() {}
        let decision = self.decisions.next_if(|decision| !matches!(decision, Ok(record) if record[0] > row));
        Ok(decision.transpose()?.map(Decision::from_record))
    }
}

impl Iterator for DecisionReader {
    type Item = Result<Decision>;

    fn next(&mut self) -> Option<Result<Decision>> {
        self.decisions.next().map(|decision| decision.map(Decision::from_record))
    }
}
