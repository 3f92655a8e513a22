//! `DEDUP LINES | PARAGRAPHS | SENTENCES | SUBSTRING`: what occurred before is cut out of the texts.
//!
//! The documents are shown to the finder as often as it asks, then once more to be cut.

use super::apply::{Reason, kept_rows};
use super::documents::Documents;
use super::work::{Budgets, Feed, Outlet, Work};
use crate::dedup::{LineFinder, Method, Outcome, SpanFinder, SubstringFinder, TooLittle, cut_text};
use crate::{Result, bug};
use arrow::array::{ArrayRef, AsArray, RecordBatch, StringArray};
use std::borrow::Cow;
use std::sync::Arc;

/// Reads the input, finds what is repeated, gives the output.
pub(super) fn run(work: &Work, feed: &mut Feed, outlet: &Outlet<'_>, budgets: Budgets) -> Result<()> {
    let Some(column) = work.layout.value else { return Err(bug!("{} has no text", work.request.label)) };
    let budget = budgets.keys;
    let which = work.request.keep.which;
    let mut finder: Box<dyn SpanFinder> = match &work.request.method {
        Method::Lines(lines) => Box::new(LineFinder::new(lines, which, &budget)),
        Method::Substring(substring) => Box::new(SubstringFinder::new(substring, which, &budget)),
        other => return Err(bug!("{} cuts nothing", other.name())),
    };
    let mut documents = Documents::new(Arc::clone(&work.input_schema), budgets.documents);
    while let Some(batch) = feed.next()? {
        let _timer = work.elapsed.timer();
        finder.see(&texts(&batch, column)?)?;
        documents.push(batch)?;
    }
    documents.finish()?;
    let _timer = work.elapsed.timer();
    while finder.end_pass()? {
        for batch in documents.replay()? {
            finder.see(&texts(&batch?.1, column)?)?;
        }
    }
    for batch in documents.replay()? {
        let (_, batch) = batch?;
        let outcomes = finder.cut(&texts(&batch, column)?)?;
        if let Some(dropped) = &work.dropped {
            let reasons: Vec<Reason> = outcomes.iter().enumerate().filter_map(reason).collect();
            dropped.write(&batch, &work.request.label, None, &reasons)?;
        }
        outlet.send(cut_rows(work, &batch, column, &outcomes)?)?;
    }
    work.counts.cut_bytes.add(finder.tally().cut_bytes as usize);
    Ok(())
}

fn texts(batch: &RecordBatch, column: usize) -> Result<Vec<Option<&str>>> {
    let texts = batch.column(column);
    match texts.as_string_opt::<i32>() {
        Some(texts) => Ok(texts.iter().collect()),
        None => Err(bug!("a text of type {}", texts.data_type())),
    }
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

fn cut_rows(work: &Work, batch: &RecordBatch, column: usize, outcomes: &[Outcome]) -> Result<RecordBatch> {
    let keep: Vec<bool> = outcomes.iter().map(|outcome| !matches!(outcome, Outcome::Drop(..))).collect();
    if outcomes.iter().all(|outcome| !matches!(outcome, Outcome::Cut(_))) {
        return kept_rows(batch, &keep, vec![], &work.layout, &work.output_schema);
    }
    let cut = texts(batch, column)?.into_iter().zip(outcomes).map(|(text, outcome)| match outcome {
        Outcome::Cut(cuts) => text.map(|text| Cow::Owned(cut_text(text, cuts))),
        Outcome::Same | Outcome::Drop(..) => text.map(Cow::Borrowed),
    });
    let mut columns: Vec<ArrayRef> = batch.columns().to_vec();
    columns[column] = Arc::new(StringArray::from_iter(cut));
    let batch = RecordBatch::try_new(batch.schema(), columns).map_err(|error| bug!("cut texts: {error}"))?;
    kept_rows(&batch, &keep, vec![], &work.layout, &work.output_schema)
}
