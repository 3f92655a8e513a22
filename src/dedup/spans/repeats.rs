//! Which of equal spans go, and the repeats in the order of the texts.

use super::text_partition::TextPartition;
use crate::dedup::shared_groups::Adder;
use crate::dedup::{Budget, Groups, KeepWhich, Numbering, SharedGroups, Sorted};
use crate::{Result, bug};
use std::iter::Peekable;
use std::sync::Arc;

/// Which of equal spans stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stays {
    First,
    Last,
    None,
}

impl From<KeepWhich> for Stays {
    fn from(which: KeepWhich) -> Self {
        match which {
            KeepWhich::First | KeepWhich::Any => Stays::First,
            KeepWhich::Last => Stays::Last,
            KeepWhich::None => Stays::None,
        }
    }
}

impl Stays {
    /// Records whose last word is a packed unit get its number, so that of equal ones the one that stays comes first.
    pub(super) fn numbered<const N: usize>(self, spans: Groups<N>, numbering: &Arc<Numbering>) -> Groups<N> {
        if self == Stays::Last { spans.numbered_from_the_end(numbering) } else { spans.numbered(numbering) }
    }

    /// The position that a record has for its last word, once it is numbered.
    pub(super) fn position(self, word: u64) -> u64 {
        if self == Stays::Last { !word } else { word }
    }
}

/// Calls `gone(position, that of the span it repeats)` for each span that goes, and adds what it gives: a position and a
/// number. Records are a hash and a unit that was numbered by [`Stays::numbered`].
pub(super) fn add_repeats(
    spans: Sorted<3>,
    stays: Stays,
    found: &ByPlace,
    gone: impl Fn(u64, u64) -> (u64, u64) + Sync,
) -> Result<()> {
    spans.par_for_each_part(|mut part| {
        let mut adder = found.adder();
        let mut first: Option<[u64; 3]> = None;
        let mut alone = true;
        part.for_each_record(|record| {
            match first {
                Some(first) if first[..2] == record[..2] => {
                    let (at, repeated) = (stays.position(record[2]), stays.position(first[2]));
                    if alone && stays == Stays::None {
                        adder.push(gone(repeated, at))?;
                    }
                    adder.push(gone(at, repeated))?;
                    alone = false;
                }
                _ => (first, alone) = (Some(*record), true),
            }
            Ok(())
        })?;
        adder.finish()
    })
}

/// Pairs of a unit and a number, to be read in each partition in the order of its texts.
pub(super) struct ByPlace {
    numbering: Arc<Numbering>,
    pairs: SharedGroups<2>,
}

impl ByPlace {
    /// For partitions that one pass went through.
    pub(super) fn new(budget: &Arc<dyn Budget>, numbering: &Arc<Numbering>, partitions: &[TextPartition]) -> Self {
        let n_units: Vec<u64> = partitions.iter().map(TextPartition::n_units).collect();
        Self { numbering: Arc::clone(numbering), pairs: SharedGroups::by_place(budget, &n_units) }
    }

    pub(super) fn numbering(&self) -> &Arc<Numbering> {
        &self.numbering
    }

    /// A way to add, for one thread.
    pub(super) fn adder(&self) -> PlaceAdder<'_> {
        PlaceAdder { numbering: &self.numbering, pairs: self.pairs.adder() }
    }

    /// Each partition goes back to its first text, with what was found in it.
    pub(super) fn give_to(self, partitions: &mut [TextPartition]) -> Result<()> {
        for (partition, pairs) in partitions.iter_mut().zip(self.pairs.finish_each()?) {
            let pairs = if partition.is_alone() { pairs } else { pairs.on_one_thread() };
            partition.go_back(Replay { pairs: pairs.peekable() });
        }
        Ok(())
    }
}

/// One thread's way into a [`ByPlace`].
pub(super) struct PlaceAdder<'a> {
    numbering: &'a Numbering,
    pairs: Adder<'a, 2>,
}

impl PlaceAdder<'_> {
    /// Adds a position among the units of all texts, and a number.
    pub(super) fn push(&mut self, (position, number): (u64, u64)) -> Result<()> {
        let (partition, place) = self.numbering.place_of(position);
        self.push_at(partition, (place, number))
    }

    /// Adds a unit of a partition, and a number.
    pub(super) fn push_at(&mut self, partition: usize, (unit, number): (u64, u64)) -> Result<()> {
        self.pairs.push_to(partition, [unit, number])
    }

    /// Adds what was not added yet.
    pub(super) fn finish(self) -> Result<()> {
        self.pairs.finish()
    }
}

/// Reads pairs text by text.
pub(super) struct Replay {
    pairs: Peekable<Sorted<2>>,
}

impl Replay {
    /// The pairs of the text at `start..end`, with units counted from its beginning.
    pub(super) fn take(&mut self, start: u64, end: u64) -> Result<Vec<(usize, u64)>> {
        let mut taken = vec![];
        loop {
            match self.pairs.next_if(|pair| pair.as_ref().map_or(true, |[unit, _]| *unit < end)) {
                None => return Ok(taken),
                Some(Err(error)) => return Err(error),
                Some(Ok([unit, number])) => {
                    let Some(unit) = unit.checked_sub(start) else {
                        return Err(bug!("a repeated span at {unit} lies before the text at {start}"));
                    };
                    taken.push((unit as usize, number));
                }
            }
        }
    }
}
