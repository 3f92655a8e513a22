//! Which n-grams a statistic reads: of words, of refined words, of words run together, of characters.

use super::grams::LONGEST_GRAM;

/// A set of kinds of n-grams, with their lengths.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct GramNeeds {
    /// For these n: [`Grams`](super::Grams).
    pub(super) words: Lengths,
    /// The same of Chinese words.
    pub(super) chinese: Lengths,
    /// The same of words in lower case without marks at their ends.
    pub(super) refined: Lengths,
    /// For these n: [`JoinedGrams`](super::JoinedGrams).
    pub(super) joined: Lengths,
    /// For these n: [`CharGrams`](super::CharGrams).
    pub(super) chars: Lengths,
}

/// A set of numbers from 1 to 64, bit by bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Lengths(u64);

impl Lengths {
    pub(super) const fn one(n: usize) -> Self {
        Self(1 << (up_to_longest(n) - 1))
    }

    pub(super) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) const fn has(self, n: usize) -> bool {
        n >= 1 && n <= LONGEST_GRAM && self.0 >> (n - 1) & 1 == 1
    }

    /// The greatest; 0 if there is none.
    pub(super) const fn longest(self) -> usize {
        (u64::BITS - self.0.leading_zeros()) as usize
    }

    const fn and(self, other: Lengths) -> Lengths {
        Lengths(self.0 | other.0)
    }

    const fn has_all(self, other: Lengths) -> bool {
        self.0 & other.0 == other.0
    }

    /// Bit n − 1 for each n of the set.
    pub(super) const fn bits(self) -> u64 {
        self.0
    }

    /// From the least up.
    pub(super) fn iter(self) -> impl Iterator<Item = usize> {
        (1..=LONGEST_GRAM).filter(move |n| self.has(*n))
    }
}

impl GramNeeds {
    pub(super) const NONE: GramNeeds = GramNeeds {
        words: Lengths(0),
        chinese: Lengths(0),
        refined: Lengths(0),
        joined: Lengths(0),
        chars: Lengths(0),
    };

    pub(super) const fn and(self, other: GramNeeds) -> GramNeeds {
        GramNeeds {
            words: self.words.and(other.words),
            chinese: self.chinese.and(other.chinese),
            refined: self.refined.and(other.refined),
            joined: self.joined.and(other.joined),
            chars: self.chars.and(other.chars),
        }
    }

    pub(super) const fn has(self, part: GramNeeds) -> bool {
        self.words.has_all(part.words)
            && self.chinese.has_all(part.chinese)
            && self.refined.has_all(part.refined)
            && self.joined.has_all(part.joined)
            && self.chars.has_all(part.chars)
    }

    /// Whether each kind of n-grams that `part` has, of whatever length, is here.
    pub(super) const fn has_kinds_of(self, part: GramNeeds) -> bool {
        (part.words.is_empty() || !self.words.is_empty())
            && (part.chinese.is_empty() || !self.chinese.is_empty())
            && (part.refined.is_empty() || !self.refined.is_empty())
            && (part.joined.is_empty() || !self.joined.is_empty())
            && (part.chars.is_empty() || !self.chars.is_empty())
    }

    pub(super) const fn is_empty(self) -> bool {
        self.words.is_empty()
            && self.chinese.is_empty()
            && self.refined.is_empty()
            && self.joined.is_empty()
            && self.chars.is_empty()
    }

    /// As `EXPLAIN` lists them.
    pub(super) fn names(self) -> impl Iterator<Item = String> {
        // Shorter ones are found on the way to the longest.
        let up_to =
            |lengths: Lengths, what: &str| (!lengths.is_empty()).then(|| format!("{what}{}-grams", lengths.longest()));
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

/// Operators bound their `n`; a length from elsewhere is brought into the bounds.
const fn up_to_longest(n: usize) -> u8 {
    if n < 1 {
        1
    } else if n > LONGEST_GRAM {
        LONGEST_GRAM as u8
    } else {
        n as u8
    }
}
