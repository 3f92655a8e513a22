//! What the finders of repeated spans share: how they are driven, and what becomes of a document.
//!
//! Invariant: cuts are ascending, disjoint, not empty, and begin and end between characters.
//! Not here: the finding (`lines.rs`, `substring.rs`).

use super::text_partition::TextPartition;
use crate::Result;
use rayon::prelude::*;
use std::ops::Range;

/// Finds what is to be cut out of each text of a corpus.
///
/// The texts of each partition are shown in row order, once a pass, in batches of any size; then once more to
/// [`cut`](Self::cut) them. Partitions may be shown at the same time. Null texts are shown too; nothing is ever found in them.
pub trait SpanFinder: Send + Sync {
    /// The next texts of a partition in the current pass. `positions` say where they stand among those of other
    /// partitions; they are looked at in the first pass, if there are several partitions.
    fn see(&self, partition: &mut TextPartition, texts: &[Option<&str>], positions: &[u64]) -> Result<()>;

    /// Ends a pass over all texts; true if another one is needed before they can be cut.
    fn end_pass(&mut self, partitions: &mut [TextPartition]) -> Result<bool>;

    /// What becomes of the next texts of a partition, in the same order as in the passes: one answer a text.
    fn cut(&self, partition: &mut TextPartition, texts: &[Option<&str>]) -> Result<Vec<Outcome>>;
}

/// What becomes of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It stays as it is.
    Same,
    /// It stays without these byte ranges.
    Cut(Vec<Range<usize>>),
    /// It goes: too little would be left without these byte ranges.
    Drop(Vec<Range<usize>>, TooLittle),
}

/// Why a document was not worth keeping after the cuts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TooLittle {
    /// Nothing but white space was left.
    Text,
    /// Fewer words than asked for were left: so many.
    Words(usize),
    /// Fewer lines, paragraphs or sentences than asked for were left: so many.
    Units(usize),
}

/// Counts of what was cut.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Ranges that were cut, in kept and dropped documents.
    pub n_cuts: u64,
    /// Their bytes.
    pub cut_bytes: u64,
    /// Documents that something was cut out of and that stayed.
    pub n_cut_documents: u64,
    /// Documents that went because too little was left.
    pub n_dropped_documents: u64,
}

impl Tally {
    pub(super) fn count(&mut self, outcome: &Outcome) {
        let (cuts, n_documents) = match outcome {
            Outcome::Same => return,
            Outcome::Cut(cuts) => (cuts, &mut self.n_cut_documents),
            Outcome::Drop(cuts, _) => (cuts, &mut self.n_dropped_documents),
        };
        *n_documents += 1;
        self.n_cuts += cuts.len() as u64;
        self.cut_bytes += cuts.iter().map(|cut| cut.len() as u64).sum::<u64>();
    }
}

/// The text without the ranges.
pub fn cut_text(text: &str, cuts: &[Range<usize>]) -> String {
    pieces(text, cuts).collect()
}

/// What stays of the text, piece by piece.
fn pieces<'t>(text: &'t str, cuts: &[Range<usize>]) -> impl Iterator<Item = &'t str> {
    let starts = std::iter::once(0).chain(cuts.iter().map(|cut| cut.end));
    let ends = cuts.iter().map(|cut| cut.start).chain(std::iter::once(text.len()));
    starts.zip(ends).map(|(start, end)| text.get(start..end).unwrap_or_default())
}

/// The decision of a text after its cuts; `n_units` are left of it, where units are counted.
pub(super) fn judge(
    text: &str,
    cuts: Vec<Range<usize>>,
    min_words: usize,
    min_units: usize,
    n_units: Option<usize>,
) -> Outcome {
    if cuts.is_empty() {
        return Outcome::Same;
    }
    let n_words = count_words(pieces(text, &cuts), min_words.max(1));
    let too_few_units = n_units.filter(|n_units| *n_units < min_units);
    match too_few_units {
        _ if n_words == 0 => Outcome::Drop(cuts, TooLittle::Text),
        _ if n_words < min_words => Outcome::Drop(cuts, TooLittle::Words(n_words)),
        Some(n_units) => Outcome::Drop(cuts, TooLittle::Units(n_units)),
        None => Outcome::Cut(cuts),
    }
}

/// White space as Python's `str.split()` sees it.
pub(super) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// Words between white space, up to `enough`; a word may go on from one piece to the next.
pub(super) fn count_words<'t>(pieces: impl Iterator<Item = &'t str>, enough: usize) -> usize {
    let (mut n_words, mut in_word) = (0, false);
    for c in pieces.flat_map(str::chars) {
        let space = is_space(c);
        n_words += usize::from(!space && !in_word);
        in_word = !space;
        if n_words >= enough {
            break;
        }
    }
    n_words
}

/// Applies a function to each item, on as many threads as there are if no other partition keeps them busy; answers in order.
pub(super) fn map_all<I: Sync, T: Send>(
    partition: &TextPartition,
    items: &[I],
    f: impl Fn(&I) -> T + Sync + Send,
) -> Vec<T> {
    if partition.is_alone() { items.par_iter().map(f).collect() } else { items.iter().map(f).collect() }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::single_range_in_vec_init)]
mod tests {
    use super::*;

    #[test]
    fn cutting_leaves_the_rest_in_order() {
        assert_eq!(cut_text("abcdef", &[1..2, 4..6]), "acd");
        assert_eq!(cut_text("abc", &[]), "abc");
        assert_eq!(cut_text("abc", &[0..3]), "");
    }

    #[test]
    fn a_cut_document_with_too_little_left_goes() {
        let text = "one two\nthree four\n";
        assert_eq!(judge(text, vec![], 50, 3, Some(2)), Outcome::Same);
        assert_eq!(judge(text, vec![0..8], 2, 1, Some(1)), Outcome::Cut(vec![0..8]));
        assert_eq!(judge(text, vec![0..8], 3, 1, Some(1)), Outcome::Drop(vec![0..8], TooLittle::Words(2)));
        assert_eq!(judge(text, vec![0..8], 2, 2, Some(1)), Outcome::Drop(vec![0..8], TooLittle::Units(1)));
        assert_eq!(judge(text, vec![0..18], 0, 0, Some(0)), Outcome::Drop(vec![0..18], TooLittle::Text));
    }

    #[test]
    fn a_word_may_span_a_cut() {
        assert_eq!(count_words(["ab", "cd e", " f"].into_iter(), 9), 3);
        assert_eq!(count_words(["a\u{1c}b c"].into_iter(), 2), 2);
    }
}
