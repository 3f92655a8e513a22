//! The parts of a document that are about repetition, found as far as asked for.

use super::char_grams::CharGrams;
use super::grams::Grams;
use super::joined::JoinedGrams;
use super::needs::is_chinese;
use super::refined::RefinedWords;
use super::repeats::RepeatTable;
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
    n_chars: usize,
}

impl Repetition {
    /// `words` and `chinese_words` must have been found if their n-grams are asked for.
    pub(super) fn read(&mut self, text: &str, words: &[Word], chinese_words: &[Word], needs: Needs) {
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
        if !grams.words.is_empty() {
            self.grams.read(text, words, grams.words);
        }
        if !grams.chinese.is_empty() {
            self.chinese_grams.read(text, chinese_words, grams.chinese);
        }
        if !grams.joined.is_empty() {
            self.joined.read(text, words, grams.joined.iter());
        }
        if !grams.refined.is_empty() {
            self.refined.read(text);
            self.refined_grams.read(&self.refined.text, &self.refined.spans, grams.refined);
        }
        if !grams.chars.is_empty() {
            self.char_grams.read(text, grams.chars.iter());
        }
        if needs.stage() > Stage::Scan {
            self.n_chars = scan::n_chars(text);
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
        let n_levels = grams.words.longest() + grams.refined.longest();
        let n_lengths = grams.joined.iter().count() + grams.chars.iter().count();
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
        debug_assert!(!self.ready.gram_needs().words.is_empty(), "the n-grams of words were not found");
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
        debug_assert!(!self.ready.gram_needs().refined.is_empty(), "the n-grams of refined words were not found");
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
