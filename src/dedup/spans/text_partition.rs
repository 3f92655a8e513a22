//! One partition of the texts, as it goes through the passes.

use super::finder::{Outcome, Tally};
use super::repeats::Replay;
use crate::dedup::{Budget, Numbering, Positions, packed};
use crate::{Result, bug};
use std::sync::Arc;

/// Where a partition stands in the pass under way, and what was found in its texts.
pub struct TextPartition {
    number: usize,
    is_alone: bool,
    /// Where its texts are among those of all partitions, until that is known.
    positions: Option<Positions>,
    /// Units of the texts that this pass went through.
    n_units: u64,
    found: Option<Replay>,
    tally: Tally,
}

impl TextPartition {
    /// All partitions of a corpus, before the first pass.
    pub fn all(n_partitions: usize, budget: &Arc<dyn Budget>) -> Vec<Self> {
        let is_alone = n_partitions == 1;
        let partition = |number| Self {
            number,
            is_alone,
            positions: if is_alone { None } else { Some(Positions::of_units(budget)) },
            n_units: 0,
            found: None,
            tally: Tally::default(),
        };
        (0..n_partitions).map(partition).collect()
    }

    /// What was found in the texts that [`cut`](super::SpanFinder::cut) was shown.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    pub(super) fn number(&self) -> usize {
        self.number
    }

    /// No other partition keeps the other threads busy.
    pub(super) fn is_alone(&self) -> bool {
        self.is_alone
    }

    pub(super) fn n_units(&self) -> u64 {
        self.n_units
    }

    /// A unit of this partition, until it has a number.
    pub(super) fn packed(&self, unit: u64) -> u64 {
        packed(self.number, unit)
    }

    /// Goes past the next text, which stands at `position` and has so many units; returns its first unit.
    pub(super) fn pass(&mut self, position: Option<&u64>, n_units: u64) -> Result<u64> {
        match (&mut self.positions, position) {
            (Some(positions), Some(position)) => positions.push_units(*position, n_units)?,
            (Some(_), None) => return Err(bug!("a text of several partitions without a position")),
            (None, _) => {}
        }
        let start = self.n_units;
        self.n_units += n_units;
        Ok(start)
    }

    /// The same, with what was found in the text: units counted from its beginning, and a number.
    pub(super) fn pass_found(&mut self, n_units: u64) -> Result<Vec<(usize, u64)>> {
        let start = self.pass(None, n_units)?;
        self.found.as_mut().map_or(Ok(vec![]), |found| found.take(start, start + n_units))
    }

    /// Back to the first text, now with what was found.
    pub(super) fn go_back(&mut self, found: Replay) {
        (self.n_units, self.found) = (0, Some(found));
    }

    pub(super) fn count(&mut self, outcomes: &[Outcome]) {
        outcomes.iter().for_each(|outcome| self.tally.count(outcome));
    }
}

/// The numbers of all units, when all texts were seen.
pub(super) fn number_units(partitions: &mut [TextPartition]) -> Result<Arc<Numbering>> {
    let positions: Option<Vec<Positions>> = partitions.iter_mut().map(|partition| partition.positions.take()).collect();
    Ok(Arc::new(match positions {
        Some(positions) => Numbering::new(positions)?,
        None => Numbering::of_one(partitions.iter().map(TextPartition::n_units).sum()),
    }))
}
