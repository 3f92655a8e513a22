//! Keys that an index does not have yet, held until it is known who stays for the documents that brought them.
//!
//! A document that goes leaves its keys behind: what resembles it later is a duplicate too, of the document that stayed.
//! So a key is stored with that one, and whoever asks the index is told of a document that there is. With `link = 'kept'`
//! it does not: what resembles a document that goes, and none that stays, is no duplicate.
//! Memory: 18 bytes a key and 18 a row that goes, past the budget on disk; sorted twice.

use super::append::Appender;
use crate::Result;
use crate::dedup::{Budget, Groups, Kept};
use std::sync::Arc;

/// Takes keys in any order, then who stays for whom.
pub struct NewKeys {
    budget: Arc<dyn Budget>,
    first_ordinal: u64,
    /// Row, key.
    keys: Groups<2>,
    /// Row that goes, ordinal of the document that stays.
    stays: Groups<2>,
    /// Keys of rows that go are left out.
    only_kept: bool,
}

impl NewKeys {
    /// For the rows of a run, which are `n_rows`; the first becomes document `first_ordinal`.
    pub fn new(n_rows: u64, first_ordinal: u64, budget: &Arc<dyn Budget>) -> Self {
        let (keys, stays) = (Groups::by_row(budget, n_rows), Groups::by_row(budget, n_rows));
        Self { budget: Arc::clone(budget), first_ordinal, keys, stays, only_kept: false }
    }

    /// Leaves out the keys of rows that go.
    pub fn only_of_kept(mut self) -> Self {
        self.only_kept = true;
        self
    }

    /// A key of a row.
    pub fn push(&mut self, key: u64, row: u64) -> Result<()> {
        self.keys.push([row, key])
    }

    /// What stays of the rows of a cluster. Rows of which nobody is said to stay keep their keys.
    pub fn decide(&mut self, rows: &[u64], kept: Kept) -> Result<()> {
        let ordinal = match kept {
            Kept::Row(row) => self.first_ordinal + row,
            Kept::Indexed(ordinal) => ordinal,
            Kept::Nobody => return Ok(()),
        };
        rows.iter().filter(|row| kept != Kept::Row(**row)).try_for_each(|row| self.stays.push([*row, ordinal]))
    }

    /// Adds every key, or every key of a row that stays, to the index, with the document that stays for its row.
    pub fn add_to(self, appender: &mut Appender) -> Result<()> {
        let mut stays = self.stays.finish()?.peekable();
        let mut keyed = Groups::<2>::new(&self.budget);
        for key in self.keys.finish()? {
            let [row, key] = key?;
            while stays.next_if(|stays| matches!(stays, Ok([earlier, _]) if *earlier < row)).is_some() {}
            let ordinal = match stays.peek() {
                Some(Ok([gone, _])) if *gone == row && self.only_kept => continue,
                Some(Ok([gone, ordinal])) if *gone == row => *ordinal,
                Some(Err(_)) => return stays.next().map_or(Ok(()), |error| error.map(drop)),
                _ => self.first_ordinal + row,
            };
            keyed.push([key, ordinal])?;
        }
        keyed.finish()?.for_each_record(|[key, ordinal]| appender.push_record([*key], *ordinal))
    }
}
