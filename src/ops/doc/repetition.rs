//! The parts of a document that are about repetition, found as far as asked for.

use super::char_grams::CharGrams;
use super::grams::Grams;
use super::joined::JoinedGrams;
use super::refined::RefinedWords;
use super::repeats::RepeatTable;
use super::words::Words;
use super::{Doc, Needs};

/// Tables of lines, paragraphs and n-grams; their buffers are kept from one document to the next.
#[derive(Debug, Default)]
pub(super) struct Repetition {
    lines: RepeatTable,
    paragraphs: RepeatTable,
    blocks: RepeatTable,
    grams: Grams,
    joined: JoinedGrams,
    refined: RefinedWords,
    refined_grams: Grams,
    char_grams: CharGrams,
    n_chars: usize,
}

impl Repetition {
    /// `words` must have been found if word n-grams are asked for.
    pub(super) fn read(&mut self, text: &str, words: &Words, needs: Needs) {
        if needs.has(Needs::LINE_REPEATS) {
            self.lines.read_lines(text);
        }
        if needs.has(Needs::PARAGRAPH_REPEATS) {
            self.paragraphs.read_pairs(text);
        }
        if needs.has(Needs::BLOCK_REPEATS) {
            self.blocks.read_blocks(text);
        }
        let grams = needs.gram_needs();
        if grams.words > 0 {
            self.grams.read(text, &words.spans, grams.words.into());
        }
        if !grams.joined.is_empty() {
            self.joined.read(text, &words.spans, grams.joined.iter());
        }
        if grams.refined > 0 {
            self.refined.read(text);
            self.refined_grams.read(&self.refined.text, &self.refined.spans, grams.refined.into());
        }
        if !grams.chars.is_empty() {
            self.char_grams.read(text, grams.chars.iter());
        }
        if needs.stage() > super::Stage::Scan {
            self.n_chars = text.chars().count();
        }
    }
}

impl Doc<'_> {
    /// The characters of the document. Needs any table of lines, paragraphs or n-grams.
    pub fn n_chars(&self) -> usize {
        debug_assert!(self.ready.stage() > super::Stage::Scan, "the characters were not counted");
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
        self.check(Needs::grams(1));
        &self.repetition.grams
    }

    /// Needs [`Needs::refined_grams`].
    pub fn refined_grams(&self) -> &Grams {
        self.check(Needs::refined_grams(1));
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
}
