//! Which parts of a document a statistic reads, and how expensive finding them is.

use super::gram_needs::{GramKind, GramNeeds};
use crate::ops::spec::Scratch;
use crate::ops::value::Args;
use std::fmt;

/// A set of parts of a [`Doc`](super::Doc).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Needs {
    parts: u32,
    grams: GramNeeds,
}

/// What [`Needs`] says, as kernels read it: `DocNeeds` in `kernels/lib/doc.cuh`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct DeviceNeeds {
    /// The parts, bit by bit.
    pub parts: u32,
    /// Word n-grams up to this n; 0 for none.
    pub word_grams: u32,
    /// Refined word n-grams up to this n.
    pub refined_grams: u32,
    /// Bit n − 1 for n-grams of words run together.
    pub joined_grams: u64,
    /// Bit n − 1 for runs of n characters.
    pub char_grams: u64,
}

/// How expensive a walk is. Rules whose statistics belong to a cheap walk run first; an expensive walk sees only the documents
/// that are left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PassStage {
    /// Counting bytes, characters, words, lines: a few machine cycles a byte, no memory.
    Scan,
    /// Tables of lines or paragraphs; words that a dictionary finds.
    Tables,
    /// Tables of words and word n-grams.
    Grams,
}

impl PassStage {
    /// As `EXPLAIN` shows it.
    pub fn as_str(self) -> &'static str {
        match self {
            PassStage::Scan => "scan",
            PassStage::Tables => "tables",
            PassStage::Grams => "n-grams",
        }
    }
}

impl Needs {
    /// Nothing but the text itself.
    pub const TEXT: Needs = Needs::part(0);
    /// Counts of characters by kind: [`CharCounts`](super::CharCounts).
    pub const CHARS: Needs = Needs::part(1 << 0);
    /// Numbers about the words: [`WordCounts`](super::WordCounts).
    pub const WORD_COUNTS: Needs = Needs::part(1 << 1);
    /// What the words are made of, and the other numbers: [`WordKinds`](super::WordKinds).
    pub const WORD_KINDS: Needs = Needs::part(1 << 5 | 1 << 1);
    /// Words split at white space, and the numbers about them: [`Words`](super::Words).
    pub const WORDS: Needs = Needs::part(1 << 2 | 1 << 1);
    /// How many words are of which length, and the words: [`WordLengths`](super::WordLengths).
    pub const WORD_LENGTHS: Needs = Needs::part(1 << 3 | 1 << 2 | 1 << 1);
    /// Lines split at line feeds: [`Lines`](super::Lines).
    pub const LINES: Needs = Needs::part(1 << 4);
    /// The words of Chinese text, with their counts and lengths: [`Doc::words_in`](super::Doc::words_in).
    pub const CHINESE_WORDS: Needs = Needs::part(1 << 6);
    /// Which marker characters there are: [`MarkerChars`](super::MarkerChars).
    pub const SIGNS: Needs = Needs::part(1 << 7);
    /// Lines split at every kind of line break, and those at line feeds: [`Doc::split_lines`](super::Doc::split_lines).
    pub const SPLIT_LINES: Needs = Needs::part(1 << 23 | 1 << 4);

    /// What repeats among the lines: [`RepeatTable`](super::RepeatTable).
    pub const LINE_REPEATS: Needs = Needs::part(1 << 24);
    /// What repeats among the paragraphs that pairs of line feeds separate.
    pub const PARAGRAPH_REPEATS: Needs = Needs::part(1 << 25);
    /// What repeats among the paragraphs that runs of two or more line feeds separate.
    pub const BLOCK_REPEATS: Needs = Needs::part(1 << 26);

    /// What belongs to [`PassStage::Tables`].
    const TABLES: u32 = Self::LINE_REPEATS.parts
        | Self::PARAGRAPH_REPEATS.parts
        | Self::BLOCK_REPEATS.parts
        | Self::CHINESE_WORDS.parts;

    /// What repeats among the word n-grams: [`Grams`](super::Grams).
    pub const fn grams(n: usize) -> Needs {
        Needs { grams: GramNeeds::one(GramKind::Words, n), ..Needs::WORDS }
    }

    /// The same, for the option `n`, of the words in the language of the option `lang`.
    pub fn grams_in(args: &Args) -> Needs {
        let n = args.count("n");
        if !is_chinese(args) {
            return Needs::grams(n);
        }
        Needs { grams: GramNeeds::one(GramKind::Chinese, n), ..Needs::CHINESE_WORDS }
    }

    /// The same of refined words: lower case, special characters cut from their ends.
    pub const fn refined_grams(n: usize) -> Needs {
        Needs { grams: GramNeeds::one(GramKind::Refined, n), ..Needs::TEXT }
    }

    /// What repeats among the n-grams of words run together: `JoinedGrams`.
    pub const fn joined_grams(n: usize) -> Needs {
        Needs { grams: GramNeeds::one(GramKind::Joined, n), ..Needs::WORDS }
    }

    /// What repeats among the runs of `n` characters: `CharGrams`.
    pub const fn char_grams(n: usize) -> Needs {
        Needs { grams: GramNeeds::one(GramKind::Chars, n), ..Needs::TEXT }
    }

    /// How much the most frequent n-gram of words can be: `GramBounds`.
    pub const fn top_bound(n: usize) -> Needs {
        Needs { grams: GramNeeds::one(GramKind::TopBound, n), ..Needs::WORDS }
    }

    /// How much the n-grams of words that came before can be, for the options `n` and `lang`. Of Chinese words nothing is
    /// known.
    pub fn again_bound_in(args: &Args) -> Needs {
        Self::bound_in(args, GramKind::AgainBound)
    }

    /// The same of the most frequent n-gram that is looked for as a string, also inside words.
    pub fn found_bound_in(args: &Args) -> Needs {
        Self::bound_in(args, GramKind::FoundBound)
    }

    fn bound_in(args: &Args, kind: GramKind) -> Needs {
        if is_chinese(args) {
            return Needs::CHINESE_WORDS;
        }
        Needs { grams: GramNeeds::one(kind, args.count("n")), ..Needs::WORDS }
    }

    /// How much the repeated n-grams of words run together can be: `JoinedBounds`.
    pub const fn joined_bound(n: usize) -> Needs {
        Needs { grams: GramNeeds::one(GramKind::JoinedBound, n), ..Needs::WORDS }
    }

    /// These without n-grams.
    pub const fn without_grams(self) -> Needs {
        Needs { grams: GramNeeds::NONE, ..self }
    }

    /// Just the n-grams among these.
    pub(super) const fn only_grams(self) -> Needs {
        Needs { parts: 0, grams: self.grams }
    }

    pub(super) const fn gram_needs(self) -> GramNeeds {
        self.grams
    }

    const fn part(parts: u32) -> Self {
        Self { parts, grams: GramNeeds::NONE }
    }

    /// The words in the language of the option `lang`.
    pub fn words_in(args: &Args) -> Needs {
        if is_chinese(args) { Needs::CHINESE_WORDS } else { Needs::WORDS }
    }

    /// Their counts.
    pub fn word_counts_in(args: &Args) -> Needs {
        if is_chinese(args) { Needs::CHINESE_WORDS } else { Needs::WORD_COUNTS }
    }

    /// Their lengths.
    pub fn word_lengths_in(args: &Args) -> Needs {
        if is_chinese(args) { Needs::CHINESE_WORDS } else { Needs::WORD_LENGTHS }
    }

    /// Both.
    pub const fn and(self, other: Needs) -> Needs {
        Needs { parts: self.parts | other.parts, grams: self.grams.and(other.grams) }
    }

    /// Whether all of `part` is in the set.
    pub const fn has(self, part: Needs) -> bool {
        self.parts & part.parts == part.parts && self.grams.has(part.grams)
    }

    /// Whether all of `part` but its n-grams is in the set.
    #[inline]
    pub(super) const fn has_parts_of(self, part: Needs) -> bool {
        self.parts & part.parts == part.parts
    }

    /// Whether the walks that find these parts are the ones that find `part`: tables and kinds of n-grams take one each, all
    /// else is found in the first.
    pub const fn has_walks_of(self, part: Needs) -> bool {
        part.parts & Self::TABLES & !self.parts == 0 && self.grams.has_kinds_of(part.grams)
    }

    /// The same for a kernel.
    pub fn on_device(self) -> DeviceNeeds {
        DeviceNeeds {
            // Kernels look for signs themselves.
            parts: self.parts & !Self::SIGNS.parts,
            word_grams: self.grams.of(GramKind::Words).longest() as u32,
            refined_grams: self.grams.of(GramKind::Refined).longest() as u32,
            joined_grams: self.grams.of(GramKind::Joined).bits(),
            char_grams: self.grams.of(GramKind::Chars).bits(),
        }
    }

    /// Device memory that a kernel needs to find these parts, for a document.
    pub fn device_scratch(self) -> Scratch {
        let when = |bits: u32, scratch: Scratch| if self.parts & bits != 0 { scratch } else { Scratch::NONE };
        // Marks of 16 bytes for each 32 of the text, also where the text does not fill them: kernels/lib/walk.cuh.
        let words_and_lines = Scratch { bytes_per_byte: 1, bytes_per_row: 32 };
        let further_lines = Scratch { bytes_per_byte: 1, bytes_per_row: 16 };
        when(1 << 2 | 1 << 4, words_and_lines).and(when(1 << 23, further_lines)).and(self.repetition_scratch())
    }

    /// Instructions of one thread for each byte that finding these parts takes in a kernel, without what repeats.
    ///
    /// Counted by running kernels over web pages of 3 kB: `chars` 62, `words` 73, `letter_word_ratio` 110, `newlines`
    /// 107, `longest_line` 167. A warp takes 32 at a time, whether or not all of its lanes have work.
    pub fn device_instructions_per_byte(self) -> f64 {
        let parts = [
            (Self::CHARS.parts | Self::WORD_COUNTS.parts | Self::LINES.parts, 50.0),
            (Self::CHARS.parts, 10.0),
            (Self::WORD_COUNTS.parts, 20.0),
            (Self::WORD_KINDS.parts & !Self::WORD_COUNTS.parts, 40.0),
            (Self::LINES.parts, 55.0),
            (Self::SPLIT_LINES.parts & !Self::LINES.parts, 60.0),
        ];
        parts.iter().filter(|(bits, _)| self.parts & bits != 0).map(|(_, instructions)| instructions).sum()
    }

    /// What finding these parts takes on a CPU, without what repeats: measured part by part on web pages of 3 kB.
    pub fn walk_ns_per_byte(self) -> f64 {
        let parts = [
            (Self::CHARS, 0.34),
            (Self::WORD_COUNTS, 0.38),
            (Self::WORD_KINDS, 0.48),
            (Self::WORDS, 0.58),
            (Self::LINES, 0.75),
            (Self::WORD_LENGTHS, 0.80),
            (Self::SPLIT_LINES, 0.87),
        ];
        parts.iter().filter(|(part, _)| self.has(*part)).map(|(_, ns)| *ns).fold(0.0, f64::max)
    }

    /// The most expensive walk that finding these parts takes.
    pub fn stage(self) -> PassStage {
        if !self.grams.is_empty() {
            PassStage::Grams
        } else if self.parts & Self::TABLES != 0 {
            PassStage::Tables
        } else {
            PassStage::Scan
        }
    }

    const NAMES: [(&'static str, Needs); 12] = [
        ("chars", Needs::CHARS),
        ("signs", Needs::SIGNS),
        ("word counts", Needs::WORD_COUNTS),
        ("word kinds", Needs::WORD_KINDS),
        ("words", Needs::WORDS),
        ("word lengths", Needs::WORD_LENGTHS),
        ("lines", Needs::LINES),
        ("split lines", Needs::SPLIT_LINES),
        ("chinese words", Needs::CHINESE_WORDS),
        ("repeated lines", Needs::LINE_REPEATS),
        ("repeated paragraphs", Needs::PARAGRAPH_REPEATS),
        ("repeated blocks", Needs::BLOCK_REPEATS),
    ];
}

impl fmt::Debug for Needs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Needs {
    /// The parts by name, as `EXPLAIN` lists them: `chars, words`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A part that another part brings with it is not named again.
        let is_in_another =
            |part: Needs| Self::NAMES.iter().any(|(_, other)| self.has(*other) && other.has(part) && *other != part);
        let mut parts: Vec<String> = Self::NAMES
            .iter()
            .filter(|(_, part)| self.has(*part) && !is_in_another(*part))
            .map(|(name, _)| name.to_string())
            .collect();
        parts.extend(self.grams.names());
        f.write_str(if parts.is_empty() { "text" } else { "" })?;
        f.write_str(&parts.join(", "))
    }
}

/// Whether the option `lang` asks for Chinese words.
#[inline]
pub(super) fn is_chinese(args: &Args) -> bool {
    args.text("lang") == "zh"
}
