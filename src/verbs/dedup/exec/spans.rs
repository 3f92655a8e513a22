//! `DEDUP LINES | PARAGRAPHS | SENTENCES | SUBSTRING`: what occurred before is cut out of the texts.
//!
//! ```text
//! partitions ──► hashes to the finder, documents to the side ──(again, if it asks)──► what repeats
//!                                                documents again, cut where they are ◄──┘
//! ```

use super::apply::{Reason, kept_rows};
use super::work::{Budgets, DedupWork};
use crate::dedup::{LineFinder, Method, Outcome, SpanFinder, SubstringFinder, TextPartition, TooLittle, cut_text};
use crate::verbs::budget::threads;
use crate::verbs::documents::{Documents, texts};
use crate::verbs::working::{Input, Output, Working, in_parallel};
use crate::{Error, Result, bug};
use arrow::array::{ArrayRef, AsArray, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::UInt64Type;
use rayon::ThreadPool;
use std::borrow::Cow;
use std::sync::Arc;

/// Reads the rows, finds what is repeated, gives the output.
pub(super) fn run(work: &DedupWork, working: Working, budgets: Budgets) -> Result<()> {
    let Working { rows, outputs, stop, .. } = working;
    let Some(column) = work.columns.value else { return Err(bug!("{} has no text", work.request.label)) };
    let budget = budgets.keys;
    let which = work.request.keep.which;
    let mut finder: Box<dyn SpanFinder> = match &work.request.method {
        Method::Lines(lines) => Box::new(LineFinder::new(lines, which, &budget)),
        Method::Substring(substring) => Box::new(SubstringFinder::new(substring, which, &budget)),
        other => return Err(bug!("{} cuts nothing", other.name())),
    };
    // Several partitions are on as many threads already.
    let threads = if rows.len() == 1 { Some(threads(budget.as_ref())?) } else { None };
    let texts = Texts { work, column, threads };
    let partitions = TextPartition::all(rows.len(), &budget).into_iter().zip(rows).collect();
    let read = in_parallel(&stop, partitions, |number, (mut partition, mut input)| {
        let documents = Documents::new(Arc::clone(&work.input_schema), Arc::clone(&budgets.documents));
        let mut documents = documents.of_partition(work.again.as_ref(), number);
        texts.read(finder.as_ref(), &mut partition, &mut documents, &mut input)?;
        Ok((partition, documents))
    })?;
    let _timer = work.elapsed.timer();
    let (mut partitions, documents): (Vec<TextPartition>, Vec<Documents>) = read.into_iter().unzip();
    while finder.end_pass(&mut partitions)? {
        let again = partitions.iter_mut().zip(&documents).collect();
        in_parallel(&stop, again, |_, (partition, documents)| texts.show(finder.as_ref(), partition, documents))?;
    }
    let partitions = partitions.into_iter().zip(&documents).zip(outputs).collect();
    in_parallel(&stop, partitions, |number, ((mut partition, documents), output)| {
        texts.cut(finder.as_ref(), (number, &mut partition), documents, &output)?;
        work.counts.cut_bytes.add(partition.tally().cut_bytes as usize);
        work.dropped.as_ref().map_or(Ok(()), |dropped| dropped.end(number))?;
        output.end();
        Ok(())
    })?;
    Ok(())
}

/// The texts of the rows, and who looks at them.
struct Texts<'a> {
    work: &'a DedupWork,
    column: usize,
    /// Those that share the work of an only partition.
    threads: Option<ThreadPool>,
}

impl Texts<'_> {
    /// The first pass over a partition, which is kept.
    fn read(
        &self,
        finder: &dyn SpanFinder,
        partition: &mut TextPartition,
        documents: &mut Documents,
        input: &mut Input,
    ) -> Result<()> {
        while let Some(batch) = input.next()? {
            let _timer = self.work.elapsed.timer();
            let positions = self.work.position.map(|column| batch.column(column).as_primitive::<UInt64Type>());
            let positions: &[u64] = positions.map_or(&[], |positions| positions.values());
            self.see(finder, partition, &batch, positions)?;
            documents.push(batch)?;
        }
        documents.finish()
    }

    /// A further pass.
    fn show(&self, finder: &dyn SpanFinder, partition: &mut TextPartition, documents: &Documents) -> Result<()> {
        documents.replay()?.try_for_each(|batch| self.see(finder, partition, &batch?.1, &[]))
    }

    fn see(
        &self,
        finder: &dyn SpanFinder,
        partition: &mut TextPartition,
        batch: &RecordBatch,
        positions: &[u64],
    ) -> Result<()> {
        let texts = texts(batch, self.column)?;
        let texts: Vec<Option<&str>> = texts.iter().collect();
        self.on_threads(|| finder.see(partition, &texts, positions))
    }

    /// The last one: sends what is left of the documents.
    fn cut(
        &self,
        finder: &dyn SpanFinder,
        (number, partition): (usize, &mut TextPartition),
        documents: &Documents,
        output: &Output,
    ) -> Result<()> {
        let work = self.work;
        for batch in documents.replay()? {
            let (_, batch) = batch?;
            let texts = texts(&batch, self.column)?;
            let shown: Vec<Option<&str>> = texts.iter().collect();
            let outcomes = self.on_threads(|| finder.cut(partition, &shown))?;
            if let Some(dropped) = &work.dropped {
                let reasons: Vec<Reason> = outcomes.iter().enumerate().filter_map(reason).collect();
                dropped.write((number, &batch), &work.request.label, None, &reasons)?;
            }
            match output.send(cut_rows(work, &batch, (self.column, &texts), &outcomes)?) {
                // Nobody reads this partition; others may be read.
                Err(Error::Interrupted) => return Ok(()),
                sent => sent?,
            }
        }
        Ok(())
    }

    fn on_threads<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match &self.threads {
            Some(threads) => threads.install(work),
            None => work(),
        }
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

fn cut_rows(
    work: &DedupWork,
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
