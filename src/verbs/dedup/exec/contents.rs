//! What candidates are held to: the set of a document's shingles, or its bytes; for the rows that need it only.

use super::rows::Decide;
use crate::dedup::{Budget, Fuzzy, Method, RowStore, StoredRows};
use crate::ops::dedup::{Shingler, jaccard_sorted};
use crate::verbs::budget::threads;
use crate::verbs::documents::{Documents, texts};
use crate::{Result, bug};
use arrow::array::Array;
use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A mark for some of the rows. One bit a row; refused that memory, every row counts as marked, which costs a longer way
/// and changes nothing.
pub(super) struct Marks {
    bits: Option<Vec<AtomicU64>>,
    budget: Arc<dyn Budget>,
}

impl Marks {
    pub fn new(n_rows: u64, budget: &Arc<dyn Budget>) -> Self {
        let n_words = usize::try_from(n_rows.div_ceil(64)).unwrap_or(usize::MAX);
        let granted = budget.try_grow(n_words.saturating_mul(size_of::<u64>()));
        let bits = granted.then(|| (0..n_words).map(|_| AtomicU64::new(0)).collect());
        Self { bits, budget: Arc::clone(budget) }
    }

    /// From any thread.
    pub fn set(&self, row: u64) {
        if let Some(bits) = &self.bits {
            bits[(row / 64) as usize].fetch_or(1 << (row % 64), Ordering::Relaxed);
        }
    }

    fn is_set(&self, row: u64) -> bool {
        let word = |bits: &Vec<AtomicU64>| bits[(row / 64) as usize].load(Ordering::Relaxed);
        self.bits.as_ref().is_none_or(|bits| word(bits) >> (row % 64) & 1 == 1)
    }
}

impl Drop for Marks {
    fn drop(&mut self) {
        self.budget.shrink(self.bits.as_ref().map_or(0, |bits| size_of_val(bits.as_slice())));
    }
}

/// The contents of the marked rows.
pub(super) struct Contents {
    stored: StoredRows,
    /// Contents are sets of shingles; otherwise bytes.
    is_set: bool,
}

/// One row's.
pub(super) enum Content {
    Shingles(Vec<u64>),
    Bytes(Vec<u8>),
}

impl Contents {
    /// Goes through the documents once, through all partitions at a time.
    pub fn gather(decide: Decide<'_>, marks: &Marks) -> Result<Self> {
        let Decide { work, documents, numbering, budget, .. } = decide;
        let Some(column) = work.columns.value else {
            return Err(bug!("{} has no text to compare", work.request.label));
        };
        let fuzzy = match &work.request.method {
            Method::Fuzzy(fuzzy) => Some(fuzzy),
            _ => None,
        };
        let gather = |(partition, documents): (usize, &Documents)| {
            let mut store = RowStore::sparse(budget);
            for batch in documents.replay()? {
                let (first_row, batch) = batch?;
                let texts = texts(&batch, column)?;
                let is_marked = |place: &usize| marks.is_set(numbering.number_of(partition, first_row + *place as u64));
                let places = (0..texts.len()).filter(is_marked);
                let wanted: Vec<usize> = places.filter(|place| texts.is_valid(*place)).collect();
                let contents = wanted
                    .par_iter()
                    .map_init(|| fuzzy.map(shingler), |shingler, place| content(shingler, texts.value(*place)))
                    .collect::<Vec<Vec<u8>>>();
                for (place, content) in wanted.into_iter().zip(contents) {
                    store.push_row(first_row + place as u64, &content)?;
                }
            }
            store.finish()
        };
        let stored = threads(budget.as_ref())?
            .install(|| documents.par_iter().enumerate().map(gather).collect::<Result<Vec<StoredRows>>>())?;
        Ok(Self { stored: StoredRows::of_partitions(stored, numbering), is_set: fuzzy.is_some() })
    }

    /// The content of a row; empty if it was not marked.
    pub fn load(&self, row: u64) -> Result<Content> {
        let mut bytes = vec![];
        self.stored.get(row, &mut bytes)?;
        Ok(if self.is_set { Content::Shingles(numbers(&bytes)) } else { Content::Bytes(bytes) })
    }

    /// From 0 to 1.
    pub fn similarity(&self, content: &Content, other: u64) -> Result<f64> {
        Ok(match (content, self.load(other)?) {
            (Content::Shingles(one), Content::Shingles(other)) => jaccard_sorted(one, &other),
            (Content::Bytes(one), Content::Bytes(other)) => f64::from(u8::from(*one == other)),
            _ => 0.0,
        })
    }
}

fn shingler(fuzzy: &Fuzzy) -> Shingler {
    Shingler::new(fuzzy.shingle, fuzzy.normalize)
}

fn content(shingler: &mut Option<Shingler>, text: &str) -> Vec<u8> {
    let Some(shingler) = shingler else { return text.as_bytes().to_vec() };
    let mut hashes = vec![];
    shingler.set(text, &mut hashes);
    hashes.iter().flat_map(|hash| hash.to_le_bytes()).collect()
}

fn numbers(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks::<8>().0.iter().map(|chunk| u64::from_le_bytes(*chunk)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dedup::FixedBudget;

    #[test]
    fn marks_are_claimed_and_without_memory_all_rows_are_marked() {
        let budget: Arc<dyn Budget> = Arc::new(FixedBudget::of(16, 1));
        let marks = Marks::new(128, &budget);
        assert!(!budget.try_grow(1), "two words are claimed");
        let refused = Marks::new(1, &budget);
        marks.set(70);
        refused.set(0);
        assert!(marks.is_set(70) && !marks.is_set(71) && refused.is_set(0));
        drop((marks, refused));
        assert!(budget.try_grow(16), "and given back");
    }
}
