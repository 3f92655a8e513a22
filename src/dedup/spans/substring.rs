//! `DEDUP SUBSTRING`: every substring of at least `n` bytes or tokens that occurred before, wherever it stands.
//!
//! A substring of `n` or more units repeats if each of its windows of `n` does, so windows are looked for. Not all of
//! them are hashed: windows side by side with the same anchor are a block (`blocks.rs`), and equal windows have equal
//! anchors.
//!
//! ```text
//! pass 1  a record for each block  ─by anchor, content─►  an anchor with one content: later blocks repeat as a whole
//!                                                         an anchor with several: the first block of each is examined
//! pass 2  a record for each window of the examined blocks  ─by content─►  windows that repeat
//! ```
//! Windows of other blocks need no look: each stands in the first block with the same content, too.
//! What goes: `[p, p + n)` for each window that repeats, but never a part of the very window that it repeats, where the
//! two overlap: of `aaaa…` the first `n` stay. Then the ranges are merged and drawn in to whole characters.
//! Tokens are equal if their hashes of 64 bits are; white space between them is not compared, and stays.
//!
//! Memory: [`SubstringFinder::memory_bytes`]. A record of 32 bytes a block, in common text each n/4 units; the worst
//! text (one letter over and over) has a block at each unit. A record of 24 bytes for a window that is examined, and 16
//! for what goes.
//! Invariant: the result is that of comparing all windows with all, up to collisions of 128 bits.

use super::blocks::{Document, Lens};
use super::finder::{Outcome, SpanFinder, Tally, judge, map_all};
use super::repeats::{ByPosition, Replay, Stays, for_each_repeat};
use super::tokens::tokens;
use crate::dedup::{Budget, Groups, KeepWhich, Substring};
use crate::{Result, bug};
use std::ops::Range;
use std::sync::Arc;

/// All windows of the block repeat.
const WHOLE: u64 = 1;
/// The windows of the block are looked at one by one.
const EXAMINE: u64 = 2;

/// Finds repeated substrings.
pub struct SubstringFinder {
    spec: Substring,
    lens: Lens,
    stays: Stays,
    budget: Arc<dyn Budget>,
    state: State,
    n_units: u64,
    tally: Tally,
}

enum State {
    /// Anchor, content and first window of each block.
    Blocks(Groups<4>),
    /// The marks of pass 1, the content of each window, and what goes.
    Windows(Replay, Groups<3>, ByPosition),
    Cutting(Replay),
    Failed,
}

/// What pass 2 finds in one text.
#[derive(Default)]
struct Marked {
    /// Units that go.
    gone: Vec<Range<usize>>,
    /// Windows and their hashes.
    windows: Vec<(usize, u128)>,
}

impl SubstringFinder {
    /// A finder that has seen nothing.
    pub fn new(spec: &Substring, keep: KeepWhich, budget: &Arc<dyn Budget>) -> Self {
        Self {
            spec: spec.clone(),
            lens: Lens::new(spec.min_length),
            stays: keep.into(),
            budget: Arc::clone(budget),
            state: State::Blocks(Groups::new(budget)),
            n_units: 0,
            tally: Tally::default(),
        }
    }

    fn blocks(&self, text: &str) -> (u64, Vec<[u64; 4]>) {
        let document = self.lens.document(text);
        let mut records = Vec::with_capacity(document.n_units() / self.lens.mean_block() as usize + 1);
        self.lens.for_each_block(&document, |block| {
            let hash = document.hash(block.first..block.last + self.lens.window);
            records.push([block.anchor, (hash >> 64) as u64, hash as u64, block.first as u64]);
        });
        (document.n_units() as u64, records)
    }

    /// Which blocks repeat and which must be examined.
    fn end_blocks(&self, blocks: Groups<4>) -> Result<Replay> {
        let stays = self.stays;
        let mut marks = ByPosition::new(&self.budget, self.n_units);
        let mut mark = |record: &[u64; 4], mark: u64| marks.push(stays.order(record[3]), mark);
        // The first block of its content, and how it was marked.
        let mut first: Option<([u64; 4], u64)> = None;
        blocks.finish()?.for_each_record(|record| {
            let Some((first, marked)) = first.as_mut().filter(|(first, _)| first[0] == record[0]) else {
                first = Some((*record, 0));
                return Ok(());
            };
            let same = first[..3] == record[..3];
            let overlaps = stays.order(record[3]).abs_diff(stays.order(first[3])) < self.lens.window as u64;
            let needed = match same {
                true if stays == Stays::None => WHOLE,
                true if !overlaps => 0,
                _ => EXAMINE,
            };
            if needed & !*marked != 0 {
                mark(first, needed)?;
                *marked |= needed;
            }
            match needed {
                0 | WHOLE => mark(record, WHOLE),
                _ => {
                    if !same {
                        (*first, *marked) = (*record, EXAMINE);
                    }
                    mark(record, EXAMINE)
                }
            }
        })?;
        marks.finish()
    }

    fn marked(&self, document: &Document<'_>, marks: &[(usize, u64)]) -> Marked {
        let mut found = Marked::default();
        let mut marks = marks.iter().peekable();
        if marks.peek().is_none() {
            return found;
        }
        self.lens.for_each_block(document, |block| {
            while let Some((_, mark)) = marks.next_if(|(first, _)| *first == block.first) {
                match *mark {
                    WHOLE => push_merged(&mut found.gone, block.first..block.last + self.lens.window),
                    _ => found
                        .windows
                        .extend((block.first..=block.last).map(|at| (at, document.hash(at..at + self.lens.window)))),
                }
            }
        });
        found
    }

    /// Where the windows repeat that were examined.
    fn end_windows(&self, windows: Groups<3>, mut gone: ByPosition) -> Result<Replay> {
        let n = self.lens.window as u64;
        for_each_repeat(windows, self.stays, |at, repeated| match self.stays {
            Stays::First => gone.push(at.max(repeated + n), at + n),
            Stays::Last => gone.push(at, (at + n).min(repeated)),
            Stays::None => gone.push(at, at + n),
        })?;
        gone.finish()
    }

    /// What becomes of a text that these units go of.
    fn outcome(&self, text: &str, gone: &[Range<usize>]) -> Outcome {
        if gone.is_empty() {
            return Outcome::Same;
        }
        let cuts = match self.lens.tokens {
            true => {
                let places: Vec<Range<usize>> = tokens(text).collect();
                let ends = gone.iter().filter_map(|gone| Some((places.get(gone.start)?, places.get(gone.end - 1)?)));
                ends.map(|(first, last)| first.start..last.end).collect()
            }
            false => {
                let inner =
                    gone.iter().map(|gone| text.ceil_char_boundary(gone.start)..text.floor_char_boundary(gone.end));
                inner.filter(|cut| cut.start < cut.end).collect()
            }
        };
        judge(text, cuts, self.spec.min_document_words, 0, None)
    }
}

impl SpanFinder for SubstringFinder {
    fn see(&mut self, texts: &[Option<&str>]) -> Result<()> {
        let texts: Vec<&str> = texts.iter().flatten().copied().collect();
        self.state = match std::mem::replace(&mut self.state, State::Failed) {
            State::Blocks(mut blocks) => {
                for (n_units, records) in map_all(self.budget.as_ref(), &texts, |text| self.blocks(text)) {
                    for [anchor, high, low, first] in records {
                        blocks.push([anchor, high, low, self.stays.order(self.n_units + first)])?;
                    }
                    self.n_units += n_units;
                }
                State::Blocks(blocks)
            }
            State::Windows(mut marks, mut windows, mut gone) => {
                let mut documents = vec![];
                let mut start = self.n_units;
                for document in map_all(self.budget.as_ref(), &texts, |text| self.lens.document(text)) {
                    let end = start + document.n_units() as u64;
                    documents.push((start, document, marks.take(start, end)?));
                    start = end;
                }
                let found =
                    map_all(self.budget.as_ref(), &documents, |(_, document, marks)| self.marked(document, marks));
                for (found, (start, ..)) in found.into_iter().zip(&documents) {
                    for range in found.gone {
                        gone.push(start + range.start as u64, start + range.end as u64)?;
                    }
                    for (at, hash) in found.windows {
                        windows.push([(hash >> 64) as u64, hash as u64, self.stays.order(start + at as u64)])?;
                    }
                }
                self.n_units = start;
                State::Windows(marks, windows, gone)
            }
            State::Cutting(_) | State::Failed => return Err(bug!("texts are seen after the last pass")),
        };
        Ok(())
    }

    fn end_pass(&mut self) -> Result<bool> {
        self.state = match std::mem::replace(&mut self.state, State::Failed) {
            State::Blocks(blocks) => {
                let gone = ByPosition::new(&self.budget, self.n_units);
                State::Windows(self.end_blocks(blocks)?, Groups::new(&self.budget), gone)
            }
            State::Windows(_, windows, gone) => State::Cutting(self.end_windows(windows, gone)?),
            State::Cutting(_) | State::Failed => return Err(bug!("a pass ends after the last one")),
        };
        self.n_units = 0;
        Ok(matches!(self.state, State::Windows(..)))
    }

    fn cut(&mut self, texts: &[Option<&str>]) -> Result<Vec<Outcome>> {
        let n_units = map_all(self.budget.as_ref(), texts, |text| match text {
            Some(text) if self.lens.tokens => tokens(text).count(),
            Some(text) => text.len(),
            None => 0,
        });
        let State::Cutting(replay) = &mut self.state else { return Err(bug!("texts are cut before the last pass")) };
        let mut found = vec![];
        for (text, n_units) in texts.iter().zip(n_units) {
            let (start, end) = (self.n_units, self.n_units + n_units as u64);
            let mut gone = vec![];
            for (first, end) in replay.take(start, end)? {
                push_merged(&mut gone, first..(end - start) as usize);
            }
            found.push((text.unwrap_or_default(), gone));
            self.n_units = end;
        }
        let outcomes = map_all(self.budget.as_ref(), &found, |(text, gone)| self.outcome(text, gone));
        outcomes.iter().for_each(|outcome| self.tally.count(outcome));
        Ok(outcomes)
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}

/// Adds a range that begins in or after the last one.
fn push_merged(ranges: &mut Vec<Range<usize>>, range: Range<usize>) {
    match ranges.last_mut() {
        Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
        _ => ranges.push(range),
    }
}

#[cfg(test)]
#[path = "tests/substring.rs"]
mod tests;
