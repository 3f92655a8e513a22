//! k-means on unit vectors: k-means++ for the first centres, then Lloyd's iterations.
//!
//! Centres are means, not brought to length 1 (as in NeMo's cuML). The sums of a cluster are made in f64 in the order
//! of its rows, so that centres have the same bits with any number of threads and wherever the vectors lie.
//! Not here: which vectors are learned from (`mod.rs`), what the clusters are good for (`nearest.rs`).

use super::device::{OnDevices, Passes};
use super::dots::{Matrix, dot, for_each_dot};
use super::random::Random;
use super::vectors::Vectors;
use crate::Result;
use rayon::prelude::*;

/// Vectors that a thread takes at a time.
const ROWS_A_TASK: usize = 64;

/// The centres of clusters.
pub(super) struct Centres {
    values: Vec<f32>,
    /// Squared lengths.
    squares: Vec<f32>,
    stride: usize,
}

/// The centre a vector belongs to.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Nearest {
    pub(super) centre: u32,
    /// The product with it.
    product: f32,
    /// The squared Euclidean distance to it.
    distance: f32,
}

impl Centres {
    /// Of values that are filled up to `stride` with zeros.
    pub(super) fn new(values: Vec<f32>, stride: usize) -> Self {
        let squares = values.chunks_exact(stride).map(|centre| dot(centre, centre)).collect();
        Self { values, squares, stride }
    }

    pub(super) fn len(&self) -> usize {
        self.squares.len()
    }

    /// The values, each centre filled up to the stride.
    pub(super) fn values(&self) -> &[f32] {
        &self.values
    }

    /// The nearest centre of each of the rows, the first of equals.
    pub(super) fn assign(&self, rows: &[f32], nearest: &mut [Nearest], devices: Option<&OnDevices>) -> Result<()> {
        if let Some(devices) = devices
            && let Some((centres, products)) = devices.nearest(rows, &self.values, self.stride)?
        {
            let found = centres.into_iter().zip(products);
            nearest.iter_mut().zip(found).for_each(|(nearest, (centre, product))| {
                *nearest = Nearest { centre, product, distance: self.distance(centre as usize, product) };
            });
            return Ok(());
        }
        let centres = Matrix::new(&self.values, self.stride);
        let tasks = rows.par_chunks(ROWS_A_TASK * self.stride).zip(nearest.par_chunks_mut(ROWS_A_TASK));
        tasks.for_each(|(rows, nearest)| {
            nearest.fill(Nearest { centre: 0, product: 0.0, distance: f32::INFINITY });
            let rows = Matrix::new(rows, self.stride);
            for_each_dot(
                rows,
                centres,
                |_| usize::MAX,
                |row, centre, product| {
                    let distance = self.distance(centre, product);
                    if distance < nearest[row].distance {
                        nearest[row] = Nearest { centre: centre as u32, product, distance };
                    }
                },
            );
        });
        Ok(())
    }

    /// The squared Euclidean distance of a unit vector to a centre, given their product.
    fn distance(&self, centre: usize, product: f32) -> f32 {
        1.0 - 2.0 * product + self.squares[centre]
    }

    /// 1 minus the cosine of the angle between a vector and its centre.
    pub(super) fn cosine_distance(&self, nearest: Nearest) -> f32 {
        let length = self.squares[nearest.centre as usize].sqrt();
        // A centre without a direction (vectors that cancel each other out) is equally far from all.
        if length == 0.0 { 1.0 } else { 1.0 - nearest.product / length }
    }
}

/// How long k-means may go on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) iterations: usize,
    pub(super) tolerance: f64,
}

/// Learns `k` centres from vectors, which must be at least as many. Also says after how many iterations it ended.
pub(super) fn learn(
    seeds: &Vectors,
    vectors: &Vectors,
    k: usize,
    limits: Limits,
    seed: u64,
    passes: &Passes<'_>,
) -> Result<(Centres, usize)> {
    let mut centres = first_centres(seeds, k, &mut Random::new(seed))?;
    for iteration in 1..=limits.iterations {
        let moved = iterate(vectors, &mut centres, passes)?;
        if moved <= limits.tolerance {
            return Ok((centres, iteration));
        }
    }
    Ok((centres, limits.iterations))
}

/// k-means++: each centre is a vector, chosen with a chance that grows with the squared distance to those chosen.
fn first_centres(vectors: &Vectors, k: usize, random: &mut Random) -> Result<Centres> {
    let stride = vectors.stride();
    let mut values = Vec::with_capacity(k * stride);
    let mut distances = vec![f32::INFINITY; vectors.len()];
    let (mut centre, mut buffer) = (Vec::new(), Vec::new());
    let mut chosen = ((random.unit() * vectors.len() as f64) as usize).min(vectors.len() - 1);
    loop {
        vectors.gather(&[chosen as u32], &mut centre)?;
        values.extend_from_slice(&centre);
        if values.len() == k * stride {
            return Ok(Centres::new(values, stride));
        }
        for block in vectors.blocks(vectors.chunk_rows()) {
            let rows = vectors.rows(block.clone(), &mut buffer)?;
            let tasks = rows.par_chunks_exact(stride).with_min_len(ROWS_A_TASK).zip(&mut distances[block]);
            // Of two unit vectors; what rounding leaves between equal ones is no distance.
            tasks.for_each(|(row, distance)| *distance = distance.min((2.0 - 2.0 * dot(row, &centre)).max(0.0)));
        }
        distances[chosen] = 0.0;
        chosen = weighted(&distances, random.unit()).unwrap_or_else(|| {
            // Only copies of the centres are left: any of them, in turn.
            (chosen + 1) % vectors.len()
        });
    }
}

/// The place where the running sum of the weights passes `part` of the whole.
fn weighted(weights: &[f32], part: f64) -> Option<usize> {
    let total: f64 = weights.iter().map(|&weight| f64::from(weight)).sum();
    let mut left = part * total;
    let mut last = None;
    for (at, &weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
        last = Some(at);
        left -= f64::from(weight);
        if left < 0.0 {
            break;
        }
    }
    last
}

/// Moves the centres to the means of their vectors; how far they moved, squared and added up.
fn iterate(vectors: &Vectors, centres: &mut Centres, passes: &Passes<'_>) -> Result<f64> {
    let (k, stride) = (centres.len(), centres.stride);
    let mut sums = vec![0f64; k * stride];
    let mut counts = vec![0u64; k];
    let mut distances = Vec::with_capacity(vectors.len());
    let (mut nearest, mut buffer) = (Vec::new(), Vec::new());
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); k];
    for block in vectors.blocks(passes.block_rows) {
        nearest.clear();
        nearest.resize(block.len(), Nearest::default());
        let rows = vectors.rows(block.clone(), &mut buffer)?;
        centres.assign(rows, &mut nearest, passes.devices)?;
        members.iter_mut().for_each(Vec::clear);
        for (at, nearest) in nearest.iter().enumerate() {
            members[nearest.centre as usize].push(at as u32);
            counts[nearest.centre as usize] += 1;
            distances.push(nearest.distance);
        }
        sums.par_chunks_exact_mut(stride).zip(&members).for_each(|(sum, members)| {
            for &at in members {
                let row = &rows[at as usize * stride..][..stride];
                sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += f64::from(*value));
            }
        });
    }
    let mut values = Vec::with_capacity(k * stride);
    let n_empty = counts.iter().filter(|&&count| count == 0).count();
    let mut lost = farthest(&distances, n_empty).into_iter();
    for (centre, &count) in counts.iter().enumerate() {
        if count > 0 {
            values.extend(sums[centre * stride..][..stride].iter().map(|sum| (sum / count as f64) as f32));
        } else if let Some(row) = lost.next() {
            // A centre that nobody is near to starts again at a vector that no centre is near to.
            vectors.gather(&[row], &mut buffer)?;
            values.extend_from_slice(&buffer);
        }
    }
    let moved = centres.values.iter().zip(&values).map(|(old, new)| f64::from(old - new).powi(2)).sum();
    *centres = Centres::new(values, stride);
    Ok(moved)
}

/// The `n` vectors that are farthest from their centres, the first of equals.
fn farthest(distances: &[f32], n: usize) -> Vec<u32> {
    if n == 0 {
        return Vec::new();
    }
    let mut rows: Vec<u32> = (0..distances.len() as u32).collect();
    rows.sort_by(|&a, &b| distances[b as usize].total_cmp(&distances[a as usize]));
    rows.truncate(n);
    rows
}

/// Bytes that k-means holds besides the vectors: centres, their sums, and a distance for each vector it learns from.
pub(super) fn held_bytes(k: usize, stride: usize, n_sample: usize) -> usize {
    k * stride * (2 * size_of::<f32>() + size_of::<f64>()) + n_sample * 2 * size_of::<f32>()
}
