//! `mode => 'cut'`: texts of tasks go with their surroundings, and what is left of a document becomes rows of its own.
//!
//! Each partition keeps its documents while the n-grams in all of them are counted, then goes through them again.

use super::work::{DecontaminateWork, on_all};
use crate::dedup::{CutMatcher, Cutting};
use crate::verbs::budget::PoolBudget;
use crate::verbs::dedup::exec::apply::{Reason, kept_rows};
use crate::verbs::documents::{Documents, texts};
use crate::verbs::working::{Input, Output, Working, in_parallel};
use crate::{Error, Result, bug};
use arrow::array::{Array, ArrayRef, RecordBatch, StringArray, StringBuilder, UInt32Array, UInt64Array};
use arrow::compute::{cast, take_record_batch};
use rayon::ThreadPool;
use std::sync::Arc;

/// Reads the documents, counts, cuts.
pub(super) fn run(
    work: &DecontaminateWork,
    matcher: &CutMatcher,
    working: Working,
    threads: &ThreadPool,
    budget: &Arc<PoolBudget>,
) -> Result<()> {
    let Working { rows, outputs, stop, .. } = working;
    let documents = in_parallel(&stop, rows, |number, mut input| {
        let documents = Documents::new(Arc::clone(&work.input_schema), Arc::clone(budget));
        read(work, matcher, &mut input, threads, documents.of_partition(work.again.as_ref(), number))
    })?;
    let partitions = documents.into_iter().zip(outputs).collect();
    in_parallel(&stop, partitions, |partition, (documents, output)| {
        match give(work, matcher, (partition, &documents), &output, threads) {
            // Nobody reads this partition; the others may be read.
            Err(Error::Interrupted) if !output.is_read() => {}
            other => other?,
        }
        work.dropped.as_ref().map_or(Ok(()), |dropped| dropped.end(partition))?;
        output.end();
        Ok(())
    })?;
    Ok(())
}

/// Counts what is in the documents of a partition, which are kept.
fn read(
    work: &DecontaminateWork,
    matcher: &CutMatcher,
    input: &mut Input,
    threads: &ThreadPool,
    mut documents: Documents,
) -> Result<Documents> {
    let column = work.text()?;
    while let Some(batch) = input.next()? {
        let _timer = work.elapsed.timer();
        let texts = texts(&batch, column)?;
        on_all(threads, texts.len(), |place| {
            if texts.is_valid(place) {
                matcher.count(texts.value(place));
            }
        });
        documents.push(batch)?;
    }
    documents.finish()?;
    Ok(documents)
}

/// Cuts the documents of a partition.
fn give(
    work: &DecontaminateWork,
    matcher: &CutMatcher,
    (partition, documents): (usize, &Documents),
    output: &Output,
    threads: &ThreadPool,
) -> Result<()> {
    let column = work.text()?;
    for batch in documents.replay()? {
        let timer = work.elapsed.timer();
        let (_, batch) = batch?;
        let texts = texts(&batch, column)?;
        let cut = |place| if texts.is_valid(place) { matcher.apply(texts.value(place)) } else { None };
        let cuttings: Vec<Option<Cutting<'_>>> = on_all(threads, texts.len(), cut);
        let reasons: Vec<Reason> = cuttings.iter().enumerate().filter_map(reason).collect();
        if let Some(dropped) = &work.dropped {
            dropped.write((partition, &batch), &work.request.label, None, &reasons)?;
        }
        let pieces = Pieces::of(&texts, &cuttings);
        let n_hit = cuttings.iter().flatten().count();
        work.counts.hit.add(n_hit);
        work.counts.dropped.add(reasons.len());
        work.counts.pieces.add(pieces.rows.len() - (texts.len() - n_hit));
        let rows = pieces.applied(work, &batch, column, n_hit > 0)?;
        timer.done();
        output.send(rows)?;
    }
    Ok(())
}

/// A document that goes, with the number of pieces that it fell into.
fn reason((place, cutting): (usize, &Option<Cutting<'_>>)) -> Option<Reason> {
    let cutting = cutting.as_ref().filter(|cutting| cutting.is_dropped)?;
    let task = cutting.matches.first().map(|found| found.task.to_string());
    Some(Reason { place: place as u32, value: Some(cutting.pieces.len() as f64), kept: task })
}

/// The rows that a batch becomes.
struct Pieces {
    /// For each, the row that it is of.
    rows: Vec<u32>,
    /// And which piece of it.
    numbers: Vec<u64>,
    texts: StringArray,
}

impl Pieces {
    fn of(texts: &StringArray, cuttings: &[Option<Cutting<'_>>]) -> Self {
        let mut rows = Vec::with_capacity(texts.len());
        let mut numbers = Vec::with_capacity(texts.len());
        let mut out = StringBuilder::new();
        for (row, cutting) in cuttings.iter().enumerate() {
            let Some(cutting) = cutting else {
                rows.push(row as u32);
                numbers.push(0);
                out.append_option(texts.is_valid(row).then(|| texts.value(row)));
                continue;
            };
            for (number, piece) in cutting.pieces.iter().enumerate().filter(|_| !cutting.is_dropped) {
                rows.push(row as u32);
                numbers.push(number as u64);
                out.append_value(&texts.value(row)[piece.clone()]);
            }
        }
        Self { rows, numbers, texts: out.finish() }
    }

    /// The rows of `batch`, those that were cut as often as they have pieces.
    fn applied(
        self,
        work: &DecontaminateWork,
        batch: &RecordBatch,
        column: usize,
        is_cut: bool,
    ) -> Result<RecordBatch> {
        let failed = |error: arrow::error::ArrowError| bug!("pieces of documents: {error}");
        let batch = if is_cut {
            let taken = take_record_batch(batch, &UInt32Array::from(self.rows)).map_err(failed)?;
            let mut columns: Vec<ArrayRef> = taken.columns().to_vec();
            columns[column] = cast(&self.texts, columns[column].data_type()).map_err(failed)?;
            RecordBatch::try_new(taken.schema(), columns).map_err(failed)?
        } else {
            batch.clone()
        };
        let added: Vec<ArrayRef> =
            if work.numbers_pieces { vec![Arc::new(UInt64Array::from(self.numbers))] } else { vec![] };
        kept_rows(&batch, &vec![true; batch.num_rows()], added, &work.columns, &work.output_schema)
    }
}
