//! Which of equal spans go, and the repeats in the order of the texts.

use crate::dedup::{Budget, Groups, KeepWhich, Sorted};
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
    /// The position as it is sorted by, and back: the one that stays comes first.
    pub(super) fn order(self, position: u64) -> u64 {
        if self == Stays::Last { !position } else { position }
    }
}

/// Calls `f(position, that of the span it repeats)` for each span that goes, in no useful order. Records are a hash and
/// a position under [`Stays::order`].
pub(super) fn for_each_repeat(spans: Groups<3>, stays: Stays, mut f: impl FnMut(u64, u64) -> Result<()>) -> Result<()> {
    let mut first: Option<[u64; 3]> = None;
    let mut alone = true;
    spans.finish()?.for_each_record(|record| {
        match first {
            Some(first) if first[..2] == record[..2] => {
                if alone && stays == Stays::None {
                    f(first[2], record[2])?;
                }
                f(stays.order(record[2]), stays.order(first[2]))?;
                alone = false;
            }
            _ => (first, alone) = (Some(*record), true),
        }
        Ok(())
    })
}

/// Pairs of a position and a number, to be read in the order of the positions.
pub(super) struct ByPosition {
    pairs: Groups<2>,
}

impl ByPosition {
    /// For positions below `end`.
    pub(super) fn new(budget: &Arc<dyn Budget>, end: u64) -> Self {
        Self { pairs: Groups::by_row(budget, end) }
    }

    pub(super) fn push(&mut self, position: u64, number: u64) -> Result<()> {
        self.pairs.push([position, number])
    }

    pub(super) fn finish(self) -> Result<Replay> {
        Ok(Replay { pairs: self.pairs.finish()?.peekable() })
    }
}

/// Reads pairs document by document.
pub(super) struct Replay {
    pairs: Peekable<Sorted<2>>,
}

impl Replay {
    /// The pairs of the document at `start..end`, with positions counted from its beginning.
    pub(super) fn take(&mut self, start: u64, end: u64) -> Result<Vec<(usize, u64)>> {
        let mut taken = vec![];
        loop {
            match self.pairs.next_if(|pair| pair.as_ref().map_or(true, |[position, _]| *position < end)) {
                None => return Ok(taken),
                Some(Err(error)) => return Err(error),
                Some(Ok([position, number])) => {
                    let Some(position) = position.checked_sub(start) else {
                        return Err(bug!("a repeated span at {position} lies before the text at {start}"));
                    };
                    taken.push((position as usize, number));
                }
            }
        }
    }
}
