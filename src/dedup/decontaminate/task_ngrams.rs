//! The n-grams of tasks by their hashes, and how often each was found.
//!
//! An n-gram that several tasks have counts for each of them; the first of them names it.

use crate::dedup::Budget;
use crate::{Error, Result};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Collects the n-grams of tasks.
#[derive(Default)]
pub(super) struct TaskNgramsBuilder {
    tasks: Vec<Task>,
    by_name: HashMap<String, u32>,
    /// Hash and task; equal ones are thrown out when the list is full.
    pairs: Vec<(u64, u32)>,
    n_distinct: usize,
}

struct Task {
    name: String,
    n_texts: u64,
    n_short_texts: u64,
}

impl TaskNgramsBuilder {
    /// Counts a text of a task that has these n-grams.
    pub(super) fn add(&mut self, task: &str, ngrams: &[u64]) {
        let next = self.tasks.len() as u32;
        let id = *self.by_name.entry(task.to_string()).or_insert(next);
        if id == next {
            self.tasks.push(Task { name: task.to_string(), n_texts: 0, n_short_texts: 0 });
        }
        let counts = &mut self.tasks[id as usize];
        counts.n_texts += 1;
        counts.n_short_texts += u64::from(ngrams.is_empty());
        self.pairs.extend(ngrams.iter().map(|&ngram| (ngram, id)));
        // Tasks repeat themselves; without this the list would grow with their texts and not with their n-grams.
        if self.pairs.len() > 2 * self.n_distinct + (1 << 16) {
            self.drop_repeated();
        }
    }

    fn drop_repeated(&mut self) {
        self.pairs.sort_unstable();
        self.pairs.dedup();
        self.n_distinct = self.pairs.len();
    }

    /// Builds the table.
    pub(super) fn finish(mut self, budget: &Arc<dyn Budget>) -> Result<TaskNgrams> {
        self.drop_repeated();
        let claimed_bytes = TaskNgrams::memory_bytes(self.pairs.len());
        if !budget.try_grow(claimed_bytes) {
            let n = self.pairs.len();
            let needed = format!("the {n} n-grams of the evaluations need {claimed_bytes} bytes of memory");
            return Err(Error::Data(format!("{needed}, which is more than DECONTAMINATE was given")));
        }
        let mut hashes: Vec<u64> = self.pairs.iter().map(|pair| pair.0).collect();
        hashes.dedup();
        let mut ends = Vec::with_capacity(hashes.len());
        for (at, pair) in self.pairs.iter().enumerate() {
            if self.pairs.get(at + 1).is_none_or(|next| next.0 != pair.0) {
                ends.push(at as u32 + 1);
            }
        }
        let mut bits = vec![0u64; n_filter_bits(hashes.len()) / 64];
        for &hash in &hashes {
            let bit = place(hash, bits.len() * 64);
            bits[bit / 64] |= 1 << (bit % 64);
        }
        let mut slots = vec![EMPTY; (2 * hashes.len()).next_power_of_two().max(2)];
        for (id, &hash) in hashes.iter().enumerate() {
            let mut at = place(hash, slots.len());
            while slots[at] != EMPTY {
                at = (at + 1) & (slots.len() - 1);
            }
            slots[at] = (hash, id as u32);
        }
        let owners = self.pairs.into_iter().map(|pair| pair.1).collect();
        let found = hashes.iter().map(|_| AtomicU32::new(0)).collect();
        let n_documents = self.tasks.iter().map(|_| AtomicU64::new(0)).collect();
        let budget = budget.clone();
        Ok(TaskNgrams { tasks: self.tasks, bits, slots, ends, owners, found, n_documents, budget, claimed_bytes })
    }
}

const EMPTY: (u64, u32) = (0, u32::MAX);

/// Where a hash goes in a table of so many places, a power of two.
fn place(hash: u64, n_places: usize) -> usize {
    // The hashes may be sums; the multiplication brings all their bits to the top.
    (hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) as usize & (n_places - 1)
}

/// One bit of sixteen is set, so that most n-grams of documents are told apart by a table that stays in the cache.
fn n_filter_bits(n_ngrams: usize) -> usize {
    (16 * n_ngrams).next_power_of_two().max(64)
}

/// See the module.
pub struct TaskNgrams {
    tasks: Vec<Task>,
    /// A bit for each hash there is.
    bits: Vec<u64>,
    /// Open addressing, at most half full.
    slots: Vec<(u64, u32)>,
    /// Where the tasks of each n-gram end in `owners`.
    ends: Vec<u32>,
    owners: Vec<u32>,
    found: Vec<AtomicU32>,
    n_documents: Vec<AtomicU64>,
    budget: Arc<dyn Budget>,
    claimed_bytes: usize,
}

impl Drop for TaskNgrams {
    fn drop(&mut self) {
        self.budget.shrink(self.claimed_bytes);
    }
}

/// What became of a task.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct TaskReport {
    /// Its name.
    pub task: String,
    /// Texts it was given by.
    pub n_texts: u64,
    /// Texts too short for an n-gram: they are not looked for.
    pub n_short_texts: u64,
    /// Distinct n-grams that were looked for.
    pub n_ngrams: u64,
    /// Those of them that were found.
    pub n_ngrams_found: u64,
    /// Documents that had one of them.
    pub n_documents: u64,
}

impl TaskNgrams {
    /// Memory for so many n-grams: slots of 16 bytes, at most half full, at most four bytes of bits, and 12 bytes more.
    pub fn memory_bytes(n_ngrams: usize) -> usize {
        let table_bytes = (2 * n_ngrams).next_power_of_two() * size_of::<(u64, u32)>();
        table_bytes + n_filter_bits(n_ngrams) / 8 + 12 * n_ngrams
    }

    /// Distinct n-grams.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The number of an n-gram.
    #[inline]
    pub(super) fn find(&self, hash: u64) -> Option<u32> {
        let bit = place(hash, self.bits.len() * 64);
        if self.bits[bit / 64] >> (bit % 64) & 1 == 0 {
            return None;
        }
        let mut at = place(hash, self.slots.len());
        loop {
            let (key, id) = self.slots[at];
            if id == u32::MAX {
                return None;
            }
            if key == hash {
                return Some(id);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    /// The tasks that have an n-gram, first given first.
    fn owners_of(&self, ngram: u32) -> &[u32] {
        let start = if ngram == 0 { 0 } else { self.ends[ngram as usize - 1] as usize };
        &self.owners[start..self.ends[ngram as usize] as usize]
    }

    /// The name of the first task that has an n-gram.
    pub(super) fn task_of(&self, ngram: u32) -> &str {
        &self.tasks[self.owners_of(ngram)[0] as usize].name
    }

    /// Counts a document in which these n-grams were found.
    pub(super) fn count_document(&self, ngrams: &[u32]) {
        let mut owners = Vec::new();
        for &ngram in ngrams {
            self.found[ngram as usize].fetch_add(1, Ordering::Relaxed);
            owners.extend_from_slice(self.owners_of(ngram));
        }
        owners.sort_unstable();
        owners.dedup();
        for owner in owners {
            self.n_documents[owner as usize].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// What became of each task, in the order in which they were given.
    pub fn report(&self) -> Vec<TaskReport> {
        let mut reports: Vec<TaskReport> = (self.tasks.iter().zip(&self.n_documents))
            .map(|(task, n_documents)| TaskReport {
                task: task.name.clone(),
                n_texts: task.n_texts,
                n_short_texts: task.n_short_texts,
                n_ngrams: 0,
                n_ngrams_found: 0,
                n_documents: n_documents.load(Ordering::Relaxed),
            })
            .collect();
        for (ngram, found) in self.found.iter().enumerate() {
            for &owner in self.owners_of(ngram as u32) {
                reports[owner as usize].n_ngrams += 1;
                reports[owner as usize].n_ngrams_found += u64::from(found.load(Ordering::Relaxed) > 0);
            }
        }
        reports
    }
}
