//! How much memory a batch takes, and how large batches are therefore.
//!
//! Small batches are as fast as large ones on a CPU, as soon as the matrices are a few hundred rows high, and they stay in its
//! caches. So a batch has about [`BATCH_TOKENS`] tokens, or fewer where a query's memory does not allow as many.

use super::graph::Shape;
use crate::ops::ModelSetting;

/// The tokens of a batch, with padding: more brought nothing (MiniLM: 3,118 tokens a second at 512, 3,067 at 1,024, 2,933 at 8,192).
const BATCH_TOKENS: usize = 1024;

/// What one call of a model may use.
#[derive(Clone, Debug)]
pub struct Room {
    shape: Shape,
    /// For the numbers of one batch.
    pub batch_bytes: usize,
}

impl Room {
    /// The share of one thread: half of what the weights leave of the query's memory, divided among the threads.
    pub fn new(shape: &Shape, held_bytes: usize, setting: &ModelSetting) -> Self {
        let share = |limit: usize| limit.saturating_sub(held_bytes) / 2 / setting.threads.max(1);
        Room { shape: shape.clone(), batch_bytes: setting.memory_limit_bytes.map_or(usize::MAX, share) }
    }

    /// What the numbers of one row take while it is computed, at the widest place of a layer.
    pub fn row_bytes(&self, width: usize) -> usize {
        let Shape { hidden, intermediate, n_heads, n_score_matrices, .. } = self.shape;
        let forward = width * (3 * hidden + 2 * intermediate);
        let attention = width * 5 * hidden + n_score_matrices * n_heads * width * width;
        // A quarter more, for buffers that are kept for the next node.
        forward.max(attention) * 4 * 5 / 4
    }

    /// How many rows of a width are computed at once.
    pub fn most_rows(&self, width: usize) -> usize {
        let by_memory = self.batch_bytes / self.row_bytes(width).max(1);
        (BATCH_TOKENS / width.max(1)).min(by_memory).max(1)
    }

    /// What the largest batch takes of rows that are at most so wide.
    pub fn work_bytes(&self, n_rows: usize, width: usize) -> usize {
        self.row_bytes(width) * self.most_rows(width).min(n_rows.max(1))
    }
}
