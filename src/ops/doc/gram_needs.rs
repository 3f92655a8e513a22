//! Which n-grams a statistic reads: of words, of refined words, of words run together, of characters; or what it wants
//! to know of them before they are found.

use super::grams::LONGEST_GRAM;

/// What there is to know about n-grams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GramKind {
    /// [`Grams`](super::Grams) of words.
    Words,
    /// The same of Chinese words.
    Chinese,
    /// The same of words in lower case without marks at their ends.
    Refined,
    /// `JoinedGrams`.
    Joined,
    /// `CharGrams`.
    Chars,
    /// `GramBounds` on the most frequent n-gram of words.
    TopBound,
    /// The same on those that came before.
    AgainBound,
    /// `GramBounds` on the most frequent n-gram, as a string that is found also inside words.
    FoundBound,
    /// `JoinedBounds`.
    JoinedBound,
}

const N_KINDS: usize = GramKind::JoinedBound as usize + 1;

/// A set of kinds of n-grams, with their lengths.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct GramNeeds {
    lengths: [Lengths; N_KINDS],
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

    /// The least; 65 if there is none.
    pub(super) const fn shortest(self) -> usize {
        self.0.trailing_zeros() as usize + 1
    }

    /// The greatest; 0 if there is none.
    pub(super) const fn longest(self) -> usize {
        (u64::BITS - self.0.leading_zeros()) as usize
    }

    const fn and(self, other: Lengths) -> Lengths {
        Lengths(self.0 | other.0)
    }

    pub(super) const fn has_all(self, other: Lengths) -> bool {
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
    pub(super) const NONE: GramNeeds = GramNeeds { lengths: [Lengths(0); N_KINDS] };

    pub(super) const fn one(kind: GramKind, n: usize) -> Self {
        let mut needs = Self::NONE;
        needs.lengths[kind as usize] = Lengths::one(n);
        needs
    }

    /// For which n.
    pub(super) const fn of(self, kind: GramKind) -> Lengths {
        self.lengths[kind as usize]
    }

    pub(super) const fn and(mut self, other: GramNeeds) -> GramNeeds {
        let mut kind = 0;
        while kind < N_KINDS {
            self.lengths[kind] = self.lengths[kind].and(other.lengths[kind]);
            kind += 1;
        }
        self
    }

    pub(super) const fn has(self, part: GramNeeds) -> bool {
        let mut kind = 0;
        while kind < N_KINDS && self.lengths[kind].has_all(part.lengths[kind]) {
            kind += 1;
        }
        kind == N_KINDS
    }

    /// Whether each kind of n-grams that `part` has, of whatever length, is here.
    pub(super) const fn has_kinds_of(self, part: GramNeeds) -> bool {
        let mut kind = 0;
        while kind < N_KINDS && (part.lengths[kind].is_empty() || !self.lengths[kind].is_empty()) {
            kind += 1;
        }
        kind == N_KINDS
    }

    pub(super) const fn is_empty(self) -> bool {
        GramNeeds::NONE.has_kinds_of(self)
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
            up_to(self.of(GramKind::Words), ""),
            up_to(self.of(GramKind::Chinese), "chinese "),
            up_to(self.of(GramKind::Refined), "refined "),
            each(self.of(GramKind::Joined), "joined "),
            each(self.of(GramKind::Chars), "character "),
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
