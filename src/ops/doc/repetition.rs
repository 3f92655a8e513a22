//! The parts of a document that are about repetition, found as far as asked for.

use super::char_grams::CharGrams;
use super::gram_bounds::GramBounds;
use super::gram_needs::GramKind;
use super::grams::Grams;
use super::joined::JoinedGrams;
use super::joined_bounds::JoinedBounds;
use super::needs::is_chinese;
use super::refined::RefinedWords;
use super::repeats::RepeatTable;
use super::run_together::RunTogether;
use super::words::Word;
use super::{Doc, Needs, Stage};
use crate::ops::scan;
use crate::ops::spec::Scratch;
use crate::ops::value::Args;

/// Tables of lines, paragraphs and n-grams; their buffers are kept from one document to the next.
#[derive(Debug, Default)]
pub(super) struct Repetition {
    lines: RepeatTable,
    paragraphs: RepeatTable,
    blocks: RepeatTable,
    grams: Grams,
    chinese_grams: Grams,
    joined: JoinedGrams,
    refined: RefinedWords,
    refined_grams: Grams,
    char_grams: CharGrams,
    run_together: RunTogether,
    bounds: GramBounds,
    found_bounds: GramBounds,
    joined_bounds: JoinedBounds,
    n_chars: usize,
}

impl Repetition {
    /// `words` and `chinese_words` must have been found if their n-grams are asked for.
    pub(super) fn read(&mut self, text: &str, words: &[Word], chinese_words: &[Word], needs: Needs) {
        if needs.stage() > Stage::Scan {
            self.n_chars = scan::n_chars(text);
        }
        let is_ascii = self.n_chars == text.len();
        if needs.has(Needs::LINE_REPEATS) {
            self.lines.read_lines(text, is_ascii);
        }
        if needs.has(Needs::PARAGRAPH_REPEATS) {
            self.paragraphs.read_pairs(text, is_ascii);
        }
        if needs.has(Needs::BLOCK_REPEATS) {
            self.blocks.read_blocks(text, is_ascii);
        }
        self.read_bounds(text, words, needs);
        let asked = |kind| Some(needs.gram_needs().of(kind)).filter(|lengths| !lengths.is_empty());
        if let Some(lengths) = asked(GramKind::Words) {
            self.grams.read(text, words, lengths);
        }
        if let Some(lengths) = asked(GramKind::Chinese) {
            self.chinese_grams.read(text, chinese_words, lengths);
        }
        if let Some(lengths) = asked(GramKind::Joined) {
            self.run_together.read(text, words);
            self.joined.read(&self.run_together, lengths.iter());
        }
        if let Some(lengths) = asked(GramKind::Refined) {
            self.refined.read(text);
            self.refined_grams.read(&self.refined.text, &self.refined.spans, lengths);
        }
        if let Some(lengths) = asked(GramKind::Chars) {
            self.char_grams.read(text, lengths.iter());
        }
    }

    fn read_bounds(&mut self, text: &str, words: &[Word], needs: Needs) {
        let asked = |kind| needs.gram_needs().of(kind);
        let [top, again, found, joined] =
            [GramKind::TopBound, GramKind::AgainBound, GramKind::FoundBound, GramKind::JoinedBound].map(asked);
        if !top.is_empty() || !again.is_empty() {
            self.bounds.read(text, words, top, again);
        }
        if !found.is_empty() {
            self.found_bounds.read_ends(text, words, found);
        }
        if !joined.is_empty() {
            self.run_together.read(text, words);
            self.joined_bounds.read(&self.run_together, joined);
        }
    }
}

impl Needs {
    /// Device memory for these parts. They follow one another in the same memory: what each takes is said in its file in
    /// `kernels/lib`, and what n-grams leave behind for each n comes on top.
    pub(super) fn repetition_scratch(self) -> Scratch {
        let grams = self.gram_needs();
        let has_tables =
            [Needs::LINE_REPEATS, Needs::PARAGRAPH_REPEATS, Needs::BLOCK_REPEATS].map(|part| self.has(part));
        let bytes_per_byte = match (has_tables.contains(&true), grams.is_empty()) {
            (false, true) => return Scratch::NONE,
            (true, true) => 9,
            (_, false) => 14,
        };
        let n_levels = grams.of(GramKind::Words).longest() + grams.of(GramKind::Refined).longest();
        let n_lengths = grams.of(GramKind::Joined).iter().count() + grams.of(GramKind::Chars).iter().count();
        Scratch { bytes_per_byte, bytes_per_row: 128 + 48 * n_levels + 8 * n_lengths }
    }
}

impl Doc<'_> {
    /// The characters of the document. Needs any table of lines, paragraphs or n-grams.
    pub fn n_chars(&self) -> usize {
        debug_assert!(self.ready.stage() > Stage::Scan, "the characters were not counted");
        self.repetition.n_chars
    }

    /// Needs [`Needs::LINE_REPEATS`].
    pub fn line_repeats(&self) -> &RepeatTable {
        self.check(Needs::LINE_REPEATS);
        &self.repetition.lines
    }

    /// Needs [`Needs::PARAGRAPH_REPEATS`].
    pub fn paragraph_repeats(&self) -> &RepeatTable {
        self.check(Needs::PARAGRAPH_REPEATS);
        &self.repetition.paragraphs
    }

    /// Needs [`Needs::BLOCK_REPEATS`].
    pub fn block_repeats(&self) -> &RepeatTable {
        self.check(Needs::BLOCK_REPEATS);
        &self.repetition.blocks
    }

    /// Needs [`Needs::grams`].
    pub fn grams(&self) -> &Grams {
        self.check_kind(&[GramKind::Words]);
        &self.repetition.grams
    }

    /// Those of the words in the language of the option `lang`. Needs [`Needs::grams_in`].
    pub fn grams_in(&self, args: &Args) -> &Grams {
        if !is_chinese(args) {
            return self.grams();
        }
        self.check(Needs::grams_in(args));
        &self.repetition.chinese_grams
    }

    /// Needs [`Needs::refined_grams`].
    pub fn refined_grams(&self) -> &Grams {
        self.check_kind(&[GramKind::Refined]);
        &self.repetition.refined_grams
    }

    /// Needs [`Needs::joined_grams`] for each length asked of it.
    pub fn joined_grams(&self) -> &JoinedGrams {
        &self.repetition.joined
    }

    /// Needs [`Needs::char_grams`] for each length asked of it.
    pub fn char_grams(&self) -> &CharGrams {
        &self.repetition.char_grams
    }

    /// Needs [`Needs::top_bound`] or [`Needs::again_bound_in`] for each length asked of it.
    pub fn gram_bounds(&self) -> &GramBounds {
        self.check_kind(&[GramKind::TopBound, GramKind::AgainBound]);
        &self.repetition.bounds
    }

    /// Those of the words in the language of the option `lang`, if there are any. Needs [`Needs::again_bound_in`].
    pub fn gram_bounds_in(&self, args: &Args) -> Option<&GramBounds> {
        (!is_chinese(args)).then(|| self.gram_bounds())
    }

    /// Needs [`Needs::found_bound_in`].
    pub fn found_bounds_in(&self, args: &Args) -> Option<&GramBounds> {
        (!is_chinese(args)).then(|| {
            self.check_kind(&[GramKind::FoundBound]);
            &self.repetition.found_bounds
        })
    }

    /// Needs [`Needs::joined_bound`] for each length asked of it.
    pub fn joined_bounds(&self) -> &JoinedBounds {
        self.check_kind(&[GramKind::JoinedBound]);
        &self.repetition.joined_bounds
    }

    /// One of these kinds of n-grams must have been asked for.
    fn check_kind(&self, kinds: &[GramKind]) {
        let is_ready = |kind: &GramKind| !self.ready.gram_needs().of(*kind).is_empty();
        debug_assert!(kinds.iter().any(is_ready), "the statistic does not declare that it needs {kinds:?}");
    }
}
