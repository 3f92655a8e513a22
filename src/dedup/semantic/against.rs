//! Rows compared with vectors of earlier runs, which an index keeps by the same centres.
//!
//! Each row is compared with every stored vector of its cluster, in full: what lies in other clusters is not looked at, as
//! within a run. Stored vectors come before all rows, so the ranking has no say here.
//! Memory: a block of rows, as large as the budget grants, and a block of the index.
//! Not here: the files (`crate::dedup::index`).

use super::dots::{Matrix, for_each_dot};
use super::nearest::{Claim, ROWS_A_TASK, rounded};
use super::vectors::{Vectors, stride};
use crate::Result;
use crate::dedup::Budget;
use crate::dedup::index::{IndexCentres, IndexVectors};
use rayon::prelude::*;

/// A document of the index and the similarity to it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Stored {
    pub(super) ordinal: u64,
    pub(super) similarity: f32,
}

/// For each of `rows`, which are of one cluster: the most similar stored vector of it, the earliest of equals.
pub(super) fn best_stored(
    vectors: &Vectors,
    rows: &[u32],
    stored: &mut IndexVectors,
    cluster: u32,
    dimension: usize,
    budget: &dyn Budget,
) -> Result<Vec<Option<Stored>>> {
    let mut best = vec![None; rows.len()];
    let claim = Claim::for_rows(rows.len(), vectors.stride(), budget)?;
    let (mut queries, mut candidates) = (Vec::new(), Vec::new());
    for (rows, best) in rows.chunks(claim.block_rows).zip(best.chunks_mut(claim.block_rows)) {
        vectors.gather(rows, &mut queries)?;
        stored.for_each_block(cluster, |ordinals, values| {
            pad(values, dimension, &mut candidates);
            compare(&queries, &candidates, ordinals, vectors.stride(), best);
            Ok(())
        })?;
    }
    Ok(best)
}

fn compare(queries: &[f32], candidates: &[f32], ordinals: &[u64], stride: usize, best: &mut [Option<Stored>]) {
    let candidates = Matrix::new(candidates, stride);
    let tasks = queries.par_chunks(ROWS_A_TASK * stride).zip(best.par_chunks_mut(ROWS_A_TASK));
    tasks.for_each(|(queries, best)| {
        let all = |_| usize::MAX;
        for_each_dot(Matrix::new(queries, stride), candidates, all, |row, at, similarity| {
            let similarity = rounded(similarity);
            if best[row].is_none_or(|best: Stored| similarity > best.similarity) {
                best[row] = Some(Stored { ordinal: ordinals[at], similarity });
            }
        });
    });
}

/// Centres as k-means has them.
pub(super) fn padded(centres: &IndexCentres) -> Vec<f32> {
    let mut values = Vec::new();
    pad(&centres.values, centres.dimension, &mut values);
    values
}

/// Centres as an index has them.
pub(super) fn unpadded(values: &[f32], dimension: usize) -> IndexCentres {
    let values = values.chunks_exact(stride(dimension)).flat_map(|vector| &vector[..dimension]).copied().collect();
    IndexCentres { dimension, values }
}

/// Fills each vector up with zeros.
fn pad(values: &[f32], dimension: usize, to: &mut Vec<f32>) {
    to.clear();
    for vector in values.chunks_exact(dimension) {
        to.extend_from_slice(vector);
        to.resize(to.len() + stride(dimension) - dimension, 0.0);
    }
}
