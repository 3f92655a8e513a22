//! The same is cut with all memory and with none, of one partition and of several.

#![allow(clippy::unwrap_used)]

use super::{LineFinder, Outcome, SpanFinder, SubstringFinder, TextPartition};
use crate::Result;
use crate::dedup::{Budget, FixedBudget, KeepWhich, Lines, LinesUnit, SpanLength, Substring};
use crate::ops::dedup::Normalize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use xxhash_rust::xxh3::xxh3_64;

struct CountedBudget {
    inner: FixedBudget,
    spilled_bytes: AtomicU64,
}

impl Budget for CountedBudget {
    fn try_grow(&self, n_bytes: usize) -> bool {
        self.inner.try_grow(n_bytes)
    }

    fn shrink(&self, n_bytes: usize) {
        self.inner.shrink(n_bytes);
    }

    fn temp_file(&self) -> Result<crate::store::ScratchFile> {
        self.inner.temp_file()
    }

    fn note_spilled(&self, n_bytes: u64) {
        self.spilled_bytes.fetch_add(n_bytes, Ordering::Relaxed);
    }

    fn n_threads(&self) -> usize {
        self.inner.n_threads()
    }
}

/// Texts of lines of which many occur in several.
fn texts() -> Vec<String> {
    let line = |n: u64| (0..2).map(|word| format!("{:x} ", xxh3_64(&(n * 8 + word).to_le_bytes()))).collect::<String>();
    let pick = |row: u64, at: u64| xxh3_64(&(row * 64 + at).to_le_bytes()) % 60_000;
    (0..1_250).map(|row| (0..40).map(|at| line(pick(row, at)) + "\n").collect()).collect()
}

/// Runs a finder over texts of which four in a row go to one partition, the next four to the next, in batches.
pub(super) fn found_by(
    finder: &mut dyn SpanFinder,
    texts: &[Option<&str>],
    batch_rows: usize,
    n_partitions: usize,
    budget: &Arc<dyn Budget>,
) -> (Vec<Outcome>, Vec<TextPartition>) {
    let mut partitions = TextPartition::all(n_partitions, budget);
    let mut dealt: Vec<Vec<u64>> = vec![vec![]; n_partitions];
    (0..texts.len()).for_each(|row| dealt[row / 4 % n_partitions].push(row as u64));
    let shown = |rows: &[u64]| rows.iter().map(|row| texts[*row as usize]).collect::<Vec<_>>();
    loop {
        for (partition, rows) in partitions.iter_mut().zip(&dealt) {
            rows.chunks(batch_rows).for_each(|rows| finder.see(partition, &shown(rows), rows).unwrap());
        }
        if !finder.end_pass(&mut partitions).unwrap() {
            break;
        }
    }
    let mut outcomes = vec![Outcome::Same; texts.len()];
    for (partition, rows) in partitions.iter_mut().zip(&dealt) {
        for rows in rows.chunks(batch_rows) {
            let found = finder.cut(partition, &shown(rows)).unwrap();
            rows.iter().zip(found).for_each(|(row, outcome)| outcomes[*row as usize] = outcome);
        }
    }
    (outcomes, partitions)
}

type Start<'a> = dyn Fn(&Arc<dyn Budget>) -> Box<dyn SpanFinder> + 'a;

fn run(
    start: &Start<'_>,
    texts: &[String],
    batch_rows: usize,
    n_partitions: usize,
    budget: FixedBudget,
) -> (Vec<Outcome>, u64) {
    let counted = Arc::new(CountedBudget { inner: budget, spilled_bytes: AtomicU64::new(0) });
    let budget: Arc<dyn Budget> = counted.clone();
    let shown: Vec<Option<&str>> = texts.iter().map(|text| Some(text.as_str())).collect();
    let (outcomes, _) = found_by(&mut *start(&budget), &shown, batch_rows, n_partitions, &budget);
    (outcomes, counted.spilled_bytes.load(Ordering::Relaxed))
}

#[test]
fn memory_threads_batches_and_partitions_change_nothing() {
    let texts = texts();
    let (unit, normalize) = (LinesUnit::Line, Normalize::None);
    let lines = Lines { unit, span: 1, min_words: 0, normalize, min_document_words: 0, min_document_units: 0 };
    let substring = Substring { min_length: SpanLength::Bytes(30), min_document_words: 0 };
    let finders: [&Start<'_>; 2] = [&|budget| Box::new(LineFinder::new(&lines, KeepWhich::First, budget)), &|budget| {
        Box::new(SubstringFinder::new(&substring, KeepWhich::First, budget))
    }];
    for start in finders {
        let (expected, spilled_bytes) = run(start, &texts, 8192, 1, FixedBudget::of(usize::MAX, 1));
        assert_eq!(spilled_bytes, 0);
        assert!(expected.iter().filter(|outcome| matches!(outcome, Outcome::Cut(_))).count() > 1_000);
        for (n_partitions, limit_bytes) in [(1, 0), (3, 0), (20, usize::MAX)] {
            let (found, spilled_bytes) = run(start, &texts, 100, n_partitions, FixedBudget::of(limit_bytes, 8));
            assert_eq!(spilled_bytes > 0, limit_bytes == 0);
            assert!(found == expected, "{n_partitions} partitions");
        }
    }
}
