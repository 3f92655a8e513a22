//! Everything that a run makes, over all places, until one commit makes it visible.

use super::claim::{Changes, Claim};
use super::location::Location;
use super::objects::connect;
use super::real_path;
use super::record::{AnyPath, Part, Record};
use super::remote::Completion;
use crate::{Error, Result};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The places of a run and what it has staged there. Dropped without a commit, all of it is gone.
#[derive(Debug)]
pub struct Outbox {
    run: String,
    claims: Mutex<Vec<Arc<Claim>>>,
}

impl Outbox {
    /// The outbox of the run of this name, which becomes part of file names.
    pub fn new(run: impl Into<String>) -> Self {
        Self { run: run.into(), claims: Mutex::default() }
    }

    /// The name of the run.
    pub fn run(&self) -> &str {
        &self.run
    }

    /// Takes a place for this run, or gives it again. Fails if another run has it.
    pub fn claim(&self, location: &Location) -> Result<Arc<Claim>> {
        let mut claims = self.claims();
        let area = real_path(&location.area);
        if let Some(known) = claims.iter().find(|claim| claim.location.area == area) {
            return Ok(Arc::clone(known));
        }
        connect(&location.shown).map_err(|error| Error::io(&location.shown, error))?;
        let claim = Arc::new(Claim::take(location, &self.run)?);
        claims.push(Arc::clone(&claim));
        Ok(claim)
    }

    /// Makes everything that was staged visible, all of it or nothing.
    ///
    /// An error that says that the run is committed is about what is left to do; whoever opens a place next does it.
    pub fn commit(&self) -> Result<()> {
        let claims = std::mem::take(&mut *self.claims());
        let Some(record) = self.record(&claims) else { return Ok(()) };
        claims.iter().for_each(|claim| claim.hold());
        // What the record names must outlive a power cut that the record outlives.
        claims.iter().try_for_each(|claim| claim.make_sure())?;
        record.write()?;
        claims.iter().for_each(|claim| claim.mark_committed());
        let done = record.carry_out().and_then(|()| record.remove());
        done.map_err(|error| unfinished(&claims, &error))?;
        claims.iter().for_each(|claim| claim.clear());
        Ok(())
    }

    /// Everything that is to change; `None` if nothing is.
    pub(super) fn record(&self, claims: &[Arc<Claim>]) -> Option<Record> {
        let parts: Vec<Part> = claims.iter().filter_map(|claim| part_of(claim)).collect();
        (!parts.is_empty()).then(|| Record::new(&self.run, parts))
    }

    /// Gives up: nothing more can be staged, and what was is gone when this returns.
    pub fn abandon(&self) {
        std::mem::take(&mut *self.claims()).iter().for_each(|claim| claim.abandon());
    }

    fn claims(&self) -> MutexGuard<'_, Vec<Arc<Claim>>> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What changes in a place; `None` if nothing does.
fn part_of(claim: &Claim) -> Option<Part> {
    let Changes { removals, renames, last, completions, last_completions } = &*claim.changes();
    let is_unchanged = removals.is_empty() && renames.is_empty() && last.is_empty();
    if is_unchanged && completions.is_empty() && last_completions.is_empty() {
        return None;
    }
    let any = |path: &PathBuf| AnyPath::from(path.as_path());
    let pairs = |pairs: &[(PathBuf, PathBuf)]| pairs.iter().map(|(from, to)| (any(from), any(to))).collect();
    let uploads =
        |uploads: &[(PathBuf, Completion)]| uploads.iter().map(|(to, done)| (any(to), done.clone())).collect();
    let location = &claim.location;
    Some(Part {
        root: any(&location.root),
        area: any(&location.area),
        lock: any(&location.lock),
        keeps_lock: location.keeps_lock,
        removals: removals.iter().map(any).collect(),
        renames: pairs(renames),
        last: pairs(last),
        completions: uploads(completions),
        last_completions: uploads(last_completions),
    })
}

fn unfinished(claims: &[Arc<Claim>], error: &Error) -> Error {
    let place = claims.first().map(|claim| claim.shown().display().to_string()).unwrap_or_default();
    Error::Data(format!(
        "{error}\nthe run is committed, and not all files have their names yet: \
         the next curator command that opens {place} completes it"
    ))
}
