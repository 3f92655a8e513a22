//! The kept work of one run, as its executors see it.

use super::stage::verbs_of;
use crate::Result;
use crate::store::{KeptPart, KeptWork};
use datafusion::physical_plan::ExecutionPlan;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// One share of the units of a run: the `number`th of `count`, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shard {
    /// Which one.
    pub number: usize,
    /// Of how many.
    pub count: usize,
}

impl Shard {
    /// `2/7`
    pub fn parse(text: &str) -> Result<Self, String> {
        let numbers =
            text.split_once('/').and_then(|(number, count)| Some((number.parse().ok()?, count.parse().ok()?)));
        match numbers {
            Some((number, count)) if (1..=count).contains(&number) => Ok(Self { number, count }),
            _ => Err(format!("`{text}` is not a share: write 1/7 to 7/7 for the seven shares of a run")),
        }
    }

    /// The share of `count` that has a unit. Neighbouring units have different owners, so that all shares are about as much
    /// work.
    pub fn that_has(unit: usize, count: usize) -> Self {
        Self { number: unit % count + 1, count }
    }

    fn has(self, unit: usize) -> bool {
        Self::that_has(unit, self.count) == self
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.number, self.count)
    }
}

/// A chain of the plan whose work is kept: how it is cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointedChain {
    /// Its name in the plan.
    pub name: String,
    /// What it does, for telling whether it is still the same.
    pub program: String,
    /// How many splits its source has.
    pub n_splits: usize,
    /// A hash of where the cuts are.
    pub cuts: String,
    /// How many units those make.
    pub n_units: usize,
}

/// The kept work of a run. Put it into the session's config as an extension.
#[derive(Debug)]
pub struct Checkpoints {
    pub(super) kept: KeptWork,
    /// The share of the units that is to be done; only then rows are kept for another run to come, and go nowhere.
    shard: Option<Shard>,
    parts: Mutex<HashMap<String, Arc<Part>>>,
    /// The verbs of the plan that is run, in its order.
    verbs: OnceLock<Vec<usize>>,
    /// Stages of verbs that were finished before.
    pub(super) n_stages_kept: AtomicUsize,
}

/// One chain of the plan.
#[derive(Debug)]
pub(super) struct Part {
    pub kept: Arc<KeptPart>,
    n_splits: usize,
    n_units: usize,
    shard: Option<Shard>,
    next: Mutex<usize>,
    /// The units that each partition has given, in their order.
    given: Mutex<HashMap<usize, Vec<usize>>>,
    n_kept: AtomicUsize,
}

impl Checkpoints {
    /// Of a run that does all that is missing, or a share of it.
    pub fn new(kept: KeptWork, shard: Option<Shard>) -> Self {
        let (parts, verbs, n_stages_kept) = (Mutex::default(), OnceLock::new(), AtomicUsize::default());
        Self { kept, shard, parts, verbs, n_stages_kept }
    }

    /// Verbs are known by their places in the plan that is about to run.
    pub fn follow(&self, plan: &Arc<dyn ExecutionPlan>) {
        self.verbs.get_or_init(|| verbs_of(plan));
    }

    /// The place of a verb in the plan.
    pub(super) fn number_of_verb(&self, node: usize) -> Option<usize> {
        self.verbs.get()?.iter().position(|verb| *verb == node)
    }

    /// How many verbs need not decide again, because an earlier attempt did.
    pub fn n_stages_kept(&self) -> usize {
        self.n_stages_kept.load(Ordering::Relaxed)
    }

    /// Whether the run is to keep its share and give no rows.
    pub fn only_keeps(&self) -> bool {
        self.shard.is_some()
    }

    /// How many units were found kept, and how many there are, of the chains that have begun.
    pub fn reused(&self) -> (usize, usize) {
        let parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts
            .values()
            .fold((0, 0), |(kept, all), part| (kept + part.n_kept.load(Ordering::Relaxed), all + part.n_mine()))
    }

    /// The chain of this name.
    pub(super) fn part(&self, chain: &CheckpointedChain) -> Result<Arc<Part>> {
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(part) = parts.get(&chain.name) {
            return Ok(Arc::clone(part));
        }
        let part = Arc::new(Part {
            kept: Arc::new(self.kept.part(&chain.name)?),
            n_splits: chain.n_splits,
            n_units: chain.n_units,
            shard: self.shard,
            next: Mutex::default(),
            given: Mutex::default(),
            n_kept: AtomicUsize::default(),
        });
        parts.insert(chain.name.clone(), Arc::clone(&part));
        Ok(part)
    }
}

impl Part {
    /// The next unit, for who takes it.
    pub fn next(&self) -> MutexGuard<'_, usize> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next unit of this run's share.
    pub fn take(&self, next: &mut usize) -> Option<usize> {
        let unit = (*next..self.n_units).find(|unit| self.is_mine(*unit));
        *next = unit.map_or(self.n_units, |unit| unit + 1);
        unit
    }

    pub fn splits_of(&self, unit: usize) -> Range<usize> {
        self.n_splits * unit / self.n_units..self.n_splits * (unit + 1) / self.n_units
    }

    /// A partition gives this unit.
    pub fn note_given(&self, partition: usize, unit: usize) {
        self.given.lock().unwrap_or_else(PoisonError::into_inner).entry(partition).or_default().push(unit);
    }

    /// The units that a partition has given.
    pub fn given_by(&self, partition: usize) -> Vec<usize> {
        let given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        given.get(&partition).cloned().unwrap_or_default()
    }

    /// One more unit need not be done.
    pub fn count_kept(&self) {
        self.n_kept.fetch_add(1, Ordering::Relaxed);
    }

    fn is_mine(&self, unit: usize) -> bool {
        self.shard.is_none_or(|shard| shard.has(unit))
    }

    fn n_mine(&self) -> usize {
        (0..self.n_units).filter(|unit| self.is_mine(*unit)).count()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_is_in_one_share() {
        for count in [1, 3, 7] {
            let shares: Vec<Shard> = (1..=count).map(|n| Shard::parse(&format!("{n}/{count}")).unwrap()).collect();
            assert!((0..20).all(|unit| shares.iter().filter(|share| share.has(unit)).count() == 1));
        }
        for wrong in ["0/3", "4/3", "1", "1/0", "a/b", "1/3/5", "-1/3"] {
            assert!(Shard::parse(wrong).unwrap_err().contains("write 1/7"), "{wrong}");
        }
    }
}
