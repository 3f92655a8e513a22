//! Row-set deduplication: `EXACT` and `FUZZY`.
//!
//! ```text
//! partitions ──► keys to groups (`keys.rs`), documents to the side (`partition.rs`)
//!   EXACT: rows with one hash are a cluster
//!   FUZZY: rows that share a band are candidates ──(verified: true Jaccard)──► connected components are clusters,
//!          or a row belongs to one that stays and that it is similar to (`near_kept.rs`)
//! clusters ──► who stays ──► documents again, without those that go
//! ```

use super::against::{SeenBefore, conclude};
use super::contents::{Content, Contents, Marks};
use super::copies::Copies;
use super::decisions;
use super::keys::{Keys, SortedKeys};
use super::near_kept;
use super::partition::{Partition, ReadRows};
use super::work::{Budgets, DedupWork};
use crate::dedup::index::NewKeys;
use crate::dedup::{
    Budget, Candidates, Chooser, Components, DecisionReader, Groups, Kept, Link, Method, Numbering, Sorted, Survivors,
};
use crate::verbs::documents::Documents;
use crate::verbs::working::{Input, Stop, Working, in_parallel};
use crate::{Result, bug};
use std::sync::{Arc, Mutex, PoisonError};

/// Reads the rows, decides, gives the output.
pub(super) fn run(work: &DedupWork, working: Working, budgets: Budgets) -> Result<()> {
    let Working { rows, outputs, stop, .. } = working;
    let decided = work.decided()?;
    let (keys, rows) = collect(work, rows, &budgets, &stop, decided.is_none())?;
    let _timer = work.elapsed.timer();
    let ReadRows { keep_keys, names, documents, numbering } = rows;
    let budget = budgets.clusters;
    let mut seen_before = SeenBefore::open(work, &budget)?;
    let decide = Decide {
        work,
        chooser: Chooser { which: work.request.keep.which, keys: keep_keys.as_ref() },
        documents: &documents,
        numbering: &numbering,
        budget: &budget,
    };
    let n_rows = numbering.n_rows();
    let decisions = match (decided, keys) {
        (Some(decided), _) => decided.decisions(work, n_rows)?,
        (None, SortedKeys::Whole(groups)) => work.keep(decide.exact(groups, seen_before.as_mut())?, n_rows)?,
        (None, SortedKeys::Bands(groups)) => work.keep(decide.fuzzy(groups, seen_before.as_mut())?, n_rows)?,
    };
    conclude(work, seen_before, n_rows, names, |names| {
        decisions::apply_all(work, &documents, decisions, (&numbering, &budget), names, outputs, &stop)
    })
}

/// Reads all partitions to their ends; their keys only where they are needed.
fn collect(
    work: &DedupWork,
    rows: Vec<Input>,
    budgets: &Budgets,
    stop: &Stop,
    needs_keys: bool,
) -> Result<(SortedKeys, ReadRows)> {
    let shared = Keys::new(work, &budgets.keys);
    let read = in_parallel(stop, rows, |number, mut input| {
        let mut keys = shared.of_partition(work, number)?;
        let mut partition = Partition::new(work, budgets, number)?;
        let mut copies = Copies::new(work, &budgets.keys)?;
        while let Some(batch) = input.next()? {
            let _timer = work.elapsed.timer();
            let batch = copies.leave_out(batch)?;
            if needs_keys {
                keys.push(&batch, partition.n_rows())?;
            }
            partition.push(batch)?;
        }
        keys.finish()?;
        partition.finish()
    })?;
    let rows = ReadRows::of_partitions(read)?;
    Ok((shared.finish(&rows.numbering)?, rows))
}

fn is_linked_to_kept(work: &DedupWork) -> bool {
    matches!(&work.request.method, Method::Fuzzy(fuzzy) if fuzzy.link == Link::Kept)
}

/// What a decision about clusters needs.
#[derive(Clone, Copy)]
pub(super) struct Decide<'a> {
    pub work: &'a DedupWork,
    pub chooser: Chooser<'a>,
    /// Those of each partition.
    pub documents: &'a [Documents],
    pub numbering: &'a Arc<Numbering>,
    pub budget: &'a Arc<dyn Budget>,
}

impl Decide<'_> {
    /// Rows with the same hash are a cluster.
    fn exact(self, groups: Sorted<3>, mut seen_before: Option<&mut SeenBefore>) -> Result<DecisionReader> {
        let Method::Exact(exact) = &self.work.request.method else { return Err(bug!("not exact")) };
        if exact.verify {
            return self.verified(groups, 1.0);
        }
        let mut survivors = Survivors::new(self.numbering.n_rows(), self.budget);
        let Some(seen_before) = &mut seen_before else {
            let shared = Mutex::new(&mut survivors);
            groups.par_for_each_group(2, |_, rows| {
                self.count(rows, None);
                let kept = self.chooser.choose(rows, None)?;
                let mut survivors = shared.lock().unwrap_or_else(PoisonError::into_inner);
                survivors.add_decided(rows, kept, |_, _| Ok(Some(1.0)))
            })?;
            return survivors.finish();
        };
        // The index is gone through side by side with the keys, in their order.
        groups.for_each_group(1, |key, rows| {
            let &[high, low] = key else { return Err(bug!("a key of {} words", key.len())) };
            let indexed = seen_before.find([high, low])?;
            let mut kept = Kept::Row(rows[0]);
            if rows.len() > 1 || indexed.is_some() {
                self.count(rows, indexed);
                kept = survivors.add_cluster(rows, indexed, self.chooser, |_, _| Ok(Some(1.0)))?;
            }
            let (None, Some(appender)) = (indexed, seen_before.appender()) else { return Ok(()) };
            // Also when nobody stays: what was seen is not new.
            let row = if let Kept::Row(row) = kept { row } else { rows[0] };
            appender.push_record([high, low], appender.first_ordinal() + row)
        })?;
        survivors.finish()
    }

    /// Rows that share a band are candidates.
    fn fuzzy(self, groups: Sorted<2>, mut seen_before: Option<&mut SeenBefore>) -> Result<DecisionReader> {
        let Method::Fuzzy(fuzzy) = &self.work.request.method else { return Err(bug!("not fuzzy")) };
        if is_linked_to_kept(self.work) {
            return near_kept::decide(self, fuzzy, groups, seen_before);
        }
        if fuzzy.verify {
            return self.verified(groups, fuzzy.threshold);
        }
        let n_rows = self.numbering.n_rows();
        let components = Components::new(n_rows, self.budget);
        let mut candidates = Candidates::new(n_rows, self.budget);
        let (mut touches, mut new_keys) = (None, None);
        match &mut seen_before {
            None => candidates.add_groups(groups, |_| {})?,
            Some(seen_before) => {
                let touches = touches.insert(Groups::by_row(self.budget, n_rows).distinct());
                let first_ordinal = seen_before.appender().map(|appender| appender.first_ordinal());
                new_keys = first_ordinal.map(|first| NewKeys::new(n_rows, first, self.budget));
                groups.for_each_group(1, |key, rows| {
                    let &[key] = key else { return Err(bug!("a key of {} words", key.len())) };
                    match (seen_before.find([key])?, &mut new_keys) {
                        (Some(ordinal), _) => rows.iter().try_for_each(|row| touches.push([*row, ordinal]))?,
                        (None, Some(new_keys)) => new_keys.push(key, rows[0])?,
                        (None, None) => {}
                    }
                    candidates.add_group(rows)
                })?;
            }
        }
        let pairs = candidates.unite(&components)?;
        self.work.counts.candidates.add(pairs.n_candidates as usize);
        let decisions = self.clusters(components, touches, new_keys.as_mut(), |_, _| Ok(None))?;
        let appender = seen_before.and_then(SeenBefore::appender);
        if let (Some(new_keys), Some(appender)) = (new_keys, appender) {
            new_keys.add_to(appender)?;
        }
        Ok(decisions)
    }

    /// Candidates that are held to their contents before they count.
    fn verified<const N: usize>(self, groups: Sorted<N>, threshold: f64) -> Result<DecisionReader> {
        let n_rows = self.numbering.n_rows();
        let mut candidates = Candidates::new(n_rows, self.budget);
        let marks = Marks::new(n_rows, self.budget);
        candidates.add_groups(groups, |row| marks.set(row))?;
        let contents = Contents::gather(self, &marks)?;
        let components = Components::new(n_rows, self.budget);
        let load = |row: u64| contents.load(row);
        let similarity = |content: &Content, other: u64| contents.similarity(content, other);
        let pairs = candidates.verify(&components, threshold, load, similarity)?;
        self.work.counts.candidates.add(pairs.n_candidates as usize);
        self.work.counts.verified.add(pairs.n_verified as usize);
        let is_asked = self.asks_similarity();
        self.clusters(components, None, None, |row, kept| match kept {
            Kept::Row(kept) if is_asked => Ok(Some(contents.similarity(&contents.load(kept)?, row)?)),
            _ => Ok(None),
        })
    }

    fn clusters(
        self,
        components: Components,
        touches: Option<Groups<2>>,
        mut new_keys: Option<&mut NewKeys>,
        similarity: impl Fn(u64, Kept) -> Result<Option<f64>>,
    ) -> Result<DecisionReader> {
        let mut survivors = Survivors::new(self.numbering.n_rows(), self.budget);
        components.into_clusters(touches)?.for_each_cluster(|rows, indexed| {
            self.count(rows, indexed);
            let kept = survivors.add_cluster(rows, indexed, self.chooser, &similarity)?;
            new_keys.as_mut().map_or(Ok(()), |new_keys| new_keys.decide(rows, kept))
        })?;
        survivors.finish()
    }

    /// Whether anybody will see how similar a row is to the one that stays.
    pub fn asks_similarity(&self) -> bool {
        self.work.dropped.is_some() || !self.work.request.extra.is_empty()
    }

    /// Counts a cluster, and its rows if the index has one like them.
    pub fn count(&self, rows: &[u64], indexed: Option<u64>) {
        self.work.counts.clusters.add(1);
        self.work.counts.indexed.add(indexed.map_or(0, |_| rows.len()));
    }
}
