//! A document taken apart once, for every statistic that is asked of it.
//!
//! ```text
//! text ──read──► Doc { chars, words, lines, … } ──► words(text), alpha_ratio(text), mean_word_length(text), …
//! ```
//! A statistic ([`Cpu::Statistic`](super::Cpu)) names the parts it reads ([`Needs`]); [`Doc::read`] finds the parts that
//! the statistics of a query need together in one walk, and each statistic is then a few operations on them. The same
//! code runs for one statistic and for thirty: that is why fused and separate evaluation agree.
//!
//! Invariant: a part is valid only if the last [`Doc::read`] was asked for it. Every access checks this, once for each
//! document and part, and [`Doc::undeclared`] says what was read all the same: the value that came of it is worth
//! nothing, and whoever asked for it must fail.
//! Buffers are kept from one document to the next.
//! Not here: which statistics are computed together, and when (the optimizer).

mod block;
mod char_grams;
mod chars;
mod chinese;
mod counters;
mod gram_bounds;
mod gram_needs;
mod grams;
mod intern;
mod joined;
mod joined_bounds;
mod lines;
mod marker_chars;
mod needs;
mod refined;
mod repeats;
mod repetition;
#[cfg(test)]
mod repetition_tests;
mod run_together;
mod split_lines;
mod walk;
mod words;

pub use chars::CharCounts;
#[cfg(test)]
use grams::Level;
pub use lines::{Line, Lines};
pub use marker_chars::MarkerChars;
pub use needs::{DeviceNeeds, Needs, PassStage};
pub use repeats::Repeats;
pub(crate) use split_lines::split_lines;
pub use words::{Word, WordCounts, WordKinds, WordLengths, Words};

use crate::ops::value::Args;
use chinese::ChineseWords;
use needs::is_chinese;
use repetition::Repetition;
use split_lines::SplitLines;
use std::cell::OnceCell;
use std::fmt;
use walk::Parts;

/// One document and the parts of it that were asked for.
#[derive(Debug, Default)]
pub struct Doc<'t> {
    text: &'t str,
    ready: Needs,
    chars: CharCounts,
    marker_chars: MarkerChars,
    word_counts: WordCounts,
    word_kinds: WordKinds,
    words: Words,
    word_lengths: WordLengths,
    lines: Lines,
    split_lines: SplitLines,
    chinese: ChineseWords,
    repetition: Repetition,
    /// The first part that was read though nobody had asked for it.
    undeclared: OnceCell<String>,
}

impl<'t> Doc<'t> {
    /// A document that holds nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes `text` apart, as far as `needs` says.
    pub fn read(&mut self, text: &'t str, needs: Needs) {
        self.text = text;
        self.ready = needs;
        let parts = Parts {
            chars: &mut self.chars,
            marker_chars: &mut self.marker_chars,
            counts: &mut self.word_counts,
            kinds: &mut self.word_kinds,
            words: &mut self.words,
            lengths: &mut self.word_lengths,
            lines: &mut self.lines,
        };
        walk::read(text, needs, parts);
        if needs.has(Needs::SPLIT_LINES) {
            let chars = needs.has(Needs::CHARS).then_some(&self.chars);
            self.split_lines.read(text, &self.lines, &self.words.spans, chars);
        }
        if needs.has(Needs::CHINESE_WORDS) {
            self.chinese.read(text);
        }
        self.repetition.read(text, &self.words.spans, &self.chinese.words.spans, needs);
    }

    /// Finds the n-grams among `needs` too, in the document read last. Its words must have been found.
    pub(super) fn read_grams(&mut self, needs: Needs) {
        let grams = needs.only_grams();
        if !self.ready.has(grams) {
            self.ready = self.ready.and(grams);
            self.repetition.read(self.text, &self.words.spans, &self.chinese.words.spans, grams);
        }
    }

    /// The document itself. Always there.
    #[inline]
    pub fn text(&self) -> &'t str {
        self.text
    }

    /// Needs [`Needs::CHARS`].
    #[inline]
    pub fn chars(&self) -> &CharCounts {
        self.check(Needs::CHARS);
        &self.chars
    }

    /// Needs [`Needs::SIGNS`].
    #[inline]
    pub fn marker_chars(&self) -> &MarkerChars {
        self.check(Needs::SIGNS);
        &self.marker_chars
    }

    /// Needs [`Needs::WORD_COUNTS`].
    #[inline]
    pub fn word_counts(&self) -> &WordCounts {
        self.check(Needs::WORD_COUNTS);
        &self.word_counts
    }

    /// Needs [`Needs::WORD_LENGTHS`].
    #[inline]
    pub fn word_lengths(&self) -> &WordLengths {
        self.check(Needs::WORD_LENGTHS);
        &self.word_lengths
    }

    /// Needs [`Needs::WORD_KINDS`].
    #[inline]
    pub fn word_kinds(&self) -> &WordKinds {
        self.check(Needs::WORD_KINDS);
        &self.word_kinds
    }

    /// Needs [`Needs::WORDS`].
    #[inline]
    pub fn words(&self) -> &Words {
        self.check(Needs::WORDS);
        &self.words
    }

    /// Needs [`Needs::LINES`].
    #[inline]
    pub fn lines(&self) -> &Lines {
        self.check(Needs::LINES);
        &self.lines
    }

    /// The lines, cut at every kind of line break. Needs [`Needs::SPLIT_LINES`].
    #[inline]
    pub fn split_lines(&self) -> &[Line] {
        self.check(Needs::SPLIT_LINES);
        self.split_lines.get(&self.lines)
    }

    /// The words in the language of the option `lang`. Needs [`Needs::words_in`].
    #[inline]
    pub fn words_in(&self, args: &Args) -> &Words {
        if is_chinese(args) { &self.chinese().words } else { self.words() }
    }

    /// Their counts. Needs [`Needs::word_counts_in`].
    #[inline]
    pub fn word_counts_in(&self, args: &Args) -> &WordCounts {
        if is_chinese(args) { &self.chinese().counts } else { self.word_counts() }
    }

    /// Their lengths. Needs [`Needs::word_lengths_in`].
    #[inline]
    pub fn word_lengths_in(&self, args: &Args) -> &WordLengths {
        if is_chinese(args) { &self.chinese().lengths } else { self.word_lengths() }
    }

    fn chinese(&self) -> &ChineseWords {
        self.check(Needs::CHINESE_WORDS);
        &self.chinese
    }

    /// The first part that was read though no [`Doc::read`] had been asked for it: a mistake in an operator's
    /// [`Needs`].
    pub fn undeclared(&self) -> Option<&str> {
        self.undeclared.get().map(String::as_str)
    }

    #[inline]
    fn check(&self, part: Needs) {
        if !self.ready.has_parts_of(part) {
            self.note_undeclared(part);
        }
    }

    #[cold]
    fn note_undeclared(&self, part: impl fmt::Display) {
        self.undeclared.get_or_init(|| part.to_string());
    }
}
