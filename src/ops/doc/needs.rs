//! Which parts of a document a statistic reads, and how dear finding them is.

use std::fmt;

/// A set of parts of a [`Doc`](super::Doc).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Needs {
    parts: u32,
    longest_gram: u8,
}

/// How dear a walk is. Rules whose statistics belong to a cheap walk run first; a dear walk sees only the documents
/// that are left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// Counting bytes, characters, words, lines: a few machine cycles a byte, no memory.
    Scan,
    /// Tables of lines or paragraphs.
    Tables,
    /// Tables of words and word n-grams.
    Grams,
}

impl Stage {
    /// As `EXPLAIN` shows it.
    pub fn as_str(self) -> &'static str {
        match self {
            Stage::Scan => "scan",
            Stage::Tables => "tables",
            Stage::Grams => "n-grams",
        }
    }
}

impl Needs {
    /// Nothing but the text itself.
    pub const TEXT: Needs = Needs::part(0);
    /// Counts of characters by kind: [`CharCounts`](super::CharCounts).
    pub const CHARS: Needs = Needs::part(1 << 0);
    /// Words split at white space: [`Words`](super::Words).
    pub const WORDS: Needs = Needs::part(1 << 1);
    /// Lines split at line feeds: [`Lines`](super::Lines).
    pub const LINES: Needs = Needs::part(1 << 2);

    const fn part(parts: u32) -> Self {
        Self { parts, longest_gram: 0 }
    }

    /// Both.
    pub const fn and(self, other: Needs) -> Needs {
        let longest_gram = if self.longest_gram > other.longest_gram { self.longest_gram } else { other.longest_gram };
        Needs { parts: self.parts | other.parts, longest_gram }
    }

    /// Whether all of `part` is in the set.
    pub const fn has(self, part: Needs) -> bool {
        self.parts & part.parts == part.parts && self.longest_gram >= part.longest_gram
    }

    /// The dearest walk that finding these parts takes.
    pub fn stage(self) -> Stage {
        if self.longest_gram > 0 { Stage::Grams } else { Stage::Scan }
    }

    const NAMES: [(&'static str, Needs); 3] =
        [("chars", Needs::CHARS), ("words", Needs::WORDS), ("lines", Needs::LINES)];
}

impl fmt::Debug for Needs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Needs {
    /// The parts by name, as `EXPLAIN` lists them: `chars, words`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> =
            Self::NAMES.iter().filter(|(_, part)| self.has(*part)).map(|(name, _)| name.to_string()).collect();
        if self.longest_gram > 0 {
            parts.push(format!("{}-grams", self.longest_gram));
        }
        f.write_str(if parts.is_empty() { "text" } else { "" })?;
        f.write_str(&parts.join(", "))
    }
}
