//! Row-set deduplication: `EXACT` and `FUZZY`.
//!
//! ```text
//! batches ──► keys to groups, documents to the side
//!   EXACT: rows with one hash are a cluster
//!   FUZZY: rows that share a band are candidates ──(verified: true Jaccard)──► connected components are clusters,
//!          or a row belongs to one that stays and that it is similar to (`near_kept.rs`)
//! clusters ──► who stays ──► documents again, without those that go
//! ```

use super::against::{SeenBefore, conclude};
use super::contents::{Content, Contents, Marks};
use super::documents::Documents;
use super::fates::{self, Names};
use super::near_kept;
use super::per;
use super::work::{Budgets, Feed, Outlet, Work};
use crate::dedup::index::NewKeys;
use crate::dedup::{
    Budget, Candidates, Chooser, Components, FateReader, Groups, Kept, Link, Method, RowStore, StoredRows, Survivors,
};
use crate::{Result, bug};
use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::Int64Type;
use arrow::row::{RowConverter, SortField};
use std::sync::Arc;

/// What is kept of the rows until it is decided about them.
struct Collected {
    keys: Keys,
    keep_keys: Option<StoredRows>,
    names: Names,
    documents: Documents,
}

/// The records that are grouped.
enum Keys {
    /// 128-bit hash, row.
    Whole(Groups<3>),
    /// Fingerprint of a band, row.
    Bands(Groups<2>),
}

/// Reads the input, decides, gives the output.
pub(super) fn run(work: &Work, feed: &mut Feed, outlet: &Outlet<'_>, budgets: Budgets) -> Result<()> {
    let budget = budgets.clusters;
    let collected =
        collect(work, feed, &budgets.keys, Documents::new(Arc::clone(&work.input_schema), budgets.documents))?;
    let _timer = work.elapsed.timer();
    let Collected { keys, keep_keys, mut names, documents } = collected;
    let mut seen_before = SeenBefore::open(work, &budget)?;
    let decide = Decide {
        work,
        chooser: Chooser { which: work.request.keep.which, keys: keep_keys.as_ref() },
        documents: &documents,
        budget: &budget,
    };
    let fates = match keys {
        Keys::Whole(groups) => decide.exact(groups, seen_before.as_mut())?,
        Keys::Bands(groups) => decide.fuzzy(groups, seen_before.as_mut())?,
    };
    conclude(work, seen_before, documents.n_rows(), &mut names, |names| {
        fates::apply(work, &documents, fates, names, outlet)
    })
}

fn collect(work: &Work, feed: &mut Feed, budget: &Arc<dyn Budget>, mut documents: Documents) -> Result<Collected> {
    let Some(key) = work.layout.key else { return Err(bug!("{} has no key", work.request.label)) };
    let mut keys = match work.request.method {
        Method::Exact(_) => Keys::Whole(Groups::new(budget)),
        _ => Keys::Bands(Groups::new(budget)),
    };
    let mut keep = KeepKeys::new(work, budget)?;
    let mut names = fates::NameStore::new(work, budget);
    while let Some(batch) = feed.next()? {
        let _timer = work.elapsed.timer();
        let first_row = documents.n_rows();
        keys.push(work, &batch, key, first_row)?;
        keep.push(&batch)?;
        names.push(&batch)?;
        documents.push(batch)?;
    }
    documents.finish()?;
    Ok(Collected { keys, keep_keys: keep.finish()?, names: names.finish()?, documents })
}

impl Keys {
    fn push(&mut self, work: &Work, batch: &RecordBatch, column: usize, first_row: u64) -> Result<()> {
        let within = per::values(work, batch)?;
        let column = batch.column(column);
        match self {
            Keys::Whole(groups) => {
                let Some(hashes) = column.as_fixed_size_binary_opt() else { return Err(wrong_key(column.as_ref())) };
                for (place, hash) in hashes.iter().enumerate() {
                    // A row without values has no duplicates.
                    let Some(Ok(hash)) = hash.map(<[u8; 16]>::try_from) else { continue };
                    let hash = within.map_or(hash, |values| per::hash_within(values, place, hash));
                    let hash = u128::from_be_bytes(hash);
                    groups.push([(hash >> 64) as u64, hash as u64, first_row + place as u64])?;
                }
            }
            Keys::Bands(groups) => {
                let Some(lists) = column.as_list_opt::<i32>() else { return Err(wrong_key(column.as_ref())) };
                let Some(bands) = lists.values().as_primitive_opt::<Int64Type>() else {
                    return Err(wrong_key(column.as_ref()));
                };
                for place in (0..lists.len()).filter(|place| lists.is_valid(*place)) {
                    let range = lists.value_offsets()[place] as usize..lists.value_offsets()[place + 1] as usize;
                    for band in &bands.values()[range] {
                        let key = within.map_or(*band as u64, |values| per::key_within(values, place, *band as u64));
                        groups.push([key, first_row + place as u64])?;
                    }
                }
            }
        }
        Ok(())
    }
}

fn is_linked_to_kept(work: &Work) -> bool {
    matches!(&work.request.method, Method::Fuzzy(fuzzy) if fuzzy.link == Link::Kept)
}

fn wrong_key(column: &dyn Array) -> crate::Error {
    bug!("a key of type {}", column.data_type())
}

/// What `KEEP … BY` orders by: for each row bytes that compare as the values do.
pub(super) struct KeepKeys<'a> {
    work: &'a Work,
    converter: Option<(RowConverter, RowStore)>,
}

impl<'a> KeepKeys<'a> {
    pub fn new(work: &'a Work, budget: &Arc<dyn Budget>) -> Result<Self> {
        if work.layout.keep_by.is_empty() {
            return Ok(Self { work, converter: None });
        }
        let field = |(index, options): &(usize, _)| {
            SortField::new_with_options(work.input_schema.field(*index).data_type().clone(), *options)
        };
        let converter = RowConverter::new(work.layout.keep_by.iter().map(field).collect());
        let converter = converter.map_err(|error| bug!("KEEP BY: {error}"))?;
        Ok(Self { work, converter: Some((converter, RowStore::new(budget))) })
    }

    pub fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        let Some((converter, store)) = &mut self.converter else { return Ok(()) };
        let columns: Vec<_> = self.work.layout.keep_by.iter().map(|(index, _)| batch.column(*index).clone()).collect();
        let rows = converter.convert_columns(&columns).map_err(|error| bug!("KEEP BY: {error}"))?;
        rows.iter().try_for_each(|row| store.push(row.data()))
    }

    pub fn finish(self) -> Result<Option<StoredRows>> {
        self.converter.map(|(_, store)| store.finish()).transpose()
    }
}

/// What a decision about clusters needs.
#[derive(Clone, Copy)]
pub(super) struct Decide<'a> {
    pub work: &'a Work,
    pub chooser: Chooser<'a>,
    pub documents: &'a Documents,
    pub budget: &'a Arc<dyn Budget>,
}

impl Decide<'_> {
    /// Rows with the same hash are a cluster.
    fn exact(self, groups: Groups<3>, mut seen_before: Option<&mut SeenBefore>) -> Result<FateReader> {
        let Method::Exact(exact) = &self.work.request.method else { return Err(bug!("not exact")) };
        if exact.verify {
            return self.verified(groups, 1.0);
        }
        let mut survivors = Survivors::new(self.documents.n_rows(), self.budget);
        let min_rows = if seen_before.is_some() { 1 } else { 2 };
        groups.finish()?.for_each_group(min_rows, |key, rows| {
            let &[high, low] = key else { return Err(bug!("a key of {} words", key.len())) };
            let indexed = match &mut seen_before {
                Some(seen_before) => seen_before.find([high, low])?,
                None => None,
            };
            let mut kept = Kept::Row(rows[0]);
            if rows.len() > 1 || indexed.is_some() {
                self.count(rows, indexed);
                kept = survivors.add_cluster(rows, indexed, self.chooser, |_, _| Ok(Some(1.0)))?;
            }
            let appender = seen_before.as_mut().and_then(|seen_before| seen_before.appender());
            let (None, Some(appender)) = (indexed, appender) else { return Ok(()) };
            // Also when nobody stays: what was seen is not new.
            let row = if let Kept::Row(row) = kept { row } else { rows[0] };
            appender.push_record([high, low], appender.first_ordinal() + row)
        })?;
        survivors.finish()
    }

    /// Rows that share a band are candidates.
    fn fuzzy(self, groups: Groups<2>, mut seen_before: Option<&mut SeenBefore>) -> Result<FateReader> {
        let Method::Fuzzy(fuzzy) = &self.work.request.method else { return Err(bug!("not fuzzy")) };
        if is_linked_to_kept(self.work) {
            return near_kept::decide(self, fuzzy, groups, seen_before);
        }
        if fuzzy.verify {
            return self.verified(groups, fuzzy.threshold);
        }
        let n_rows = self.documents.n_rows();
        let components = Components::new(n_rows, self.budget);
        let mut candidates = Candidates::new(n_rows, self.budget);
        let (mut touches, mut new_keys) = (None, None);
        match &mut seen_before {
            None => candidates.add_groups(groups, |_| {})?,
            Some(seen_before) => {
                let touches = touches.insert(Groups::by_row(self.budget, n_rows).distinct());
                let first_ordinal = seen_before.appender().map(|appender| appender.first_ordinal());
                new_keys = first_ordinal.map(|first| NewKeys::new(n_rows, first, self.budget));
                groups.finish()?.for_each_group(1, |key, rows| {
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
        let fates = self.clusters(components, touches, new_keys.as_mut(), |_, _| Ok(None))?;
        let appender = seen_before.and_then(SeenBefore::appender);
        if let (Some(new_keys), Some(appender)) = (new_keys, appender) {
            new_keys.add_to(appender)?;
        }
        Ok(fates)
    }

    /// Candidates that are held to their contents before they count.
    fn verified<const N: usize>(self, groups: Groups<N>, threshold: f64) -> Result<FateReader> {
        let n_rows = self.documents.n_rows();
        let mut candidates = Candidates::new(n_rows, self.budget);
        let marks = Marks::new(n_rows, self.budget);
        candidates.add_groups(groups, |row| marks.set(row))?;
        let contents = Contents::gather(self.work, self.documents, &marks, self.budget)?;
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
    ) -> Result<FateReader> {
        let mut survivors = Survivors::new(self.documents.n_rows(), self.budget);
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
