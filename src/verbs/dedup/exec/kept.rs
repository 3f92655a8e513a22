//! What a deduplication has decided, in a run that keeps its work: found out once, whichever attempt comes so far.
//!
//! ```text
//! keys ──decide──► decisions ──► a file of the run ──► carried out
//!                                      └──(the next attempt)──► carried out: no keys, no comparisons
//! ```
//! A row is known by its number in the input, which does not depend on threads.
//! Refuses what also adds to an index, or is compared with one, which may be another one by then; and `DISTINCT ON`, whose
//! rows have other numbers each time.

use super::work::{DedupCounts, DedupWork};
use crate::dedup::{DecisionReader, Method};
use crate::exec::{Checkpoints, KeptStage};
use crate::store::KeptReader;
use crate::verb::Start;
use crate::verbs::dedup::DedupRequest;
use crate::{Error, Result, bug};
use datafusion::physical_plan::metrics::Count;
use serde::{Deserialize, Serialize};
use std::io::Write;

/// What is noted beside the decisions.
#[derive(Debug, Serialize, Deserialize)]
struct Facts {
    n_rows: u64,
    /// As [`counts`] lists them.
    counts: [usize; 3],
}

/// The decisions of an earlier attempt.
pub(super) struct Decided {
    facts: Facts,
    decisions: KeptReader,
}

/// Where the decisions of a deduplication are kept; `None` if they are not.
pub(super) fn stage_of(start: &Start<'_>, request: &DedupRequest) -> Result<Option<KeptStage>> {
    let decides_rows = matches!(request.method, Method::Exact(_) | Method::Fuzzy(_) | Method::Semantic(_));
    let is_kept = decides_rows && request.against.is_none() && !request.forgets_copies;
    let checkpoints = start.context.session_config().get_extension::<Checkpoints>().filter(|_| is_kept);
    let stage = checkpoints.map(|checkpoints| KeptStage::of_verb(checkpoints, start.node, &request.label));
    Ok(stage.transpose()?.flatten())
}

impl DedupWork {
    /// What an earlier attempt decided. Without it keys are needed.
    pub(super) fn decided(&self) -> Result<Option<Decided>> {
        let kept = self.kept.as_ref().map(KeptStage::open::<Facts>).transpose()?.flatten();
        Ok(kept.map(|(facts, decisions)| Decided { facts, decisions }))
    }

    /// Keeps what was decided about so many rows, if the run keeps its work.
    pub(super) fn keep(&self, decisions: DecisionReader, n_rows: u64) -> Result<DecisionReader> {
        let Some(stage) = &self.kept else { return Ok(decisions) };
        let file = stage.keep(|file| {
            for bytes in decisions.into_bytes() {
                file.write_all(&bytes?).map_err(|error| failed(stage, &error))?;
            }
            Ok(Facts { n_rows, counts: counts(&self.counts).map(Count::value) })
        })?;
        Ok(DecisionReader::from_bytes(file))
    }
}

impl Decided {
    /// The decisions of the rows, of which there must be as many as there were.
    pub fn decisions(self, work: &DedupWork, n_rows: u64) -> Result<DecisionReader> {
        if self.facts.n_rows != n_rows {
            let label = &work.request.label;
            return Err(bug!("`{label}` decided about {} rows, and {n_rows} have come", self.facts.n_rows));
        }
        counts(&work.counts).into_iter().zip(self.facts.counts).for_each(|(count, value)| count.add(value));
        Ok(DecisionReader::from_bytes(self.decisions))
    }
}

/// The counters of what is not done again.
fn counts(counts: &DedupCounts) -> [&Count; 3] {
    [&counts.candidates, &counts.verified, &counts.clusters]
}

fn failed(stage: &KeptStage, error: &dyn std::fmt::Display) -> Error {
    Error::Data(format!("what `{stage}` decided could not be kept for `--resume`, or not be read again: {error}"))
}
