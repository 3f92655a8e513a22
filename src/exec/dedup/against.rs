//! The index that a run is held against: what it has seen before, and what this run adds to it.
//!
//! Keys come in ascending order and go through the index side by side with its own. What is added is staged, and
//! becomes part of the index when the run has ended well (`RunLog::commit`): otherwise the same documents, read again,
//! would be duplicates of themselves.

use super::fates::Names;
use super::work::Work;
use crate::dedup::index::{Appender, Index, IndexCursor, IndexNames, IndexParameters, IndexWriter, StagedAppend};
use crate::dedup::{AgainstMode, Budget};
use crate::{Result, bug};
use std::path::Path;
use std::sync::Arc;

/// An opened index.
pub(super) struct SeenBefore {
    cursor: IndexCursor,
    appender: Option<Appender>,
    names: IndexNames,
}

impl SeenBefore {
    /// The index that the request names, if it names one. A missing one is made, unless it is only to be read.
    pub fn open(work: &Work, budget: &Arc<dyn Budget>) -> Result<Option<Self>> {
        let Some(against) = &work.request.against else { return Ok(None) };
        let Some(parameters) = IndexParameters::of(&work.request.method) else {
            return Err(bug!("{} has no index", work.request.label));
        };
        let path = Path::new(&against.path);
        let (index, appender) = match against.mode {
            AgainstMode::ReadOnly => (Arc::new(Index::open_for(path, &parameters)?), None),
            AgainstMode::Append => {
                let writer = IndexWriter::open(path, &parameters)?;
                (Arc::clone(writer.index()), Some(writer.appender()?))
            }
        };
        Ok(Some(Self { cursor: index.cursor(budget)?, names: index.names(budget)?, appender }))
    }

    /// The first document of the index that has this key; if there is none, `row` is it from now on. Keys ascend.
    pub fn look_up<const K: usize>(&mut self, key: &[u64], row: u64) -> Result<Option<u64>> {
        let Ok(key) = <[u64; K]>::try_from(key) else { return Err(bug!("a key of {} words", key.len())) };
        let found = self.cursor.seek(key)?;
        if let (None, Some(appender)) = (found, &mut self.appender) {
            let ordinal = appender.first_ordinal() + row;
            appender.push_record(key, ordinal)?;
        }
        Ok(found)
    }

    /// What this run adds, ready to become part of the index; and the names of the documents that were there before.
    pub fn stage(self, n_rows: u64, names: &Names) -> Result<(Option<StagedAppend>, IndexNames)> {
        let staged = match self.appender {
            Some(mut appender) => {
                if names.are_known() {
                    for row in 0..n_rows {
                        appender.push_name(Some(&names.of(row)?))?;
                    }
                }
                Some(appender.stage(n_rows)?)
            }
            None => None,
        };
        Ok((staged, self.names))
    }
}
