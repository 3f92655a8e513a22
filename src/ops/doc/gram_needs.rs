//! Which n-grams a statistic reads: of words, of refined words, of words run together, of characters.

use super::grams::LONGEST_GRAM;

/// A set of kinds of n-grams, with their lengths.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct GramNeeds {
    /// Up to this n: [`Grams`](super::Grams). 0 for none.
    pub(super) words: u8,
    /// Up to this n, of Chinese words.
    pub(super) chinese: u8,
    /// Up to this n, of words in lower case without marks at their ends.
    pub(super) refined: u8,
    /// For these n: [`JoinedGrams`](super::JoinedGrams).
    pub(super) joined: Lengths,
    /// For these n: [`CharGrams`](super::CharGrams).
    pub(super) chars: Lengths,
}

/// A set of numbers from 1 to 64, bit by bit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Lengths(u64);

impl Lengths {
    pub(super) const fn one(n: usize) -> Self {
        Self(1 << (up_to_longest(n) - 1))
    }

    pub(super) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Bit n − 1 for each n of the set.
    pub(super) const fn bits(self) -> u64 {
        self.0
    }

    /// From the least up.
    pub(super) fn iter(self) -> impl Iterator<Item = usize> {
        (1..=LONGEST_GRAM).filter(move |n| self.0 >> (n - 1) & 1 == 1)
    }
}

impl GramNeeds {
    pub(super) const NONE: GramNeeds =
        GramNeeds { words: 0, chinese: 0, refined: 0, joined: Lengths(0), chars: Lengths(0) };

    pub(super) const fn and(self, other: GramNeeds) -> GramNeeds {
        GramNeeds {
            words: longer(self.words, other.words),
            chinese: longer(self.chinese, other.chinese),
            refined: longer(self.refined, other.refined),
            joined: Lengths(self.joined.0 | other.joined.0),
            chars: Lengths(self.chars.0 | other.chars.0),
        }
    }

    pub(super) const fn has(self, part: GramNeeds) -> bool {
        self.words >= part.words
            && self.chinese >= part.chinese
            && self.refined >= part.refined
            && self.joined.0 & part.joined.0 == part.joined.0
            && self.chars.0 & part.chars.0 == part.chars.0
    }

    pub(super) const fn is_empty(self) -> bool {
        self.words == 0 && self.chinese == 0 && self.refined == 0 && self.joined.is_empty() && self.chars.is_empty()
    }

    /// As `EXPLAIN` lists them.
    pub(super) fn names(self) -> impl Iterator<Item = String> {
        let up_to = |n: u8, what: &str| (n > 0).then(|| format!("{what}{n}-grams"));
        let each = |lengths: Lengths, what: &str| {
            let lengths: Vec<String> = lengths.iter().map(|n| n.to_string()).collect();
            (!lengths.is_empty()).then(|| format!("{what}{}-grams", lengths.join("/")))
        };
        [
            up_to(self.words, ""),
            up_to(self.chinese, "chinese "),
            up_to(self.refined, "refined "),
            each(self.joined, "joined "),
            each(self.chars, "character "),
        ]
        .into_iter()
        .flatten()
    }
}

const fn longer(a: u8, b: u8) -> u8 {
    if a > b { a } else { b }
}

/// Operators bound their `n`; a length from elsewhere is brought into the bounds.
pub(super) const fn up_to_longest(n: usize) -> u8 {
    if n < 1 {
        1
    } else if n > LONGEST_GRAM {
        LONGEST_GRAM as u8
    } else {
        n as u8
    }
}
