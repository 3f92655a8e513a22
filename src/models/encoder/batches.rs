//! Cuts a window of documents into batches for an encoder.
//!
//! ```text
//!  lengths  7 130 9 61 8 …  ─ by width ─►  8: 7 9→16 8 …   64: 61 …   144: 130 …  ─ by memory ─►  batches of one width each
//! ```
//! A row is filled up to a width that follows from its own length alone, and a batch has rows of one width. So a row's numbers
//! have the same bits whatever stands in the window beside it, and however the window is cut. Widths are an eighth of their size
//! apart, so little of a batch is padding.

/// Rows of a window that are computed together, each filled up to `width` tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    pub width: usize,
    /// Numbers of rows in the window.
    pub rows: Vec<usize>,
}

/// The width that a row of `n_tokens` is filled up to.
pub fn width_of(n_tokens: usize) -> usize {
    let step = (n_tokens.next_power_of_two() / 16).max(8);
    n_tokens.max(1).next_multiple_of(step)
}

/// The batches of a window. `most_rows` says how many rows of a width are computed at once.
pub fn cut(n_tokens: &[usize], most_rows: impl Fn(usize) -> usize) -> Vec<Batch> {
    let mut rows: Vec<usize> = (0..n_tokens.len()).collect();
    // Wide ones first: a worker that is done early finds short work left.
    rows.sort_by_key(|row| (std::cmp::Reverse(width_of(n_tokens[*row])), *row));
    let mut batches = Vec::new();
    for rows in rows.chunk_by(|a, b| width_of(n_tokens[*a]) == width_of(n_tokens[*b])) {
        let width = width_of(n_tokens[rows[0]]);
        let most = most_rows(width).max(1);
        // Batches of nearly equal size, so that none is left with few rows.
        let n_batches = rows.len().div_ceil(most);
        let size = rows.len().div_ceil(n_batches);
        batches.extend(rows.chunks(size).map(|rows| Batch { width, rows: rows.to_vec() }));
    }
    batches
}
