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
use super::finder::{Outcome, SpanFinder, judge, map_all};
use super::repeats::{ByPlace, Stays, add_repeats};
use super::text_partition::{TextPartition, number_units};
use super::tokens::tokens;
use crate::dedup::{Budget, KeepWhich, SharedGroups, Sorted, Substring};
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
}

enum State {
    /// Anchor, content and first window of each block.
    Blocks(SharedGroups<4>),
    /// The content of each window, and what goes: where, and how many units. Partitions have the marks of pass 1.
    Windows(SharedGroups<3>, ByPlace),
    Cutting,
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
            state: State::Blocks(SharedGroups::new(budget)),
        }
    }

    fn blocks(&self, text: &str) -> (u64, Vec<[u64; 4]>) {
        let document = self.lens.document(text);
        let mut records = Vec::with_capacity(document.n_units() / self.lens.mean_block() as usize + 1);
        self.lens.for_each_block(&document, |block| {
            let hash = document.hash(block.first..block.last + self.lens.window);
            records.push([spread(block.anchor), (hash >> 64) as u64, hash as u64, block.first as u64]);
        });
        (document.n_units() as u64, records)
    }

    /// Marks which blocks repeat and which must be examined.
    fn mark_blocks(&self, blocks: Sorted<4>, marks: &ByPlace) -> Result<()> {
        let stays = self.stays;
        blocks.par_for_each_part(|mut part| {
            let mut marks = marks.adder();
            let mut mark = |record: &[u64; 4], mark: u64| marks.push((stays.position(record[3]), mark));
            // The first block of its content, and how it was marked.
            let mut first: Option<([u64; 4], u64)> = None;
            part.for_each_record(|record| {
                let Some((first, marked)) = first.as_mut().filter(|(first, _)| first[0] == record[0]) else {
                    first = Some((*record, 0));
                    return Ok(());
                };
                let same = first[..3] == record[..3];
                let overlaps = stays.position(record[3]).abs_diff(stays.position(first[3])) < self.lens.window as u64;
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
        })
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

    /// Adds where the windows repeat that were examined.
    fn add_windows(&self, windows: Sorted<3>, gone: &ByPlace) -> Result<()> {
        let n = self.lens.window as u64;
        add_repeats(windows, self.stays, gone, |at, repeated| {
            let range = match self.stays {
                Stays::First => at.max(repeated + n)..at + n,
                Stays::Last => at..(at + n).min(repeated),
                Stays::None => at..at + n,
            };
            (range.start, range.end - range.start)
        })
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
    fn see(&self, partition: &mut TextPartition, texts: &[Option<&str>], positions: &[u64]) -> Result<()> {
        match &self.state {
            State::Blocks(blocks) => {
                let found = map_all(partition, texts, |text| self.blocks(text.unwrap_or_default()));
                let mut adder = blocks.adder();
                for (row, (n_units, records)) in found.into_iter().enumerate() {
                    let start = partition.pass(positions.get(row), n_units)?;
                    for [anchor, high, low, first] in records {
                        adder.push([anchor, high, low, partition.packed(start + first)])?;
                    }
                }
                adder.finish()
            }
            State::Windows(windows, gone) => {
                let mut documents = vec![];
                for document in map_all(partition, texts, |text| self.lens.document(text.unwrap_or_default())) {
                    let start = partition.n_units();
                    let marks = partition.pass_found(document.n_units() as u64)?;
                    documents.push((start, document, marks));
                }
                let found = map_all(partition, &documents, |(_, document, marks)| self.marked(document, marks));
                let (mut windows, mut gone) = (windows.adder(), gone.adder());
                for (found, (start, ..)) in found.into_iter().zip(&documents) {
                    for range in found.gone {
                        gone.push_at(partition.number(), (start + range.start as u64, range.len() as u64))?;
                    }
                    for (at, hash) in found.windows {
                        windows.push([(hash >> 64) as u64, hash as u64, partition.packed(start + at as u64)])?;
                    }
                }
                gone.finish()?;
                windows.finish()
            }
            State::Cutting | State::Failed => Err(bug!("texts are seen after the last pass")),
        }
    }

    fn end_pass(&mut self, partitions: &mut [TextPartition]) -> Result<bool> {
        match std::mem::replace(&mut self.state, State::Failed) {
            State::Blocks(blocks) => {
                let numbering = number_units(partitions)?;
                let marks = ByPlace::new(&self.budget, &numbering, partitions);
                let gone = ByPlace::new(&self.budget, &numbering, partitions);
                let blocks = blocks.finish(|blocks| self.stays.numbered(blocks, &numbering))?;
                self.mark_blocks(blocks, &marks)?;
                marks.give_to(partitions)?;
                self.state = State::Windows(SharedGroups::new(&self.budget), gone);
                Ok(true)
            }
            State::Windows(windows, gone) => {
                let windows = windows.finish(|windows| self.stays.numbered(windows, gone.numbering()))?;
                self.add_windows(windows, &gone)?;
                gone.give_to(partitions)?;
                self.state = State::Cutting;
                Ok(false)
            }
            State::Cutting | State::Failed => Err(bug!("a pass ends after the last one")),
        }
    }

    fn cut(&self, partition: &mut TextPartition, texts: &[Option<&str>]) -> Result<Vec<Outcome>> {
        let State::Cutting = &self.state else { return Err(bug!("texts are cut before the last pass")) };
        let n_units = map_all(partition, texts, |text| match text {
            Some(text) if self.lens.tokens => tokens(text).count(),
            Some(text) => text.len(),
            None => 0,
        });
        let mut found = vec![];
        for (text, n_units) in texts.iter().zip(n_units) {
            let mut gone = vec![];
            for (first, n_gone) in partition.pass_found(n_units as u64)? {
                push_merged(&mut gone, first..first + n_gone as usize);
            }
            found.push((text.unwrap_or_default(), gone));
        }
        let outcomes = map_all(partition, &found, |(text, gone)| self.outcome(text, gone));
        partition.count(&outcomes);
        Ok(outcomes)
    }
}

/// An anchor is the smallest hash of many: spread over all numbers again, so that no part of the groups has most of them.
fn spread(anchor: u64) -> u64 {
    anchor.wrapping_mul(0x9e37_79b9_7f4a_7c15)
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
