//! `DEDUP FUZZY` with `link = 'kept'`: a document goes only if it is itself similar to one that stays.
//!
//! Not here: who stays (`dedup::near_kept`).

use super::against::SeenBefore;
use super::contents::{Content, Contents, Marks};
use super::rows::Decide;
use crate::dedup::index::NewKeys;
use crate::dedup::{Belongings, DecisionReader, Fuzzy, Groups, Kept, Preference, SharedKeys, Sorted, Survivors};
use crate::{Result, bug};

/// Decides about the rows of `groups`: fingerprint of a band, row.
pub(super) fn decide(
    decide: Decide<'_>,
    fuzzy: &Fuzzy,
    groups: Sorted<2>,
    seen_before: Option<&mut SeenBefore>,
) -> Result<DecisionReader> {
    let order = Preference::new(decide.chooser, decide.numbering.n_rows(), decide.budget)?;
    match seen_before {
        None if fuzzy.verify => verified(decide, fuzzy.threshold, groups, &order),
        None => {
            let shared = SharedKeys::new(groups, &order, decide.budget, |_| {})?;
            let (belongings, pairs) = shared.decide_all_similar(None)?;
            decide.work.counts.candidates.add(pairs.n_candidates as usize);
            decisions(decide, belongings, None, |_, _| Ok(None))
        }
        Some(seen_before) => against(decide, groups, &order, seen_before),
    }
}

/// Rows that share a band are similar if their contents are.
fn verified(decide: Decide<'_>, threshold: f64, groups: Sorted<2>, order: &Preference) -> Result<DecisionReader> {
    let Decide { work, numbering, budget, .. } = decide;
    let marks = Marks::new(numbering.n_rows(), budget);
    let shared = SharedKeys::new(groups, order, budget, |row| marks.set(row))?;
    let contents = Contents::gather(decide, &marks)?;
    let load = |row: u64| contents.load(row);
    let similarity = |content: &Content, other: u64| contents.similarity(content, other);
    let (belongings, pairs) = shared.decide(None, threshold, load, similarity)?;
    work.counts.candidates.add(pairs.n_candidates as usize);
    work.counts.verified.add(pairs.n_verified as usize);
    let is_asked = decide.asks_similarity();
    decisions(decide, belongings, None, |row, kept| match kept {
        Kept::Row(kept) if is_asked => Ok(Some(contents.similarity(&contents.load(kept)?, row)?)),
        _ => Ok(None),
    })
}

/// Documents of an index stay, before any of this run. Only bands of documents that stay are added to it.
fn against(
    decide: Decide<'_>,
    groups: Sorted<2>,
    order: &Preference,
    seen_before: &mut SeenBefore,
) -> Result<DecisionReader> {
    let Decide { work, numbering, budget, .. } = decide;
    let n_rows = numbering.n_rows();
    let mut touches = Groups::by_row(budget, n_rows).distinct();
    let first_ordinal = seen_before.appender().map(|appender| appender.first_ordinal());
    let mut new_keys = first_ordinal.map(|first| NewKeys::new(n_rows, first, budget).only_of_kept());
    let mut unseen = Groups::new(budget);
    groups.for_each_group(1, |key, rows| {
        let &[key] = key else { return Err(bug!("a key of {} words", key.len())) };
        if let Some(ordinal) = seen_before.find([key])? {
            return rows.iter().try_for_each(|row| touches.push([*row, ordinal]));
        }
        let mut before = None;
        rows.iter().filter(|row| before.replace(**row) != Some(**row)).try_for_each(|row| {
            new_keys.as_mut().map_or(Ok(()), |new_keys| new_keys.push(key, *row))?;
            unseen.push([key, *row])
        })
    })?;
    let (belongings, pairs) =
        SharedKeys::new(unseen.finish()?, order, budget, |_| {})?.decide_all_similar(Some(touches))?;
    work.counts.candidates.add(pairs.n_candidates as usize);
    let decisions = decisions(decide, belongings, new_keys.as_mut(), |_, _| Ok(None))?;
    if let (Some(new_keys), Some(appender)) = (new_keys, seen_before.appender()) {
        new_keys.add_to(appender)?;
    }
    Ok(decisions)
}

fn decisions(
    decide: Decide<'_>,
    belongings: Belongings,
    mut new_keys: Option<&mut NewKeys>,
    similarity: impl Fn(u64, Kept) -> Result<Option<f64>>,
) -> Result<DecisionReader> {
    let mut survivors = Survivors::new(decide.numbering.n_rows(), decide.budget);
    belongings.for_each_cluster(|rows, kept| {
        let indexed = if let Kept::Indexed(ordinal) = kept { Some(ordinal) } else { None };
        decide.count(rows, indexed);
        survivors.add_decided(rows, kept, &similarity)?;
        new_keys.as_mut().map_or(Ok(()), |new_keys| new_keys.decide(rows, kept))
    })?;
    survivors.finish()
}
