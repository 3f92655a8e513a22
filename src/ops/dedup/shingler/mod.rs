//! Cuts a text into shingles and hashes each.
//!
//! ```text
//! text ──fold──► bytes in which only spaces part words ──spans──► a hash for each unit ──roll──► a hash for each n
//! ```
//! Each word is hashed once, however many shingles it is in; the hash of a shingle is a polynomial of the hashes of its
//! units, so it depends on their order. The same text has the same hashes on every machine.
//!
//! A text of fewer words, tokens or characters than a shingle has is itself one shingle, so that equal short texts are
//! equal; one without any has none, and is never a duplicate. But datatrove takes no shingle from a text of too few words,
//! so there is none where its normalization is asked for.
//! Not here: what a shingle is (`shingle.rs`), what signatures make of the hashes (`signature`).

mod device;
mod fold;
mod hash;
mod marks;
mod simplify;
mod spans;

use super::shingle::{Normalize, Shingle, ShingleUnit};
pub(crate) use device::case_table;
pub use simplify::simplify;
use std::borrow::Cow;

/// Shingles as bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slices<'a> {
    /// A single one.
    One(&'a [u8]),
    /// Every run of so many of these bytes.
    Windows(&'a [u8], usize),
}

/// Cuts texts; keeps its buffers from one to the next.
#[derive(Debug, Clone)]
pub struct Shingler {
    shingle: Shingle,
    normalize: Normalize,
    /// The text with a space between words, then padding.
    folded: Vec<u8>,
    /// Where the units of `folded` begin and end.
    spans: Vec<[usize; 2]>,
    units: Vec<u64>,
}

impl Shingler {
    /// For shingles of this kind, of texts normalized like this.
    pub fn new(shingle: Shingle, normalize: Normalize) -> Self {
        Self { shingle, normalize, folded: vec![], spans: vec![], units: vec![] }
    }

    /// The hash of each shingle, in order, repeated ones repeated. `out` is emptied before.
    pub fn hashes(&mut self, text: &str, out: &mut Vec<u64>) {
        out.clear();
        self.units.clear();
        if self.shingle.unit == ShingleUnit::Chars {
            let text = normalized(text, self.normalize);
            self.units.extend(text.chars().map(hash::of_char));
        } else {
            self.cut(text);
            let (folded, spans) = (&self.folded, &self.spans);
            self.units.extend(spans.iter().map(|[start, end]| hash::of_unit(folded, *start, *end)));
        }
        hash::roll(&self.units, self.n_of(self.units.len()), out);
    }

    /// How many units a shingle has in a text of `n_units`.
    fn n_of(&self, n_units: usize) -> usize {
        let Shingle { unit, n } = self.shingle;
        let as_datatrove = unit != ShingleUnit::Chars && self.normalize == Normalize::Datatrove;
        if n_units < n && n_units > 0 && !as_datatrove { n_units } else { n }
    }

    /// The distinct hashes in ascending order: the set that the document is. `out` is emptied before.
    pub fn set(&mut self, text: &str, out: &mut Vec<u64>) {
        self.hashes(text, out);
        out.sort_unstable();
        out.dedup();
    }

    /// Calls `each` with the bytes of each shingle, in order; words and tokens have one space between them.
    pub fn each_slice(&mut self, text: &str, mut each: impl FnMut(&[u8])) {
        self.each_slices(text, |slices| match slices {
            Slices::One(slice) => each(slice),
            Slices::Windows(text, n_bytes) => text.windows(n_bytes).for_each(&mut each),
        });
    }

    /// The same with many shingles at a time, where all of their characters are bytes.
    pub fn each_slices(&mut self, text: &str, mut each: impl FnMut(Slices<'_>)) {
        if self.shingle.unit != ShingleUnit::Chars {
            self.cut(text);
            spans::join(&mut self.folded, &mut self.spans);
            for window in self.spans.windows(self.n_of(self.spans.len())) {
                if let (Some([start, _]), Some([_, end])) = (window.first(), window.last()) {
                    each(Slices::One(&self.folded[*start..*end]));
                }
            }
            return;
        }
        spans::characters(normalized(text, self.normalize).as_ref(), self.shingle.n, each);
    }

    /// Fills `folded` and `spans` with the words or tokens of `text`.
    fn cut(&mut self, text: &str) {
        self.folded.clear();
        self.spans.clear();
        match (self.shingle.unit, self.normalize) {
            (ShingleUnit::Words, Normalize::None) => fold::keep_case(text, &mut self.folded),
            (ShingleUnit::Words, Normalize::Words) => fold::lower_case(text, &mut self.folded),
            (_, normalize) => self.folded.extend_from_slice(normalized(text, normalize).as_bytes()),
        }
        let n_bytes = self.folded.len();
        spans::pad(&mut self.folded);
        if self.shingle.unit == ShingleUnit::Words {
            spans::words(&self.folded, &mut self.spans);
        } else if let Ok(text) = std::str::from_utf8(&self.folded[..n_bytes]) {
            spans::tokens(text, &mut self.spans);
        }
    }
}

/// The text of which characters and tokens are counted.
fn normalized(text: &str, normalize: Normalize) -> Cow<'_, str> {
    match normalize {
        Normalize::None => Cow::Borrowed(text),
        Normalize::Words => Cow::Owned(text.to_lowercase()),
        Normalize::Datatrove => Cow::Owned(simplify(text)),
    }
}

/// The part of the union that two sets share; both ascending without repeats. Two empty sets share nothing.
pub fn jaccard_sorted(a: &[u64], b: &[u64]) -> f64 {
    let (mut i, mut j, mut n_common) = (0, 0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        n_common += usize::from(x == y);
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    let n_union = a.len() + b.len() - n_common;
    if n_union == 0 { 0.0 } else { n_common as f64 / n_union as f64 }
}

#[cfg(test)]
mod tests;
