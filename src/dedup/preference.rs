//! The order in which `KEEP` prefers rows: each row's rank, 0 for the one that it would rather keep than any other.
//!
//! ```text
//! KEEP FIRST      the row's place in the input
//! KEEP LAST       the same from the end
//! KEEP … BY x     by the bytes of x, then by the place in the input
//! ```
//! Keys of any length are sorted eight bytes at a time: rows that tie go on to the next eight, and only they do.
//! Memory: nothing without `BY`; with it 16 bytes a row, and 27 while they are sorted, past the budget on disk.
//! Invariant: no key is the beginning of another (Arrow's rows are not), so that ties end in equal keys.

use super::groups::{Cut, Groups};
use super::row_store::StoredRows;
use super::survivors::Chooser;
use super::word_log::WordLog;
use super::{Budget, KeepWhich};
use crate::{Result, bug};
use std::sync::Arc;

/// Ranks of rows.
pub struct Preference {
    n_rows: u64,
    is_last: bool,
    by: Option<ByKey>,
}

/// The rows in the order of their keys, and the place that each row has there.
struct ByKey {
    rows: WordLog,
    places: WordLog,
}

impl Preference {
    /// As the chooser chooses.
    pub fn new(chooser: Chooser<'_>, n_rows: u64, budget: &Arc<dyn Budget>) -> Result<Self> {
        let keys = chooser.keys.filter(|_| matches!(chooser.which, KeepWhich::First | KeepWhich::Last));
        let by = keys.map(|keys| ByKey::sort(keys, n_rows, budget)).transpose()?;
        Ok(Self { n_rows, is_last: chooser.which == KeepWhich::Last, by })
    }

    /// How many rows there are.
    pub fn n_rows(&self) -> u64 {
        self.n_rows
    }

    /// True if each row's rank is its number.
    pub fn is_input_order(&self) -> bool {
        self.by.is_none() && !self.is_last
    }

    /// The rank of a row.
    pub fn rank_of(&self, row: u64) -> Result<u64> {
        let place = match &self.by {
            Some(by) => by.places.get(row)?,
            None => row,
        };
        Ok(self.turned(place))
    }

    /// The row that has a rank.
    pub fn row_at(&self, rank: u64) -> Result<u64> {
        let place = self.turned(rank);
        self.by.as_ref().map_or(Ok(place), |by| by.rows.get(place))
    }

    /// The rank of a place, or the place of a rank: `KEEP LAST` counts from the end.
    fn turned(&self, place: u64) -> u64 {
        if self.is_last { self.n_rows - 1 - place } else { place }
    }
}

impl ByKey {
    fn sort(keys: &StoredRows, n_rows: u64, budget: &Arc<dyn Budget>) -> Result<Self> {
        let mut by_place = Groups::<2>::by_row(budget, n_rows);
        let mut by_row = Groups::<2>::by_row(budget, n_rows);
        for_each_sorted(keys, n_rows, budget, |place, row| {
            by_place.push([place, row])?;
            by_row.push([row, place])
        })?;
        Ok(Self { rows: listed(by_place, n_rows, budget)?, places: listed(by_row, n_rows, budget)? })
    }
}

/// The second numbers of records whose first ones are 0, 1, 2, …
fn listed(records: Groups<2>, n_rows: u64, budget: &Arc<dyn Budget>) -> Result<WordLog> {
    let mut list = WordLog::new(budget);
    records.finish()?.for_each_record(|&[place, value]| {
        if place != list.len() {
            return Err(bug!("place {place} of KEEP BY after {} rows", list.len()));
        }
        list.push(value)
    })?;
    if list.len() != n_rows {
        return Err(bug!("{} of {n_rows} rows have a place in KEEP BY", list.len()));
    }
    list.flush()?;
    Ok(list)
}

/// Calls `f` with the place of each row in the order of keys, then rows; in no particular order.
fn for_each_sorted(
    keys: &StoredRows,
    n_rows: u64,
    budget: &Arc<dyn Budget>,
    mut f: impl FnMut(u64, u64) -> Result<()>,
) -> Result<()> {
    // The first place of those that tie so far, the next eight bytes, the row.
    let mut level = Groups::<3>::with_cut(budget, Cut::between(1, 0, u64::MAX));
    for row in 0..n_rows {
        level.push([0, eight_bytes(keys, row, 0)?.0, row])?;
    }
    let mut n_compared = 8;
    while level.n_records() > 0 {
        let mut next = Groups::<3>::by_row(budget, n_rows);
        let mut sorted = level.finish()?.peekable();
        let (mut before, mut place, mut first_of_tie) = (None, 0, 0);
        while let Some(record) = sorted.next() {
            let [class, word, row] = record?;
            place = if before.is_some_and(|(earlier, _)| earlier == class) { place + 1 } else { class };
            let ties_before = before == Some((class, word));
            let ties_after = matches!(sorted.peek(), Some(Ok([other, next, _])) if (*other, *next) == (class, word));
            before = Some((class, word));
            first_of_tie = if ties_before { first_of_tie } else { place };
            let (word, has_more) =
                if ties_before || ties_after { eight_bytes(keys, row, n_compared)? } else { (0, false) };
            if has_more { next.push([first_of_tie, word, row])? } else { f(place, row)? }
        }
        level = next;
        n_compared += 8;
    }
    Ok(())
}

/// Eight bytes of a row's key as a number that compares as they do, and whether the key goes so far.
fn eight_bytes(keys: &StoredRows, row: u64, start: u64) -> Result<(u64, bool)> {
    let mut bytes = [0; 8];
    let len_bytes = keys.get_from(row, start, &mut bytes)?;
    Ok((u64::from_be_bytes(bytes), len_bytes > start))
}
