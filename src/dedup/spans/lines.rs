//! `DEDUP LINES`: lines, paragraphs or sentences, alone or several in a row, that occurred before.
//!
//! Each run of `span` units is hashed as one; a run whose hash occurred before, in an earlier text or earlier in the
//! same one, goes with all its units. Where repeated runs overlap, all units of each go, as in datatrove's sentence
//! deduplication; so runs of one and the same line keep less than `span` of it. Unlike there, `min_words` counts the
//! words of the whole run, not of its first sentence.
//! White space between two units that go, goes too.
//! Memory: [`LineFinder::memory_bytes`]; 24 bytes a run of units, 16 for each that goes.
//! Invariant: one pass over the texts.

use super::finder::{Outcome, SpanFinder, count_words, is_space, judge, map_all};
use super::normal::normalized;
use super::repeats::{ByPlace, Stays, add_repeats};
use super::text_partition::{TextPartition, number_units};
use super::units::{Unit, units};
use crate::dedup::{Budget, KeepWhich, Lines, LinesUnit, SharedGroups};
use crate::ops::dedup::Normalize;
use crate::{Result, bug};
use std::ops::Range;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_128;

/// Finds repeated lines, paragraphs or sentences.
pub struct LineFinder {
    spec: Lines,
    stays: Stays,
    budget: Arc<dyn Budget>,
    state: State,
}

enum State {
    /// The hash and the unit of each run.
    Seeing(SharedGroups<3>),
    Cutting,
    Failed,
}

/// The runs of units of one text: the first unit of each and its hash.
#[derive(Default)]
struct Runs {
    n_units: u64,
    hashes: Vec<(u64, u128)>,
}

impl LineFinder {
    /// A finder that has seen nothing.
    pub fn new(spec: &Lines, keep: KeepWhich, budget: &Arc<dyn Budget>) -> Self {
        Self {
            spec: Lines { span: spec.span.max(1), ..spec.clone() },
            stays: keep.into(),
            budget: Arc::clone(budget),
            state: State::Seeing(SharedGroups::new(budget)),
        }
    }

    fn runs(&self, text: &str) -> Runs {
        let units = units(text, self.spec.unit);
        let span = self.spec.span;
        if units.len() < span {
            return Runs { n_units: units.len() as u64, hashes: vec![] };
        }
        let mut joined = String::with_capacity(text.len());
        let mut places = Vec::with_capacity(units.len());
        let mut buffer = String::new();
        for unit in &units {
            let piece = text.get(unit.text.clone()).unwrap_or_default();
            let start = joined.len();
            joined.push_str(normalized(piece, self.spec.normalize, &mut buffer));
            places.push(start..joined.len());
            joined.push(if self.spec.normalize == Normalize::Datatrove { ' ' } else { '\n' });
        }
        let n_words: Vec<usize> = match self.spec.min_words {
            0 | 1 => vec![],
            enough => units.iter().map(|unit| count_words(text.get(unit.text.clone()).into_iter(), enough)).collect(),
        };
        let hashes = places.windows(span).enumerate().filter_map(|(at, run)| {
            let words = n_words.get(at..at + span);
            let is_short = words.is_some_and(|words| words.iter().sum::<usize>() < self.spec.min_words);
            let run = joined.get(run[0].start..run[span - 1].end).unwrap_or_default();
            // A run of nothing but punctuation is no text that could repeat.
            let is_blank = run.trim_start_matches(is_space).is_empty();
            (!is_short && !is_blank).then(|| (at as u64, xxh3_128(run.as_bytes())))
        });
        Runs { n_units: units.len() as u64, hashes: hashes.collect() }
    }

    /// What becomes of a text whose runs at `repeats` go.
    fn outcome(&self, text: &str, units: &[Unit], repeats: &[(usize, u64)]) -> Outcome {
        let mut cuts: Vec<Range<usize>> = vec![];
        let (mut next_kept, mut n_left) = (0, units.len());
        for (first, _) in repeats {
            let end = (first + self.spec.span).min(units.len());
            let start = (*first).max(next_kept);
            let Some(gone) = units.get(start..end).filter(|gone| !gone.is_empty()) else { continue };
            let range = gone[0].whole.start..gone[gone.len() - 1].whole.end;
            match cuts.last_mut() {
                Some(last) if start == next_kept => last.end = range.end,
                _ => cuts.push(range),
            }
            n_left -= gone.len();
            next_kept = end;
        }
        if self.spec.unit == LinesUnit::Sentence {
            cut_leading_space(text, &mut cuts);
        }
        judge(text, cuts, self.spec.min_document_words, self.spec.min_document_units, Some(n_left))
    }
}

/// What a sentence has before it separates it from the one before: what is left begins without, as in datatrove.
fn cut_leading_space(text: &str, cuts: &mut Vec<Range<usize>>) {
    let Some(first) = cuts.first_mut() else { return };
    let start = if first.start == 0 { first.end } else { 0 };
    let rest = text.get(start..).unwrap_or_default();
    let end = start + rest.len() - rest.trim_start_matches(is_space).len();
    match start {
        0 if end > 0 => cuts.insert(0, 0..end),
        _ => first.end = first.end.max(end),
    }
}

impl SpanFinder for LineFinder {
    fn see(&self, partition: &mut TextPartition, texts: &[Option<&str>], positions: &[u64]) -> Result<()> {
        let State::Seeing(groups) = &self.state else { return Err(bug!("texts are seen after the last pass")) };
        let runs = map_all(partition, texts, |text| text.map(|text| self.runs(text)).unwrap_or_default());
        let mut adder = groups.adder();
        for (row, runs) in runs.into_iter().enumerate() {
            let start = partition.pass(positions.get(row), runs.n_units)?;
            for (at, hash) in runs.hashes {
                adder.push([(hash >> 64) as u64, hash as u64, partition.packed(start + at)])?;
            }
        }
        adder.finish()
    }

    fn end_pass(&mut self, partitions: &mut [TextPartition]) -> Result<bool> {
        let State::Seeing(groups) = std::mem::replace(&mut self.state, State::Failed) else {
            return Err(bug!("a pass ends after the last one"));
        };
        let numbering = number_units(partitions)?;
        let runs = groups.finish(|runs| self.stays.numbered(runs, &numbering))?;
        let gone = ByPlace::new(&self.budget, &numbering, partitions);
        add_repeats(runs, self.stays, &gone, |position, _| (position, 0))?;
        gone.give_to(partitions)?;
        self.state = State::Cutting;
        Ok(false)
    }

    fn cut(&self, partition: &mut TextPartition, texts: &[Option<&str>]) -> Result<Vec<Outcome>> {
        let State::Cutting = &self.state else { return Err(bug!("texts are cut before the last pass")) };
        let unit = self.spec.unit;
        let texts = map_all(partition, texts, |text| text.map(|text| (text, units(text, unit))));
        let mut found = vec![];
        for text in &texts {
            let n_units = text.as_ref().map_or(0, |(_, units)| units.len() as u64);
            found.push((text, partition.pass_found(n_units)?));
        }
        let outcomes = map_all(partition, &found, |(text, repeats)| match text {
            Some((text, units)) => self.outcome(text, units, repeats),
            None => Outcome::Same,
        });
        partition.count(&outcomes);
        Ok(outcomes)
    }
}

#[cfg(test)]
#[path = "tests/lines.rs"]
mod tests;
