//! A finished stage of a verb: what it decided about all of its rows, kept for another attempt of the same run.
//!
//! Rows come to a verb again from their units; what it decided about them need not be found out again.
//! Invariant: a stage is that of the same verb in the same plan (`session::journal`), and says of how many rows it is.
//! Not here: what a verb writes down (`verbs`).

use super::Checkpoints;
use crate::store::{KeptFile, KeptPart, KeptReader};
use crate::verb::VerbExec;
use crate::{Error, Result};
use datafusion::physical_plan::ExecutionPlan;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A stage is one thing: it is kept whole, or not.
const WHOLE: usize = 0;
const FILE: &str = "decisions";

/// Where one verb of a run keeps what it decides.
#[derive(Debug)]
pub struct KeptStage {
    checkpoints: Arc<Checkpoints>,
    part: KeptPart,
    /// The verb as EXPLAIN shows it.
    label: String,
}

/// What is noted of a stage beside its file.
#[derive(Debug, Serialize, Deserialize)]
struct Facts<T> {
    label: String,
    facts: T,
}

/// The verbs of a plan, the nearest to a source first.
pub(super) fn verbs_of(plan: &Arc<dyn ExecutionPlan>) -> Vec<usize> {
    let mut found: Vec<usize> = plan.children().into_iter().flat_map(verbs_of).collect();
    found.extend(plan.downcast_ref::<VerbExec>().map(VerbExec::id));
    found
}

impl KeptStage {
    /// Of a verb of the plan that is run; `None` if nobody knows which one it is.
    pub fn of_verb(checkpoints: Arc<Checkpoints>, node: usize, label: &str) -> Result<Option<Self>> {
        let Some(number) = checkpoints.number_of_verb(node) else { return Ok(None) };
        let part = checkpoints.kept.part(&format!("stage-{number}"))?;
        Ok(Some(Self { checkpoints, part, label: label.into() }))
    }

    /// What an earlier attempt decided, if it came so far.
    pub fn open<T: DeserializeOwned>(&self) -> Result<Option<(T, KeptReader)>> {
        let Some((Facts { label, facts }, mut files)) = self.part.open::<Facts<T>>(WHOLE)? else { return Ok(None) };
        match files.pop() {
            Some(file) if label == self.label => {
                self.checkpoints.n_stages_kept.fetch_add(1, Ordering::Relaxed);
                Ok(Some((facts, file)))
            }
            _ => Ok(None),
        }
    }

    /// Keeps what `write` writes down, and gives it to be read.
    pub fn keep<T: Serialize + DeserializeOwned>(
        &self,
        write: impl FnOnce(&mut KeptFile) -> Result<T>,
    ) -> Result<KeptReader> {
        let mut file = self.part.create(WHOLE, FILE)?;
        let facts = write(&mut file)?;
        file.flush().map_err(|error| Error::io(file.path(), error))?;
        self.part.complete(WHOLE, vec![file], Facts { label: self.label.clone(), facts })?;
        let kept = self.part.open::<Facts<T>>(WHOLE)?;
        let file = kept.and_then(|(_, mut files)| files.pop());
        file.ok_or_else(|| Error::Data(format!("what `{}` decided could not be kept for `--resume`", self.label)))
    }
}

impl fmt::Display for KeptStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.label)
    }
}
