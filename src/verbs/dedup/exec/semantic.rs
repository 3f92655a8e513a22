//! `DEDUP SEMANTIC`: vectors that point the same way, compared on the CPU or on a device.

use super::against::{SeenBefore, conclude};
use super::decisions;
use super::on_device::OnDevice;
use super::partition::{Partition, ReadRows};
use super::per::PerValues;
use super::work::{Budgets, DedupWork};
use crate::dedup::{
    Budget, Decision, DecisionReader, KeepWhich, Kept, Method, Numbering, Semantic, SemanticDedup, SemanticDuplicate,
    SemanticOutcome, SemanticRanking, StoredRows, Survivors, VectorPartition,
};
use crate::verbs::working::{Input, Stop, Working, in_parallel};
use crate::{Result, bug};
use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Float32Type, UInt64Type};
use std::sync::Arc;

/// Reads the rows, decides, gives the output. A device compares, if there is one.
pub(super) fn run(work: &DedupWork, working: Working, budgets: Budgets, on_device: Option<&OnDevice>) -> Result<()> {
    let Method::Semantic(semantic) = &work.request.method else { return Err(bug!("not semantic")) };
    let Working { rows, outputs, stop, .. } = working;
    let decided = work.decided()?;
    let (vectors, per, rows) = collect(work, rows, &budgets, &stop, decided.is_none())?;
    let _timer = work.elapsed.timer();
    let ReadRows { keep_keys, names, documents, numbering } = rows;
    let n_rows = numbering.n_rows();
    let mut seen_before = SeenBefore::open(work, &budgets.clusters)?;
    let compared = Compared { vectors, per, keep_keys, numbering: &numbering };
    let decisions = match decided {
        Some(decided) => decided.decisions(work, n_rows)?,
        None => work.keep(decide(work, semantic, compared, &budgets, seen_before.as_mut(), on_device)?, n_rows)?,
    };
    let budget = budgets.keys;
    conclude(work, seen_before, n_rows, names, |names| {
        decisions::apply_all(work, &documents, decisions, (&numbering, &budget), names, outputs, &stop)
    })
}

/// What rows are compared by.
struct Compared<'a> {
    vectors: Vec<VectorPartition>,
    per: Option<Vec<StoredRows>>,
    keep_keys: Option<StoredRows>,
    numbering: &'a Arc<Numbering>,
}

/// Finds the vectors that point the same way, and who stays of them.
fn decide(
    work: &DedupWork,
    semantic: &Semantic,
    compared: Compared<'_>,
    budgets: &Budgets,
    mut seen_before: Option<&mut SeenBefore>,
    on_device: Option<&OnDevice>,
) -> Result<DecisionReader> {
    let Compared { vectors, per, keep_keys, numbering } = compared;
    let budget = &budgets.keys;
    let mut dedup = SemanticDedup::new(semantic.clone(), Arc::clone(budget), vectors, numbering)?;
    if let Some(on_device) = on_device {
        dedup = on_device.give_to(dedup, semantic, work);
    }
    let which = work.request.keep.which;
    let mut key_of = |row: u64| key_bytes(keep_keys.as_ref(), row);
    let ranking = if keep_keys.is_some() || which == KeepWhich::None {
        SemanticRanking::Keys { which, key_of: &mut key_of }
    } else {
        SemanticRanking::Centre(semantic.which)
    };
    dedup = dedup.per(per.map(|per| StoredRows::of_partitions(per, numbering)));
    if let Some(seen_before) = &seen_before {
        dedup = dedup.against(seen_before.index(), &budgets.clusters)?;
    }
    let appender = seen_before.as_mut().and_then(|seen_before| seen_before.appender());
    let outcome = dedup.finish(ranking, appender)?;
    let is_indexed = |duplicate: &&SemanticDuplicate| matches!(duplicate.kept, Kept::Indexed(_));
    work.counts.indexed.add(outcome.duplicates.iter().filter(is_indexed).count());
    work.counts.clusters.add(outcome.n_clusters());
    decisions_of(work, &outcome, numbering.n_rows(), budget)?.finish()
}

/// Reads all partitions to their ends: vectors, where they are needed, values of `PER`, and what is kept of the rows.
fn collect(
    work: &DedupWork,
    rows: Vec<Input>,
    budgets: &Budgets,
    stop: &Stop,
    needs_vectors: bool,
) -> Result<(Vec<VectorPartition>, Option<Vec<StoredRows>>, ReadRows)> {
    let Some(key) = work.columns.key else { return Err(bug!("{} has no vector", work.request.label)) };
    let partitions = VectorPartition::all(rows.len(), &budgets.keys).into_iter().zip(rows).collect();
    let read = in_parallel(stop, partitions, |number, (mut vectors, mut input)| {
        let mut per = PerValues::new(work, &budgets.keys);
        let mut partition = Partition::new(work, budgets, number)?;
        while let Some(batch) = input.next()? {
            let _timer = work.elapsed.timer();
            if needs_vectors {
                push(&mut vectors, &batch, key, work.position)?;
            }
            per.push(&batch)?;
            partition.push(batch)?;
        }
        Ok((vectors, per.finish()?, partition.finish()?))
    })?;
    let (mut vectors, mut per, mut partitions) = (vec![], vec![], vec![]);
    for (of_partition, values, partition) in read {
        vectors.push(of_partition);
        per.push(values);
        partitions.push(partition);
    }
    Ok((vectors, per.into_iter().collect(), ReadRows::of_partitions(partitions)?))
}

fn push(vectors: &mut VectorPartition, batch: &RecordBatch, column: usize, position: Option<usize>) -> Result<()> {
    let column = batch.column(column);
    let positions = position.map(|position| batch.column(position).as_primitive::<UInt64Type>().values());
    let wrong = || bug!("a vector of type {}", column.data_type());
    let lists = column.as_list_opt::<i32>().ok_or_else(wrong)?;
    let values = lists.values().as_primitive_opt::<Float32Type>().ok_or_else(wrong)?;
    for place in 0..lists.len() {
        let range = lists.value_offsets()[place] as usize..lists.value_offsets()[place + 1] as usize;
        // A vector with a missing value has no direction.
        let is_whole = lists.is_valid(place) && range.clone().all(|index| values.is_valid(index));
        let position = positions.map_or(0, |positions| positions[place]);
        vectors.push(position, if is_whole { &values.values()[range] } else { &[] })?;
    }
    Ok(())
}

fn key_bytes(keys: Option<&StoredRows>, row: u64) -> Result<Vec<u8>> {
    let mut bytes = vec![];
    if let Some(keys) = keys {
        keys.get(row, &mut bytes)?;
    }
    Ok(bytes)
}

fn decisions_of(
    work: &DedupWork,
    outcome: &SemanticOutcome,
    n_rows: u64,
    budget: &Arc<dyn Budget>,
) -> Result<Survivors> {
    let mut survivors = Survivors::new(n_rows, budget);
    let decision = |row: u64, kept: Kept, similarity: Option<f64>| {
        let (cluster, size) = outcome.cluster(row)?;
        Some(Decision { row, kept, cluster: u64::from(cluster), size, similarity })
    };
    // Rows that stay have a cluster to tell, if somebody asks.
    let rows = if work.request.extra.is_empty() { 0..0 } else { 0..n_rows };
    let stays = |row: &u64| outcome.duplicates.binary_search_by_key(row, |duplicate| duplicate.row).is_err();
    for row in rows.filter(stays) {
        decision(row, Kept::Row(row), None).map_or(Ok(()), |decision| survivors.add_decision(decision))?;
    }
    for duplicate in &outcome.duplicates {
        let decision = decision(duplicate.row, duplicate.kept, Some(f64::from(duplicate.similarity)));
        decision.map_or(Ok(()), |decision| survivors.add_decision(decision))?;
    }
    Ok(survivors)
}
