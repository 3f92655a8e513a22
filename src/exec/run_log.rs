//! What a run's executors have to give beside rows: staged outputs and additions to indexes, findings, notes.

use super::report::{Contamination, OutputFile};
use crate::dedup::index::StagedAppend;
use crate::sinks::{StagedOutput, WrittenFile};
use crate::store::Outbox;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// What a run's executors have to tell beside rows. Put it into the session's config as an extension.
#[derive(Default)]
pub struct RunLog {
    outbox: Option<Arc<Outbox>>,
    commits: bool,
    outputs: Mutex<Vec<StagedOutput>>,
    files: Mutex<Vec<OutputFile>>,
    dropped: Mutex<Vec<OutputFile>>,
    contamination: Mutex<Vec<Contamination>>,
    notes: Mutex<Vec<String>>,
    staged: Mutex<Vec<StagedAppend>>,
}

impl fmt::Debug for RunLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunLog").field("files", &self.files).field("dropped", &self.dropped).finish_non_exhaustive()
    }
}

impl RunLog {
    /// Of a run that stages what it makes in `outbox`, and commits that in the end, or only measures.
    pub fn new(outbox: Option<Arc<Outbox>>, commits: bool) -> Self {
        Self { outbox, commits, ..Self::default() }
    }

    /// Where the run stages what it makes; `None` if it writes no files.
    pub fn outbox(&self) -> Option<&Arc<Outbox>> {
        self.outbox.as_ref()
    }

    /// The same, only of a run that commits.
    pub fn committing_outbox(&self) -> Option<&Arc<Outbox>> {
        self.outbox().filter(|_| self.commits)
    }

    /// What is to be added to an index when the run has ended well.
    pub(crate) fn stage(&self, append: StagedAppend) {
        self.staged.lock().unwrap_or_else(PoisonError::into_inner).push(append);
    }

    /// What is to be added to indexes.
    pub(crate) fn take_appends(&self) -> Vec<StagedAppend> {
        std::mem::take(&mut *self.staged.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The files of an output, complete, are to become visible.
    pub(crate) fn stage_output(&self, output: StagedOutput) {
        if self.commits {
            extend(&self.files, output.written());
        }
        self.outputs.lock().unwrap_or_else(PoisonError::into_inner).push(output);
    }

    /// The outputs that were staged.
    pub(crate) fn take_outputs(&self) -> Vec<StagedOutput> {
        std::mem::take(&mut *self.outputs.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The files written so far, by the names that they have after the commit.
    pub fn files(&self) -> Vec<OutputFile> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The files of the drop ledger, once the run is over.
    pub fn dropped(&self) -> Vec<OutputFile> {
        self.dropped.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What was found of evaluations, once the run is over.
    pub fn contamination(&self) -> Vec<Contamination> {
        self.contamination.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What the user should know of the run beside its rows.
    pub fn notes(&self) -> Vec<String> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds something that the user should know.
    pub(crate) fn note(&self, note: String) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(note);
    }

    /// Adds what a node found.
    pub(crate) fn add_contamination(&self, found: Contamination) {
        self.contamination.lock().unwrap_or_else(PoisonError::into_inner).push(found);
    }

    /// Adds files of the drop ledger.
    pub(crate) fn add_dropped(&self, written: Vec<WrittenFile>) {
        extend(&self.dropped, written);
    }
}

fn extend(files: &Mutex<Vec<OutputFile>>, written: Vec<WrittenFile>) {
    let written =
        written.into_iter().map(|file| OutputFile { path: file.path, n_rows: file.n_rows, n_bytes: file.n_bytes });
    files.lock().unwrap_or_else(PoisonError::into_inner).extend(written);
}
