//! A document taken apart once, for every statistic that is asked of it.
//!
//! ```text
//! text ──read──► Doc { chars, words, lines, … } ──► words(text), alpha_ratio(text), mean_word_length(text), …
//! ```
//! A statistic ([`Cpu::Statistic`](super::Cpu)) names the parts it reads ([`Needs`]); [`Doc::read`] finds the parts that
//! the statistics of a query need together in one walk, and each statistic is then a few operations on them. The same
//! code runs for one statistic and for thirty: that is why fused and separate evaluation agree.
//!
//! Invariant: a part is valid only if the last [`Doc::read`] was asked for it; debug builds check every access.
//! Buffers are kept from one document to the next.
//! Not here: which statistics are computed together, and when (the optimizer).

mod char_grams;
mod chars;
mod gram_needs;
mod grams;
mod intern;
mod joined;
mod lines;
mod needs;
mod refined;
mod repeats;
mod repetition;
mod special_chars;
mod split_lines;
mod words;

pub use char_grams::CharGrams;
pub use chars::CharCounts;
pub use grams::{Grams, LONGEST_GRAM, Level};
pub use joined::JoinedGrams;
pub use lines::Lines;
pub use needs::{Needs, Stage};
pub use repeats::{RepeatTable, Repeats};
pub use split_lines::SplitLines;
pub(crate) use split_lines::split_lines;
pub use words::{Word, Words};

/// One document and the parts of it that were asked for.
#[derive(Debug, Default)]
pub struct Doc<'t> {
    text: &'t str,
    ready: Needs,
    chars: CharCounts,
    words: Words,
    lines: Lines,
    repetition: repetition::Repetition,
    split_lines: SplitLines,
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
        if needs.has(Needs::CHARS) {
            self.chars = CharCounts::of(text);
        }
        if needs.has(Needs::WORDS) {
            self.words.read(text);
        }
        if needs.has(Needs::LINES) {
            self.lines.read(text);
        }
        self.repetition.read(text, &self.words, needs);
        if needs.has(Needs::SPLIT_LINES) {
            self.split_lines.read(text);
        }
    }

    /// The document itself. Always there.
    pub fn text(&self) -> &'t str {
        self.text
    }

    /// Needs [`Needs::CHARS`].
    pub fn chars(&self) -> &CharCounts {
        self.check(Needs::CHARS);
        &self.chars
    }

    /// Needs [`Needs::WORDS`].
    pub fn words(&self) -> &Words {
        self.check(Needs::WORDS);
        &self.words
    }

    /// Needs [`Needs::LINES`].
    pub fn lines(&self) -> &Lines {
        self.check(Needs::LINES);
        &self.lines
    }

    /// Needs [`Needs::SPLIT_LINES`].
    pub fn split_lines(&self) -> &SplitLines {
        self.check(Needs::SPLIT_LINES);
        &self.split_lines
    }

    fn check(&self, part: Needs) {
        debug_assert!(self.ready.has(part), "the statistic does not declare that it needs {part:?}");
    }
}
