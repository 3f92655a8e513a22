//! The two matrices of a model, where they stand in its file.

use super::file::{File, floats};
use super::quantizer::{Quantizer, Rows};
use crate::Result;
use bytes::Bytes;

/// Rows of floats, or of what they were quantized to.
#[derive(Debug)]
pub(super) enum Matrix {
    /// Row after row, four bytes a number.
    Dense { floats: Bytes, n_rows: usize, dim: usize },
    /// A byte for each few numbers of a row.
    Quantized(Box<Quantized>),
}

#[derive(Debug)]
pub(super) struct Quantized {
    rows: Rows,
    /// The length of each row, quantized by itself.
    norms: Option<Rows>,
    n_rows: usize,
    dim: usize,
    /// All rows as they are added, where they take little memory; else empty.
    unpacked: Vec<f32>,
}

/// The most that a matrix may take beside its file, to be added up faster: lid.176.ftz would take 4 MB.
const MAX_UNPACKED_BYTES: usize = 16 << 20;

impl Matrix {
    pub(super) fn read(file: &mut File<'_>, is_quantized: bool, what: &str) -> Result<Self> {
        let what = &format!("its {what} matrix");
        if is_quantized {
            return Quantized::read(file, what).map(|matrix| Matrix::Quantized(Box::new(matrix)));
        }
        let (n_rows, dim) = (file.long_count(what)?, file.long_count(what)?);
        let n_bytes = n_rows.checked_mul(dim).and_then(|n| n.checked_mul(4));
        Ok(Matrix::Dense { floats: file.take(n_bytes, what)?, n_rows, dim })
    }

    pub(super) fn n_rows(&self) -> usize {
        match self {
            Matrix::Dense { n_rows, .. } => *n_rows,
            Matrix::Quantized(matrix) => matrix.n_rows,
        }
    }

    pub(super) fn dim(&self) -> usize {
        match self {
            Matrix::Dense { dim, .. } => *dim,
            Matrix::Quantized(matrix) => matrix.dim,
        }
    }

    /// Bytes that it takes in memory beside its file.
    pub(super) fn memory_bytes(&self) -> usize {
        match self {
            Matrix::Dense { .. } => 0,
            Matrix::Quantized(matrix) => matrix.unpacked.len() * 4,
        }
    }

    /// `sum += self[row]`
    pub(super) fn add_row(&self, sum: &mut [f32], row: usize) {
        match self {
            Matrix::Dense { floats: bytes, dim, .. } => {
                for (sum, value) in sum.iter_mut().zip(floats(&bytes[row * dim * 4..][..dim * 4])) {
                    *sum += value;
                }
            }
            Matrix::Quantized(matrix) => matrix.add_row(sum, row),
        }
    }

    /// The inner product of a row and a vector.
    pub(super) fn dot(&self, vector: &[f32], row: usize) -> f32 {
        match self {
            Matrix::Dense { floats: bytes, dim, .. } => {
                let row = floats(&bytes[row * dim * 4..][..dim * 4]);
                vector.iter().zip(row).fold(0.0, |sum, (a, b)| sum + a * b)
            }
            Matrix::Quantized(matrix) => matrix.norm(row) * matrix.rows.dot(vector, row),
        }
    }
}

impl Quantized {
    fn read(file: &mut File<'_>, what: &str) -> Result<Self> {
        let has_norms = file.flag(what)?;
        let (n_rows, dim) = (file.long_count(what)?, file.long_count(what)?);
        let n_codes = file.count(what)?;
        let codes = file.take(Some(n_codes), what)?;
        let quantizer = Quantizer::read(file, dim, what)?;
        let rows = Rows::new(codes, quantizer, n_rows).map_err(|why| file.damaged(format!("{what}: {why}")))?;
        let mut norms = None;
        if has_norms {
            let codes = file.take(Some(n_rows), what)?;
            let quantizer = Quantizer::read(file, 1, what)?;
            norms = Some(Rows::new(codes, quantizer, n_rows).map_err(|why| file.damaged(format!("{what}: {why}")))?);
        }
        let mut matrix = Self { rows, norms, n_rows, dim, unpacked: Vec::new() };
        if n_rows.saturating_mul(dim) <= MAX_UNPACKED_BYTES / 4 {
            let mut unpacked = vec![0.0; n_rows * dim];
            for (row, values) in unpacked.chunks_exact_mut(dim.max(1)).enumerate() {
                matrix.rows.add(values, row, matrix.norm(row));
            }
            matrix.unpacked = unpacked;
        }
        Ok(matrix)
    }

    fn add_row(&self, sum: &mut [f32], row: usize) {
        match self.unpacked.get(row * self.dim..(row + 1) * self.dim) {
            Some(values) => sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value),
            None => self.rows.add(sum, row, self.norm(row)),
        }
    }

    fn norm(&self, row: usize) -> f32 {
        self.norms.as_ref().map_or(1.0, |norms| norms.dot(&[1.0], row))
    }
}
