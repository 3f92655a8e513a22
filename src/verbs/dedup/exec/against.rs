//! The index that a run is compared with: what it has seen before, and what this run adds to it.
//!
//! Keys come in ascending order and go through the index side by side with its own. What is added is staged, and
//! becomes part of the index when the run commits: otherwise the same documents, read again,
//! would be duplicates of themselves.

use super::decisions::Names;
use super::work::DedupWork;
use crate::dedup::index::{Appender, Index, IndexCursor, IndexNames, IndexParameters, IndexWriter, StagedAppend};
use crate::dedup::{AgainstMode, Budget};
use crate::{Result, bug};
use std::path::Path;
use std::sync::Arc;

/// An opened index.
pub(super) struct SeenBefore {
    index: Arc<Index>,
    /// Where keys are looked up; none in an index of vectors.
    cursor: Option<IndexCursor>,
    appender: Option<Appender>,
    names: IndexNames,
}

impl SeenBefore {
    /// The index that the request names, if it names one. A missing one is made, unless it is only to be read.
    pub fn open(work: &DedupWork, budget: &Arc<dyn Budget>) -> Result<Option<Self>> {
        let Some(against) = &work.request.against else { return Ok(None) };
        let Some(parameters) = IndexParameters::of(&work.request.method) else {
            return Err(bug!("{} has no index", work.request.label));
        };
        let path = Path::new(&against.path);
        let (index, appender) = match against.mode {
            AgainstMode::ReadOnly => (Arc::new(Index::open_for(path, &parameters)?), None),
            AgainstMode::Append => match work.log.as_ref().and_then(|log| log.committing_outbox()) {
                Some(outbox) => {
                    let writer = IndexWriter::open_for_run(path, &parameters, outbox)?;
                    let index = Arc::clone(writer.index());
                    (index, if writer.is_repeated() { None } else { Some(writer.appender()?) })
                }
                // Rows that are only shown are not seen: the next run must find them.
                None => (Arc::new(Index::open_or_empty(path, &parameters)?), None),
            },
        };
        let cursor = if parameters.has_vectors() { None } else { Some(index.cursor(budget)?) };
        Ok(Some(Self { cursor, names: index.names(budget)?, index, appender }))
    }

    /// What it held before this run.
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// Where this run's documents go, unless the index is only read.
    pub fn appender(&mut self) -> Option<&mut Appender> {
        self.appender.as_mut()
    }

    /// The document of the index that stays for what has this key. Keys ascend.
    pub fn find<const K: usize>(&mut self, key: [u64; K]) -> Result<Option<u64>> {
        match &mut self.cursor {
            Some(cursor) => cursor.seek(key),
            None => Err(bug!("a key for an index of vectors")),
        }
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

/// Stages what the run adds, applies the decisions with `apply`, and commits unless the run's log does so at its end.
pub(super) fn conclude(
    work: &DedupWork,
    seen_before: Option<SeenBefore>,
    n_rows: u64,
    mut names: Names,
    apply: impl FnOnce(&Names) -> Result<()>,
) -> Result<()> {
    let mut staged = None;
    if let Some(seen_before) = seen_before {
        let (append, indexed) = seen_before.stage(n_rows, &names)?;
        names.add_indexed(indexed);
        staged = append;
    }
    // Before the output, which a LIMIT may stop: what is added must not depend on how far it came.
    if let (Some(append), Some(log)) = (staged.take_if(|_| work.log.is_some()), &work.log) {
        log.stage(append);
    }
    apply(&names)?;
    staged.map_or(Ok(()), StagedAppend::commit)
}
