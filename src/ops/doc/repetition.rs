//! The parts of a document that are about repetition, found as far as asked for.

use super::char_grams::CharGrams;
use super::gram_bounds::GramBounds;
use super::gram_needs::{GramKind, Lengths};
use super::grams::{Grams, Level};
use super::joined::JoinedGrams;
use super::joined_bounds::JoinedBounds;
use super::needs::is_chinese;
use super::refined::RefinedWords;
use super::repeats::RepeatTable;
use super::run_together::RunTogether;
use super::words::Word;
use super::{Doc, Needs, PassStage};
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
        if needs.stage() > PassStage::Scan {
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
        if self.ready.stage() == PassStage::Scan {
            self.note_undeclared("the number of characters");
        }
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

    /// Numbers about the words that all their n-grams share. Needs [`Needs::grams`] of any length.
    pub fn grams(&self) -> &Grams {
        self.check_kind(GramKind::Words);
        &self.repetition.grams
    }

    /// What repeats among the n-grams of words. Needs [`Needs::grams`].
    pub fn level(&self, n: usize) -> Level {
        if self.has_grams(GramKind::Words, n) { self.repetition.grams.level(n) } else { Level::default() }
    }

    /// How often each distinct word occurs, in the order of first occurrence. Needs [`Needs::grams`] of length 1.
    pub fn word_tallies(&self) -> &[u32] {
        self.has_grams(GramKind::Words, 1);
        &self.repetition.grams.word_counts
    }

    /// Numbers about the words in the language of the option `lang`. Needs [`Needs::grams_in`].
    pub fn grams_in(&self, args: &Args) -> &Grams {
        if !is_chinese(args) {
            return self.grams();
        }
        self.check_kind(GramKind::Chinese);
        &self.repetition.chinese_grams
    }

    /// What repeats among the n-grams of those words, for the option `n`. Needs [`Needs::grams_in`].
    pub fn level_in(&self, args: &Args) -> Level {
        let n = args.count("n");
        match is_chinese(args) {
            false => self.level(n),
            true if self.has_grams(GramKind::Chinese, n) => self.repetition.chinese_grams.level(n),
            true => Level::default(),
        }
    }

    /// Numbers about the refined words. Needs [`Needs::refined_grams`] of any length.
    pub fn refined_grams(&self) -> &Grams {
        self.check_kind(GramKind::Refined);
        &self.repetition.refined_grams
    }

    /// What repeats among the n-grams of refined words. Needs [`Needs::refined_grams`].
    pub fn refined_level(&self, n: usize) -> Level {
        if self.has_grams(GramKind::Refined, n) { self.repetition.refined_grams.level(n) } else { Level::default() }
    }

    /// The characters in repeated n-grams of words run together. Needs [`Needs::joined_grams`].
    pub fn joined_repeated_chars(&self, n: usize) -> usize {
        self.has_grams(GramKind::Joined, n);
        self.repetition.joined.repeated_chars(n)
    }

    /// The occurrences of the most frequent runs of `n` characters among all: `char_grams.rs`. Needs
    /// [`Needs::char_grams`].
    pub fn top_char_gram_ratio(&self, n: usize) -> f64 {
        self.has_grams(GramKind::Chars, n);
        self.repetition.char_grams.top_ratio(n)
    }

    /// The most bytes that all occurrences of an n-gram of words can have, if that is known. Needs
    /// [`Needs::top_bound`].
    pub fn top_gram_bytes_at_most(&self, n: usize) -> Option<usize> {
        self.has_grams(GramKind::TopBound, n);
        self.repetition.bounds.top_bytes(n)
    }

    /// The most bytes in n-grams that came before, if that is known, for the options `n` and `lang`. Needs
    /// [`Needs::again_bound_in`].
    pub fn again_bytes_at_most(&self, args: &Args) -> Option<usize> {
        if is_chinese(args) {
            return None;
        }
        let n = args.count("n");
        self.has_grams(GramKind::AgainBound, n);
        self.repetition.bounds.again_bytes(n)
    }

    /// The most bytes in all finds of an n-gram, also inside words, if that is known, for the options `n` and `lang`.
    /// Needs [`Needs::found_bound_in`].
    pub fn found_bytes_at_most(&self, args: &Args) -> Option<usize> {
        if is_chinese(args) {
            return None;
        }
        let n = args.count("n");
        self.has_grams(GramKind::FoundBound, n);
        self.repetition.found_bounds.top_bytes(n)
    }

    /// The most bytes in repeated n-grams of words run together. Needs [`Needs::joined_bound`].
    pub fn joined_repeated_bytes_at_most(&self, n: usize) -> usize {
        self.has_grams(GramKind::JoinedBound, n);
        self.repetition.joined_bounds.repeated_bytes(n)
    }

    /// Some n-grams of this kind must have been asked for.
    fn check_kind(&self, kind: GramKind) {
        if self.ready.gram_needs().of(kind).is_empty() {
            self.note_undeclared(format_args!("n-grams ({kind:?})"));
        }
    }

    /// Whether n-grams of this kind and length were asked for, as they must have been.
    fn has_grams(&self, kind: GramKind, n: usize) -> bool {
        let is_ready = self.ready.gram_needs().of(kind).has_all(Lengths::one(n));
        if !is_ready {
            self.note_undeclared(format_args!("{n}-grams ({kind:?})"));
        }
        is_ready
    }
}
