//! Within one cluster: for each row, the most similar of the rows ranked before it.
//!
//! Blocks of rows are compared with blocks of rows, two blocks in memory at a time; the block size changes nothing but
//! the memory. A row that is itself a duplicate counts as one that is ranked before, as in NeMo.
//! Not here: the ranking (`mod.rs`).

use super::device::OnDevices;
use super::dots::{Matrix, for_each_dot};
use super::vectors::{Vectors, no_memory};
use crate::Result;
use crate::dedup::Budget;
use rayon::prelude::*;

/// Rows that a thread takes at a time.
pub(super) const ROWS_A_TASK: usize = 32;

/// Similarities this close to 1 are 1: what rounding takes from equal vectors.
const ROUNDING: f32 = 1e-6;

/// A cosine, as it counts.
pub(super) fn rounded(similarity: f32) -> f32 {
    if similarity > 1.0 - ROUNDING { 1.0 } else { similarity }
}

/// The most similar row that counts, as a place in the ranking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Best {
    pub(super) place: u32,
    pub(super) similarity: f32,
}

/// Which rows a row is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Others {
    /// Those ranked before it.
    Before,
    /// All but itself.
    All,
}

/// For each row of a cluster, given in the order of the ranking: its best, the earliest of equals.
pub(super) fn best_of(
    vectors: &Vectors,
    ranked: &[u32],
    others: Others,
    budget: &dyn Budget,
    devices: Option<&OnDevices>,
) -> Result<Vec<Option<Best>>> {
    let claim = Claim::for_rows(ranked.len(), vectors.stride(), budget)?;
    let (mut queries, mut candidates) = (Vec::new(), Vec::new());
    // A cluster larger than the memory of this machine is collected block by block, on the CPU.
    if let Some(devices) = devices.filter(|devices| devices.takes(ranked.len()) && claim.block_rows >= ranked.len()) {
        vectors.gather(ranked, &mut queries)?;
        if let Some(best) = devices.best_of(&queries, vectors.stride(), others)? {
            return Ok(best);
        }
    }
    let mut best = vec![None; ranked.len()];
    for start in (0..ranked.len()).step_by(claim.block_rows) {
        let end = (start + claim.block_rows).min(ranked.len());
        vectors.gather(&ranked[start..end], &mut queries)?;
        let last = if others == Others::Before { end } else { ranked.len() };
        for from in (0..last).step_by(claim.block_rows) {
            let to = (from + claim.block_rows).min(ranked.len());
            if from == start {
                compare(&queries, start, &queries, from, others, vectors.stride(), &mut best[start..end]);
            } else {
                vectors.gather(&ranked[from..to], &mut candidates)?;
                compare(&queries, start, &candidates, from, others, vectors.stride(), &mut best[start..end]);
            }
        }
    }
    Ok(best)
}

/// Compares two blocks that stand at places `start` and `from` of the ranking.
fn compare(
    queries: &[f32],
    start: usize,
    candidates: &[f32],
    from: usize,
    others: Others,
    stride: usize,
    best: &mut [Option<Best>],
) {
    let candidates = Matrix::new(candidates, stride);
    let tasks = queries.par_chunks(ROWS_A_TASK * stride).zip(best.par_chunks_mut(ROWS_A_TASK)).enumerate();
    tasks.for_each(|(task, (queries, best))| {
        let place = |row: usize| start + task * ROWS_A_TASK + row;
        let end_of = |row: usize| match others {
            Others::Before => place(row).saturating_sub(from),
            Others::All => usize::MAX,
        };
        for_each_dot(Matrix::new(queries, stride), candidates, end_of, |row, at, similarity| {
            let similarity = rounded(similarity);
            let better = best[row].is_none_or(|best: Best| similarity > best.similarity);
            if better && from + at != place(row) {
                best[row] = Some(Best { place: (from + at) as u32, similarity });
            }
        });
    });
}

/// Memory for two blocks, given back at the end.
pub(super) struct Claim<'a> {
    budget: &'a dyn Budget,
    bytes: usize,
    /// Rows of a block.
    pub(super) block_rows: usize,
}

impl<'a> Claim<'a> {
    /// One block if all rows fit, else two blocks as large as is granted.
    pub(super) fn for_rows(n_rows: usize, stride: usize, budget: &'a dyn Budget) -> Result<Self> {
        let mut block_rows = n_rows.max(1);
        loop {
            let n_blocks = if block_rows >= n_rows { 1 } else { 2 };
            let bytes = n_blocks * block_rows * stride * size_of::<f32>();
            if budget.try_grow(bytes) {
                return Ok(Self { budget, bytes, block_rows });
            }
            if block_rows <= ROWS_A_TASK {
                return Err(no_memory(bytes));
            }
            block_rows = block_rows.div_ceil(2);
        }
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.budget.shrink(self.bytes);
    }
}
