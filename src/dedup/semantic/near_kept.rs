//! Within one cluster: for each row that goes, the first row that stays and that it is similar to (`link = 'kept'`).
//!
//! Rows that are similar to none ranked before them stay, as is known already. The others are decided in the order of the
//! ranking, a block at a time: compared with the rows that stay so far, then with each other.
//! Memory: as in `nearest.rs`; the size of a block changes nothing else.

use super::dots::{Matrix, for_each_dot};
use super::nearest::{Best, Claim, ROWS_A_TASK, rounded};
use super::vectors::Vectors;
use crate::Result;
use crate::dedup::Budget;
use rayon::prelude::*;

/// Rows that are decided at a time.
const BLOCK_ROWS: usize = 256;

/// For each row of a cluster, given in the order of the ranking: the first row before it that stays and is similar
/// enough; none if it stays itself. `best` is the most similar row before each, `goes` tells which rows go anyway.
pub(super) fn first_kept(
    vectors: &Vectors,
    ranked: &[u32],
    best: &[Option<Best>],
    goes: impl Fn(usize) -> bool,
    threshold: f64,
    budget: &dyn Budget,
) -> Result<Vec<Option<Best>>> {
    let is_close = |similarity: f32| f64::from(similarity) >= threshold;
    let is_open = |place: &usize| best[*place].is_some_and(|best| is_close(best.similarity));
    let (open, mut staying): (Vec<usize>, Vec<usize>) =
        (0..ranked.len()).filter(|place| !goes(*place)).partition(is_open);
    let mut first = vec![None; ranked.len()];
    if open.is_empty() {
        return Ok(first);
    }
    // Twice: the block that is decided, and the one that it is compared with.
    let claim = Claim::for_rows(2 * ranked.len(), vectors.stride(), budget)?;
    let (mut values, mut others) = (Vec::new(), Vec::new());
    for block in open.chunks(BLOCK_ROWS.min(claim.block_rows)) {
        gather(vectors, ranked, block, &mut values)?;
        let mut similar: Vec<Option<Best>> = vec![None; block.len()];
        let end = block.last().map_or(0, |last| staying.partition_point(|place| place < last));
        for candidates in staying[..end].chunks(claim.block_rows.min(ranked.len())) {
            gather(vectors, ranked, candidates, &mut others)?;
            let matrix = Matrix::new(&others, vectors.stride());
            let tasks = values.par_chunks(ROWS_A_TASK * vectors.stride()).zip(similar.par_chunks_mut(ROWS_A_TASK));
            tasks.zip(block.par_chunks(ROWS_A_TASK)).for_each(|((values, similar), block)| {
                let before = |row: usize| candidates.partition_point(|place| *place < block[row]);
                for_each_dot(Matrix::new(values, vectors.stride()), matrix, before, |row, at, similarity| {
                    let similarity = rounded(similarity);
                    if similar[row].is_none() && is_close(similarity) {
                        similar[row] = Some(Best { place: candidates[at] as u32, similarity });
                    }
                });
            });
        }
        let within = close_within(&values, vectors.stride(), is_close);
        let mut stays = vec![false; block.len()];
        for (at, &place) in block.iter().enumerate() {
            let inside = within[at].iter().find(|(earlier, _)| stays[*earlier]);
            let inside =
                inside.map(|(earlier, similarity)| Best { place: block[*earlier] as u32, similarity: *similarity });
            first[place] = [similar[at], inside].into_iter().flatten().min_by_key(|best| best.place);
            if first[place].is_none() {
                stays[at] = true;
                staying.insert(staying.partition_point(|other| *other < place), place);
            }
        }
    }
    Ok(first)
}

/// For each row of a block, the rows before it that are close: ascending, with the similarity.
fn close_within(values: &[f32], stride: usize, is_close: impl Fn(f32) -> bool + Sync) -> Vec<Vec<(usize, f32)>> {
    let all = Matrix::new(values, stride);
    let mut close = vec![Vec::new(); all.n_rows()];
    let tasks = values.par_chunks(ROWS_A_TASK * stride).zip(close.par_chunks_mut(ROWS_A_TASK)).enumerate();
    tasks.for_each(|(task, (values, close))| {
        let before = |row: usize| task * ROWS_A_TASK + row;
        for_each_dot(Matrix::new(values, stride), all, before, |row, at, similarity| {
            let similarity = rounded(similarity);
            if is_close(similarity) {
                close[row].push((at, similarity));
            }
        });
    });
    close
}

fn gather(vectors: &Vectors, ranked: &[u32], places: &[usize], to: &mut Vec<f32>) -> Result<()> {
    let rows: Vec<u32> = places.iter().map(|place| ranked[*place]).collect();
    vectors.gather(&rows, to)
}
