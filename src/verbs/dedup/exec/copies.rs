//! Rows whose key their own partition has had already, for a verb that need not tell of them: they go before anything is kept
//! of them, so what a `DISTINCT ON` keeps are some rows for each key, not all rows.

use super::work::DedupWork;
use crate::dedup::Budget;
use crate::{Result, bug};
use arrow::array::{AsArray, BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use std::collections::HashSet;
use std::sync::Arc;

/// After so many rows it is known whether looking for copies pays.
const TRIAL_ROWS: usize = 16_384;
/// It does if at least one row in so many is one.
const LEAST_SHARE: usize = 16;
/// What a key takes: itself, and its share of the table.
const BYTES_PER_KEY: usize = 40;

/// The keys that one partition has had. Forgetting some costs only that copies of them are kept until all rows have been read.
pub(super) struct Copies<'a> {
    column: usize,
    seen: Option<HashSet<[u8; 16]>>,
    claimed_bytes: usize,
    budget: &'a Arc<dyn Budget>,
    n_rows: usize,
    n_copies: usize,
}

impl<'a> Copies<'a> {
    pub fn new(work: &DedupWork, budget: &'a Arc<dyn Budget>) -> Result<Self> {
        let Some(column) = work.columns.key else { return Err(bug!("{} has no key", work.request.label)) };
        let seen = (work.request.forgets_copies && work.dropped.is_none()).then(HashSet::new);
        Ok(Self { column, seen, claimed_bytes: 0, budget, n_rows: 0, n_copies: 0 })
    }

    /// The rows of the next batch that are not known to be copies.
    pub fn leave_out(&mut self, batch: RecordBatch) -> Result<RecordBatch> {
        let Some(seen) = &mut self.seen else { return Ok(batch) };
        let keys = batch.column(self.column).as_fixed_size_binary_opt();
        let keys = keys.ok_or_else(|| bug!("a key of type {}", batch.column(self.column).data_type()))?;
        // A row without a key is like no other.
        let mut is_new =
            |key: Option<&[u8]>| key.and_then(|key| key.try_into().ok()).is_none_or(|key| seen.insert(key));
        let keep: BooleanArray = keys.iter().map(|key| Some(is_new(key))).collect();
        let n_kept = keep.true_count();
        self.n_rows += keep.len();
        self.n_copies += keep.len() - n_kept;
        let new_bytes = n_kept * BYTES_PER_KEY;
        let is_worth_it = self.n_rows < TRIAL_ROWS || self.n_copies >= self.n_rows / LEAST_SHARE;
        if is_worth_it && self.budget.try_grow(new_bytes) {
            self.claimed_bytes += new_bytes;
        } else {
            self.forget();
        }
        if n_kept == keep.len() {
            return Ok(batch);
        }
        filter_record_batch(&batch, &keep).map_err(|error| bug!("rows of a DISTINCT ON: {error}"))
    }

    fn forget(&mut self) {
        self.seen = None;
        self.budget.shrink(std::mem::take(&mut self.claimed_bytes));
    }
}

impl Drop for Copies<'_> {
    fn drop(&mut self) {
        self.forget();
    }
}
