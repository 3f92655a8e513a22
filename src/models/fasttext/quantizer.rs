//! Product quantization: a row is cut into parts of a few numbers, and each part is the number of one of 256 centroids.

use super::file::{File, floats};
use crate::Result;
use bytes::Bytes;

/// A code is a byte.
const N_CENTROIDS: usize = 256;

/// The centroids of each part.
#[derive(Debug)]
pub(super) struct Quantizer {
    n_parts: usize,
    /// Numbers in a part; the last part may have fewer.
    part_dim: usize,
    last_dim: usize,
    centroids: Vec<f32>,
}

impl Quantizer {
    /// Reads the quantizer of rows of `dim` numbers.
    pub(super) fn read(file: &mut File<'_>, dim: usize, what: &str) -> Result<Self> {
        let own_dim = file.count(what)?;
        let n_parts = file.count(what)?;
        let part_dim = file.count(what)?;
        let last_dim = file.count(what)?;
        let parts_dim =
            n_parts.checked_sub(1).and_then(|n| n.checked_mul(part_dim)).and_then(|n| n.checked_add(last_dim));
        if own_dim != dim || parts_dim != Some(dim) || last_dim == 0 || last_dim > part_dim {
            let parts = format!("{n_parts} parts of {part_dim}, the last of {last_dim}");
            return Err(file.damaged(format!("{what} has rows of {dim} numbers in {parts}: it is damaged")));
        }
        let n_bytes = dim.checked_mul(N_CENTROIDS * 4);
        let centroids = floats(&file.take(n_bytes, what)?).collect();
        Ok(Self { n_parts, part_dim, last_dim, centroids })
    }
}

/// Quantized rows.
#[derive(Debug)]
pub(super) struct Rows {
    codes: Bytes,
    quantizer: Quantizer,
}

impl Rows {
    pub(super) fn new(codes: Bytes, quantizer: Quantizer, n_rows: usize) -> Result<Self, String> {
        if n_rows.checked_mul(quantizer.n_parts) != Some(codes.len()) {
            return Err(format!(
                "{} codes for {n_rows} rows of {} parts: it is damaged",
                codes.len(),
                quantizer.n_parts
            ));
        }
        Ok(Self { codes, quantizer })
    }

    /// Each part of a row with the place of its first number.
    #[inline(always)]
    fn parts(&self, row: usize) -> impl Iterator<Item = (usize, &[f32])> {
        let Quantizer { n_parts, part_dim, last_dim, centroids } = &self.quantizer;
        let codes = &self.codes[row * n_parts..][..*n_parts];
        codes.iter().enumerate().map(move |(part, code)| {
            let dim = if part + 1 == *n_parts { *last_dim } else { *part_dim };
            let begin = part * N_CENTROIDS * part_dim + usize::from(*code) * dim;
            (part * part_dim, &centroids[begin..begin + dim])
        })
    }

    /// `sum += factor · row`
    pub(super) fn add(&self, sum: &mut [f32], row: usize, factor: f32) {
        for (first, centroid) in self.parts(row) {
            for (sum, value) in sum[first..].iter_mut().zip(centroid) {
                *sum += factor * value;
            }
        }
    }

    /// The inner product of a row and a vector.
    pub(super) fn dot(&self, vector: &[f32], row: usize) -> f32 {
        let mut sum = 0.0;
        for (first, centroid) in self.parts(row) {
            for (a, b) in vector[first..].iter().zip(centroid) {
                sum += a * b;
            }
        }
        sum
    }
}
