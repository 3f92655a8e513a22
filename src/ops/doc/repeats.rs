//! Lines and paragraphs that occur more than once.
//!
//! Peers disagree about which lines there are: every one, only those with characters, only those that are not blank.
//! Equal lines are in or out together, so one table serves all of them, summed up by kind.
//!
//! Invariant: exact; lengths are characters.

use super::intern::Pieces;
use crate::ops::scan;
use memchr::memmem::Finder;
use std::ops::Add;
use std::sync::LazyLock;

/// Made once: paragraphs are short, and making it takes as long as finding the end of one.
static TWO_FEEDS: LazyLock<Finder> = LazyLock::new(|| Finder::new(b"\n\n"));

/// What repeats in a list of pieces.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Repeats {
    /// How many pieces there are.
    pub n: usize,
    /// Their length.
    pub chars: usize,
    /// How many distinct ones there are.
    pub n_distinct: usize,
    /// The length of the distinct ones.
    pub distinct_chars: usize,
    /// How many pieces are equal to another one; the first of them counts too.
    pub n_repeated: usize,
    /// Their length.
    pub repeated_chars: usize,
}

impl Repeats {
    /// `count` equal pieces of `chars` characters.
    fn of(count: usize, chars: usize) -> Self {
        let distinct = count.min(1);
        let repeated = if count > 1 { count } else { 0 };
        Self {
            n: count,
            chars: count * chars,
            n_distinct: distinct,
            distinct_chars: distinct * chars,
            n_repeated: repeated,
            repeated_chars: repeated * chars,
        }
    }

    /// How many pieces repeat an earlier one.
    pub fn n_duplicates(&self) -> usize {
        self.n - self.n_distinct
    }

    /// The length of the pieces that repeat an earlier one.
    pub fn duplicate_chars(&self) -> usize {
        self.chars - self.distinct_chars
    }
}

impl Add for Repeats {
    type Output = Repeats;

    /// Of two lists that have no piece in common.
    fn add(self, other: Repeats) -> Repeats {
        Repeats {
            n: self.n + other.n,
            chars: self.chars + other.chars,
            n_distinct: self.n_distinct + other.n_distinct,
            distinct_chars: self.distinct_chars + other.distinct_chars,
            n_repeated: self.n_repeated + other.n_repeated,
            repeated_chars: self.repeated_chars + other.repeated_chars,
        }
    }
}

/// Repeats by kind of piece: what line feeds, or pairs of them, separate.
#[derive(Debug, Default)]
pub struct RepeatTable {
    /// Pieces with a character that is not white space.
    pub solid: Repeats,
    /// Pieces of white space only.
    pub blank: Repeats,
    /// Pieces without any character.
    pub empty: Repeats,
    /// Where the pieces are that are not empty.
    places: Vec<(u32, u32)>,
    pieces: Pieces,
    distinct: Vec<Distinct>,
}

#[derive(Debug, Clone, Copy)]
struct Distinct {
    place: (u32, u32),
    count: u32,
}

impl RepeatTable {
    /// Pieces between line feeds, as `text.split('\n')`. `is_ascii` says that the text has no other characters.
    pub(super) fn read_lines(&mut self, text: &str, is_ascii: bool) {
        self.read(text, is_ascii, memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| (at, at + 1)));
    }

    /// Pieces between pairs of line feeds, as `text.split('\n\n')`.
    pub(super) fn read_pairs(&mut self, text: &str, is_ascii: bool) {
        self.read(text, is_ascii, TWO_FEEDS.find_iter(text.as_bytes()).map(|at| (at, at + 2)));
    }

    /// Pieces between runs of two or more line feeds, of the text without the white space at its ends.
    pub(super) fn read_blocks(&mut self, text: &str, is_ascii: bool) {
        let text = text.trim_matches(scan::is_space);
        let mut from = 0;
        let breaks = std::iter::from_fn(|| {
            let rest = text.get(from..)?;
            let start = from + TWO_FEEDS.find(rest.as_bytes())?;
            from = start + text[start..].bytes().take_while(|byte| *byte == b'\n').count();
            Some((start, from))
        });
        self.read(text, is_ascii, breaks);
    }

    /// Pieces between `breaks`.
    fn read(&mut self, text: &str, is_ascii: bool, breaks: impl Iterator<Item = (usize, usize)>) {
        self.places.clear();
        let mut n_empty = 0;
        let mut start = 0;
        for (end, next_start) in breaks.chain([(text.len(), text.len())]) {
            if start < end {
                self.places.push((start as u32, end as u32));
            } else {
                n_empty += 1;
            }
            start = next_start;
        }
        self.count(text);
        self.sum_up(text, is_ascii, n_empty);
    }

    /// Finds out which pieces are equal.
    fn count(&mut self, text: &str) {
        self.distinct.clear();
        if let [place] = self.places[..] {
            // Nothing to compare it with.
            self.distinct.push(Distinct { place, count: 1 });
            return;
        }
        self.pieces.clear(self.places.len());
        for &place in &self.places {
            let next = self.distinct.len() as u32;
            let distinct = &mut self.distinct;
            let number =
                self.pieces.number(text.as_bytes(), place, next, |number| distinct[number as usize].place) as usize;
            match distinct.get_mut(number) {
                Some(known) => known.count += 1,
                None => distinct.push(Distinct { place, count: 1 }),
            }
        }
    }

    /// Sums up the distinct pieces, and those that are empty.
    fn sum_up(&mut self, text: &str, is_ascii: bool, n_empty: usize) {
        self.empty = Repeats::of(n_empty, 0);
        (self.solid, self.blank) = (Repeats::default(), Repeats::default());
        for Distinct { place: (start, end), count } in &self.distinct {
            let piece = text.get(*start as usize..*end as usize).unwrap_or_default();
            let n_chars = if is_ascii { piece.len() } else { scan::n_chars(piece) };
            let repeats = Repeats::of(*count as usize, n_chars);
            let kind = if piece.chars().all(scan::is_space) { &mut self.blank } else { &mut self.solid };
            *kind = *kind + repeats;
        }
    }

    /// All pieces.
    pub fn all(&self) -> Repeats {
        self.solid + self.blank + self.empty
    }

    /// The pieces that are not empty.
    pub fn filled(&self) -> Repeats {
        self.solid + self.blank
    }

    /// The pieces of a table of lines if a run of line feeds separates like one: only a run at the beginning or end
    /// of the document leaves an empty one.
    pub fn merged(&self, text: &str) -> Repeats {
        let n_empty = usize::from(text.starts_with('\n')) + usize::from(text.ends_with('\n') || text.is_empty());
        self.filled() + Repeats::of(n_empty, 0)
    }
}
