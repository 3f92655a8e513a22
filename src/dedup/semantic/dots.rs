//! Dot products of many vectors with many: the one place where semantic dedup spends its time.
//!
//! Invariant: the product of two vectors has the same bits wherever they stand in their matrices and however the work
//! is cut up, since each is summed in eight lanes over the whole length and the lanes are added in one order.
//! Not here: what the products mean.

use wide::f32x8;

/// Values of a vector that are multiplied at a time; rows are padded with zeros to a multiple of it.
pub(super) const LANES: usize = 8;

/// Rows of the second matrix that stay in the first-level cache while the first is walked through.
const PANEL_BYTES: usize = 20 << 10;

/// Vectors of one length, one after the other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Matrix<'a> {
    values: &'a [f32],
    stride: usize,
}

impl<'a> Matrix<'a> {
    /// Over rows of `stride` values, a multiple of [`LANES`].
    pub(super) fn new(values: &'a [f32], stride: usize) -> Self {
        debug_assert!(stride > 0 && stride.is_multiple_of(LANES) && values.len().is_multiple_of(stride));
        Self { values, stride }
    }

    pub(super) fn n_rows(&self) -> usize {
        self.values.len() / self.stride
    }

    pub(super) fn row(&self, at: usize) -> &'a [f32] {
        &self.values[at * self.stride..(at + 1) * self.stride]
    }
}

/// Calls `each(a_row, b_row, product)` for all rows of `a` and the rows of `b` before `end_of(a_row)`. For one row of
/// `a`, the rows of `b` come in ascending order. `end_of` must not descend.
pub(super) fn for_each_dot(
    a: Matrix<'_>,
    b: Matrix<'_>,
    end_of: impl Fn(usize) -> usize,
    mut each: impl FnMut(usize, usize, f32),
) {
    let n_panel = (PANEL_BYTES / (b.stride * size_of::<f32>())).clamp(2, 64) & !1;
    for panel in (0..b.n_rows()).step_by(n_panel) {
        let panel_end = (panel + n_panel).min(b.n_rows());
        let mut i = 0;
        while i < a.n_rows() {
            let pair = i + 1 < a.n_rows();
            let last = if pair { i + 1 } else { i };
            let (end, last_end) = (panel_end.min(end_of(i)), panel_end.min(end_of(last)));
            let mut j = panel;
            while pair && j + 1 < last_end {
                let sums = dot_2x2([a.row(i), a.row(i + 1)], [b.row(j), b.row(j + 1)]);
                for (k, sum) in sums.into_iter().enumerate() {
                    let (row, column) = (i + k / 2, j + k % 2);
                    if row == last || column < end {
                        each(row, column, sum);
                    }
                }
                j += 2;
            }
            for column in j..last_end.max(end) {
                if column < end {
                    each(i, column, dot(a.row(i), b.row(column)));
                }
                if pair && column < last_end {
                    each(i + 1, column, dot(a.row(i + 1), b.row(column)));
                }
            }
            i += 2;
        }
    }
}

/// The product of two vectors.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sum = f32x8::ZERO;
    for (a, b) in a.as_chunks::<LANES>().0.iter().zip(b.as_chunks::<LANES>().0) {
        sum += f32x8::from(*a) * f32x8::from(*b);
    }
    total(sum)
}

/// The products of two vectors with two others, so that each value loaded is used twice.
fn dot_2x2(a: [&[f32]; 2], b: [&[f32]; 2]) -> [f32; 4] {
    let mut sums = [f32x8::ZERO; 4];
    let a = a.map(|row| row.as_chunks::<LANES>().0);
    let b = b.map(|row| row.as_chunks::<LANES>().0);
    for (((a0, a1), b0), b1) in a[0].iter().zip(a[1]).zip(b[0]).zip(b[1]) {
        let (a0, a1) = (f32x8::from(*a0), f32x8::from(*a1));
        let (b0, b1) = (f32x8::from(*b0), f32x8::from(*b1));
        sums[0] += a0 * b0;
        sums[1] += a0 * b1;
        sums[2] += a1 * b0;
        sums[3] += a1 * b1;
    }
    sums.map(total)
}

/// The lanes added in a fixed order.
fn total(lanes: f32x8) -> f32 {
    let l = lanes.to_array();
    ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_pair_comes_once_in_order_with_the_same_bits(
            n_a in 0usize..9, n_b in 0usize..70, lag in 0usize..5, wide in any::<bool>(),
        ) {
            let stride = if wide { 1024 } else { LANES };
            let value = |k: usize| ((k * 7919) % 1009) as f32 / 1009.0 - 0.5;
            let a: Vec<f32> = (0..n_a * stride).map(value).collect();
            let b: Vec<f32> = (0..n_b * stride).map(|k| value(k + 17)).collect();
            let (a, b) = (Matrix::new(&a, stride), Matrix::new(&b, stride));
            let end_of = |row: usize| n_b.min(row * 3 + lag);
            let mut seen = vec![Vec::new(); n_a];
            for_each_dot(a, b, end_of, |row, column, sum| seen[row].push((column, sum)));
            for (row, seen) in seen.iter().enumerate() {
                let wanted: Vec<_> = (0..end_of(row)).map(|column| (column, dot(a.row(row), b.row(column)))).collect();
                prop_assert_eq!(seen, &wanted);
            }
        }
    }
}
