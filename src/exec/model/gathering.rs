//! Rows that wait until there are enough of them for a batch.
//!
//! Invariant: rows keep their order, and each is in one batch. A batch has as many rows as it is to have, or fewer with as many bytes,
//! or is the last one.

use crate::exec::coalesce::{BatchSize, slice_bytes};
use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;
use datafusion::error::Result;
use std::collections::VecDeque;

/// Rows that wait.
pub(super) struct Gathering {
    schema: SchemaRef,
    target: BatchSize,
    /// Which columns' bytes count.
    columns: Vec<usize>,
    /// The rows, with their bytes.
    waiting: VecDeque<(RecordBatch, usize)>,
    n_rows: usize,
    n_bytes: usize,
}

impl Gathering {
    pub fn new(schema: SchemaRef, target: BatchSize, columns: Vec<usize>) -> Self {
        Self { schema, target, columns, waiting: VecDeque::new(), n_rows: 0, n_bytes: 0 }
    }

    /// Adds rows.
    pub fn push(&mut self, batch: RecordBatch) {
        if batch.num_rows() == 0 {
            return;
        }
        let n_bytes = self.bytes_of(&batch);
        self.n_rows += batch.num_rows();
        self.n_bytes += n_bytes;
        self.waiting.push_back((batch, n_bytes));
    }

    /// A full batch, or what is left if nothing more will come.
    pub fn take(&mut self, is_end: bool) -> Result<Option<RecordBatch>> {
        let is_full = self.n_rows >= self.target.rows || self.n_bytes >= self.target.bytes;
        if self.n_rows == 0 || !(is_full || is_end) {
            return Ok(None);
        }
        let (mut taken, mut n_rows, mut n_bytes) = (vec![], 0, 0);
        while let Some((batch, bytes)) = self.waiting.pop_front() {
            (self.n_rows, self.n_bytes) = (self.n_rows - batch.num_rows(), self.n_bytes - bytes);
            let n_taken = self.fitting(&batch, bytes, n_rows, n_bytes);
            if n_taken < batch.num_rows() {
                let rest = batch.slice(n_taken, batch.num_rows() - n_taken);
                let rest_bytes = self.bytes_of(&rest);
                (self.n_rows, self.n_bytes) = (self.n_rows + rest.num_rows(), self.n_bytes + rest_bytes);
                self.waiting.push_front((rest, rest_bytes));
            }
            n_rows += n_taken;
            n_bytes += if n_taken == batch.num_rows() { bytes } else { self.bytes_of(&batch.slice(0, n_taken)) };
            let is_cut = n_taken < batch.num_rows();
            taken.push(batch.slice(0, n_taken));
            if is_cut || n_rows >= self.target.rows || n_bytes >= self.target.bytes {
                break;
            }
        }
        Ok(match taken.as_slice() {
            [] => None,
            [only] => Some(only.clone()),
            many => Some(concat_batches(&self.schema, many)?),
        })
    }

    /// How many rows of a batch go with those that were taken: one at least, so that a long row is taken at all.
    fn fitting(&self, batch: &RecordBatch, bytes: usize, n_rows: usize, n_bytes: usize) -> usize {
        let by_rows = batch.num_rows().min(self.target.rows - n_rows);
        if n_bytes + bytes <= self.target.bytes {
            return by_rows;
        }
        // Halved until it fits: texts differ in length, and few batches are cut.
        let room = self.target.bytes - n_bytes;
        let mut fits = by_rows;
        while fits > 1 && self.bytes_of(&batch.slice(0, fits)) > room {
            fits /= 2;
        }
        fits
    }

    /// The bytes that count of a batch.
    pub fn bytes_of(&self, batch: &RecordBatch) -> usize {
        batch.project(&self.columns).map_or(0, |columns| slice_bytes(&columns))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use arrow::array::{ArrayRef, AsArray, StringArray};
    use std::sync::Arc;

    fn batch(texts: &[&str]) -> RecordBatch {
        RecordBatch::try_from_iter([("t", Arc::new(StringArray::from(texts.to_vec())) as ArrayRef)]).unwrap()
    }

    fn gathered(batches: &[&[&str]], rows: usize, bytes: usize) -> Vec<Vec<String>> {
        let mut gathering = Gathering::new(batch(&[]).schema(), BatchSize { rows, bytes }, vec![0]);
        let mut all = vec![];
        let mut take = |gathering: &mut Gathering, is_end: bool| {
            while let Some(batch) = gathering.take(is_end).unwrap() {
                all.push(batch.column(0).as_string::<i32>().iter().map(|text| text.unwrap().to_string()).collect());
            }
        };
        for texts in batches {
            gathering.push(batch(texts));
            take(&mut gathering, false);
        }
        take(&mut gathering, true);
        all
    }

    #[test]
    fn batches_are_full_whatever_came_together_and_only_the_last_is_not() {
        let came: &[&[&str]] = &[&["a"], &["b", "c", "d", "e"], &[], &["f"], &["g"]];
        let rows = gathered(came, 3, 1000);
        assert_eq!(rows, [vec!["a", "b", "c"], vec!["d", "e", "f"], vec!["g"]]);
        assert_eq!(gathered(came, 100, 1000).len(), 1);
    }

    #[test]
    fn a_batch_ends_at_its_bytes_and_a_long_row_is_one_of_its_own() {
        let long = "x".repeat(100);
        let rows = gathered(&[&["a", "b"], &[&long, "c"], &[&long, &long]], 100, 60);
        assert_eq!(rows.iter().map(Vec::len).sum::<usize>(), 6);
        assert!(rows.iter().all(|batch| batch.iter().filter(|text| text.len() > 60).count() <= 1), "{rows:?}");
        let joined: Vec<usize> = rows.iter().flatten().map(String::len).collect();
        assert_eq!(joined, [1, 1, 100, 1, 100, 100], "the order stays");
    }
}
