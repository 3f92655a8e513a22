//! `DEDUP LINES | PARAGRAPHS | SENTENCES | SUBSTRING`: what occurred before is cut out of the texts.
//!
//! The documents are shown to the finder as often as it asks, then once more to be cut.

use super::apply::{Reason, kept_rows};
use super::work::{Budgets, Work};
use crate::dedup::{LineFinder, Method, Outcome, SpanFinder, SubstringFinder, TooLittle, cut_text};
use crate::verbs::budget::threads;
use crate::verbs::documents::{Documents, texts};
use crate::verbs::working::{Input, Output};
use crate::{Result, bug};
use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::compute::cast;
use std::borrow::Cow;
use std::sync::Arc;

/// Reads the input, finds what is repeated, gives the output.
pub(super) fn run(work: &Work, (mut input, output): (Input, Output), budgets: Budgets) -> Result<()> {
    let Some(column) = work.columns.value else { return Err(bug!("{} has no text", work.request.label)) };
    let budget = budgets.keys;
    let threads = threads(budget.as_ref())?;
    let which = work.request.keep.which;
    let mut finder: Box<dyn SpanFinder> = match &work.request.method {
        Method::Lines(lines) => Box::new(LineFinder::new(lines, which, &budget)),
        Method::Substring(substring) => Box::new(SubstringFinder::new(substring, which, &budget)),
        other => return Err(bug!("{} cuts nothing", other.name())),
    };
    let mut documents = Documents::new(Arc::clone(&work.input_schema), budgets.documents);
    while let Some(batch) = input.next()? {
        let _timer = work.elapsed.timer();
        threads.install(|| see(&mut *finder, &batch, column))?;
        documents.push(batch)?;
    }
    documents.finish()?;
    let _timer = work.elapsed.timer();
    while finder.end_pass()? {
        for batch in documents.replay()? {
            let (_, batch) = batch?;
            threads.install(|| see(&mut *finder, &batch, column))?;
        }
    }
    for batch in documents.replay()? {
        let (_, batch) = batch?;
        let texts = texts(&batch, column)?;
        let outcomes = threads.install(|| finder.cut(&texts.iter().collect::<Vec<_>>()))?;
        if let Some(dropped) = &work.dropped {
            let reasons: Vec<Reason> = outcomes.iter().enumerate().filter_map(reason).collect();
            dropped.write((0, &batch), &work.request.label, None, &reasons)?;
        }
        output.send(cut_rows(work, &batch, (column, &texts), &outcomes)?)?;
    }
    work.counts.cut_bytes.add(finder.tally().cut_bytes as usize);
    Ok(())
}

/// A document that goes, with what is left of it: words, lines, paragraphs or sentences.
fn reason((place, outcome): (usize, &Outcome)) -> Option<Reason> {
    let Outcome::Drop(_, too_little) = outcome else { return None };
    let n_left = match too_little {
        TooLittle::Text => 0,
        TooLittle::Words(n_left) | TooLittle::Units(n_left) => *n_left,
    };
    Some(Reason { place: place as u32, value: Some(n_left as f64), kept: None })
}

fn see(finder: &mut dyn SpanFinder, batch: &RecordBatch, column: usize) -> Result<()> {
    finder.see(&texts(batch, column)?.iter().collect::<Vec<_>>())
}

fn cut_rows(
    work: &Work,
    batch: &RecordBatch,
    (column, texts): (usize, &StringArray),
    outcomes: &[Outcome],
) -> Result<RecordBatch> {
    let keep: Vec<bool> = outcomes.iter().map(|outcome| !matches!(outcome, Outcome::Drop(..))).collect();
    if outcomes.iter().all(|outcome| !matches!(outcome, Outcome::Cut(_))) {
        return kept_rows(batch, &keep, vec![], &work.columns, &work.output_schema);
    }
    let cut = texts.iter().zip(outcomes).map(|(text, outcome)| match outcome {
        Outcome::Cut(cuts) => text.map(|text| Cow::Owned(cut_text(text, cuts))),
        Outcome::Same | Outcome::Drop(..) => text.map(Cow::Borrowed),
    });
    let mut columns: Vec<ArrayRef> = batch.columns().to_vec();
    let failed = |error: arrow::error::ArrowError| bug!("cut texts: {error}");
    columns[column] = cast(&StringArray::from_iter(cut), columns[column].data_type()).map_err(failed)?;
    let batch = RecordBatch::try_new(batch.schema(), columns).map_err(failed)?;
    kept_rows(&batch, &keep, vec![], &work.columns, &work.output_schema)
}
