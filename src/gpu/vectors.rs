//! Vectors compared with vectors on a device: the nearest centre of each, the most similar of those ranked before.
//!
//! Results have the bits of the CPU's (`dedup::semantic`), and do not depend on how the work is cut to fit in memory.
//! Each piece of work is one copy in, one launch, one copy back, like a batch; two are under way at a time.
//! Not here: what the products mean, and who asks for them.

use super::task::{Parts, Started, Task, TaskRun, words, write_words};
use super::{Device, GpuError, flatten};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// A product is summed in so many lanes; rows are padded with zeros to a multiple of it.
const LANES: usize = 8;
/// Rows of one block of threads: `DOT_ROWS` in `kernels/lib/dots.cuh`.
const ROWS_A_BLOCK: usize = 32;
/// Words of `Comparison` there.
const HEAD_WORDS: usize = 11;
const NO_ROW: u32 = u32::MAX;

const NEAREST: &str = "run_nearest";
const DOTS: &str = "run_dots";

/// The kernels, by entry point.
pub(super) fn vector_kernels() -> [(String, String); 2] {
    let kernel = |name: &str, source: &str| (name.to_string(), flatten([source]));
    [
        kernel(NEAREST, include_str!("../../kernels/semantic/nearest.cu")),
        kernel(DOTS, include_str!("../../kernels/semantic/dots.cu")),
    ]
}

/// Which rows a row is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Others {
    /// Those before it.
    Before,
    /// All but itself.
    All,
}

/// The most similar row: the first of equals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Similar {
    /// Its place.
    pub place: u32,
    /// The product with it; so close to 1 that rounding may have been at work is 1.
    pub similarity: f32,
}

/// What comparing may take of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Launches under way at a time.
    pub n_launches: usize,
    /// Memory of all of them; by default half of what is left.
    pub most_bytes: Option<usize>,
}

impl Default for Bounds {
    /// While one is computed the next is copied in.
    fn default() -> Self {
        Self { n_launches: 2, most_bytes: None }
    }
}

/// What was compared, and what the driver was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ComparisonCounts {
    /// Pairs of vectors.
    pub products: u64,
    /// Kernels started; each has one copy in and one back.
    pub launches: u64,
    /// Copied in.
    pub bytes_in: u64,
    /// Copied back.
    pub bytes_out: u64,
}

/// The nearest centre of each vector, and the product with it.
pub type NearestCentres = (Vec<u32>, Vec<f32>);

/// For each of the unit vectors, `dims` values each, the nearest of `centres` and the product with it: the first of those
/// that are equally near.
pub fn nearest(
    device: &Arc<Device>,
    vectors: &[f32],
    centres: &[f32],
    dims: usize,
    bounds: Bounds,
) -> Result<(NearestCentres, ComparisonCounts), GpuError> {
    let (vectors, centres) = (VectorRows::new(vectors, dims)?, VectorRows::new(centres, dims)?);
    let squares: Vec<f32> = (0..centres.len()).map(|row| centres.square(row)).collect();
    let mut work = VectorTask::new(device, NEAREST, bounds)?;
    work.counts.products = vectors.len() as u64 * centres.len() as u64;
    let head_bytes = (centres.len() * (centres.stride() + 1) + 64) * size_of::<f32>();
    let n_rows = work.rows_that_fit(vectors.len(), head_bytes, vectors.stride())?;
    let (mut best, mut values) = (vec![], vec![]);
    let mut under_way = VecDeque::new();
    for start in (0..vectors.len()).step_by(n_rows) {
        if under_way.len() == bounds.n_launches.max(1) {
            finish(under_way.pop_front(), &mut best, &mut values)?;
        }
        let rows = start..(start + n_rows).min(vectors.len());
        let next = work.start(&Piece {
            rows: vectors.slice(rows.clone()),
            others: Some(centres),
            squares: &squares,
            best: &vec![0; rows.len()],
            values: &vec![0.0; rows.len()],
            places: [0, 0],
            all: true,
        })?;
        under_way.push_back(next);
    }
    while !under_way.is_empty() {
        finish(under_way.pop_front(), &mut best, &mut values)?;
    }
    Ok(((best, values), work.counts))
}

/// For some of the vectors, `dims` values each and in the order of a ranking, the most similar of the others that count.
/// One launch is under way at a time: each goes on from what the one before it found.
pub fn most_similar(
    device: &Arc<Device>,
    vectors: &[f32],
    dims: usize,
    others: Others,
    wanted: Range<usize>,
    bounds: Bounds,
) -> Result<(Vec<Option<Similar>>, ComparisonCounts), GpuError> {
    let vectors = VectorRows::new(vectors, dims)?;
    let wanted = wanted.start.min(vectors.len())..wanted.end.min(vectors.len());
    let mut work = VectorTask::new(device, DOTS, Bounds { n_launches: 1, ..bounds })?;
    work.counts.products = match others {
        Others::Before => wanted.clone().map(|row| row as u64).sum(),
        Others::All => wanted.len() as u64 * (vectors.len() as u64).saturating_sub(1),
    };
    let n_rows = work.rows_that_fit(vectors.len(), 64, 2 * vectors.stride())?;
    let mut found = vec![];
    for start in wanted.clone().step_by(n_rows) {
        let rows = start..(start + n_rows).min(wanted.end);
        let (mut best, mut values) = (vec![NO_ROW; rows.len()], vec![0.0; rows.len()]);
        let end = if others == Others::Before { rows.end } else { vectors.len() };
        // In ascending order, so that the first of equals is found first.
        for from in (0..end).step_by(n_rows) {
            let candidates = from..(from + n_rows).min(vectors.len());
            let piece = Piece {
                rows: vectors.slice(rows.clone()),
                others: (candidates != rows).then(|| vectors.slice(candidates)),
                squares: &[],
                best: &best,
                values: &values,
                places: [start, from],
                all: others == Others::All,
            };
            let started = work.start(&piece)?;
            (best, values) = started.wait()?;
        }
        let similar = best.into_iter().zip(values);
        found.extend(similar.map(|(place, similarity)| (place != NO_ROW).then_some(Similar { place, similarity })));
    }
    Ok((found, work.counts))
}

/// Vectors of one length, one after the other.
#[derive(Debug, Clone, Copy)]
struct VectorRows<'a> {
    values: &'a [f32],
    dims: usize,
}

impl<'a> VectorRows<'a> {
    fn new(values: &'a [f32], dims: usize) -> Result<Self, GpuError> {
        if dims == 0 || !values.len().is_multiple_of(dims) {
            return Err(GpuError::Refused(format!("{} values are no vectors of {dims}", values.len())));
        }
        Ok(Self { values, dims })
    }

    fn len(&self) -> usize {
        self.values.len() / self.dims
    }

    /// Values of a row on the device.
    fn stride(&self) -> usize {
        self.dims.next_multiple_of(LANES)
    }

    fn slice(&self, rows: Range<usize>) -> VectorRows<'a> {
        VectorRows { values: &self.values[rows.start * self.dims..rows.end * self.dims], dims: self.dims }
    }

    /// The product of a row with itself, summed as the device sums.
    fn square(&self, row: usize) -> f32 {
        let mut l = [0f32; LANES];
        for (at, value) in self.values[row * self.dims..][..self.dims].iter().enumerate() {
            l[at % LANES] += value * value;
        }
        ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]))
    }

    /// Bytes on the device.
    fn n_bytes(&self) -> usize {
        self.len() * self.stride() * size_of::<f32>()
    }

    fn write(&self, to: &mut [u8]) {
        let padding = (self.stride() - self.dims) * size_of::<f32>();
        let mut at = 0;
        for row in self.values.chunks_exact(self.dims) {
            at += write_floats(row, &mut to[at..]);
            to[at..at + padding].fill(0);
            at += padding;
        }
    }
}

fn write_floats(values: &[f32], to: &mut [u8]) -> usize {
    write_words(values.iter().map(|value| value.to_le_bytes()), to)
}

/// One launch: some rows, and what they are compared with; if that is nothing, with each other.
struct Piece<'a> {
    rows: VectorRows<'a>,
    others: Option<VectorRows<'a>>,
    squares: &'a [f32],
    /// What is known of the rows already.
    best: &'a [u32],
    values: &'a [f32],
    /// The places of the first row and the first of the others.
    places: [usize; 2],
    all: bool,
}

/// A kernel and the device it runs on.
struct VectorTask<'a> {
    device: &'a Device,
    task: Task,
    bounds: Bounds,
    counts: ComparisonCounts,
}

impl<'a> VectorTask<'a> {
    fn new(device: &'a Arc<Device>, name: &str, bounds: Bounds) -> Result<Self, GpuError> {
        let kernels = vector_kernels();
        let own: Vec<_> = kernels.into_iter().filter(|(known, _)| known == name).collect();
        Ok(Self { device, task: Task::new(device, &own)?, bounds, counts: ComparisonCounts::default() })
    }

    /// How many rows a launch takes, so that two launches have room in half of what is left, and those that may be under
    /// way in what they may take together.
    fn rows_that_fit(&self, n_rows: usize, head_bytes: usize, values_a_row: usize) -> Result<usize, GpuError> {
        let memory = self.device.memory();
        let free_bytes = memory.limit_bytes.saturating_sub(memory.used_bytes);
        let row_bytes = values_a_row * size_of::<f32>() + size_of::<u32>() + size_of::<f32>();
        let most_bytes = self.bounds.most_bytes.unwrap_or(usize::MAX) / self.bounds.n_launches.max(1);
        let room_bytes = (free_bytes / 4).min(most_bytes);
        let fitting = room_bytes.saturating_sub(head_bytes) / row_bytes / ROWS_A_BLOCK * ROWS_A_BLOCK;
        if fitting == 0 && n_rows > 0 {
            let needed_bytes = 4 * (head_bytes + ROWS_A_BLOCK * row_bytes);
            let (limit_bytes, in_use_bytes) =
                (memory.limit_bytes.min(self.bounds.most_bytes.unwrap_or(usize::MAX)), memory.used_bytes);
            return Err(GpuError::OutOfMemory { needed_bytes, limit_bytes, in_use_bytes });
        }
        Ok(fitting.clamp(1, n_rows.max(1)))
    }

    /// Puts a piece under way.
    fn start(&mut self, piece: &Piece<'_>) -> Result<Compared, GpuError> {
        let n_rows = piece.rows.len();
        let mut parts = Parts::default();
        parts.room(HEAD_WORDS * size_of::<u64>());
        let rows_at = parts.room(piece.rows.n_bytes());
        let others_at = piece.others.map_or(rows_at, |others| parts.room(others.n_bytes()));
        let squares_at = parts.room(size_of_val(piece.squares));
        // The results come last.
        let best_at = parts.room(n_rows * size_of::<u32>());
        let values_at = parts.room(n_rows * size_of::<f32>());
        let n_others = piece.others.map_or(n_rows, |others| others.len());
        let numbers = [n_rows, n_others, piece.rows.stride(), piece.places[0], piece.places[1], usize::from(piece.all)];
        let run = TaskRun {
            n_bytes: parts.n_bytes,
            input_bytes: parts.n_bytes,
            n_blocks: &[n_rows.div_ceil(ROWS_A_BLOCK)],
            output: best_at..parts.n_bytes,
        };
        let started = self.task.start(&run, |bytes, address| {
            let places = [rows_at, others_at, squares_at, best_at, values_at].map(|place| address + place as u64);
            let head = places.into_iter().chain(numbers.map(|number| number as u64));
            write_words(head.map(u64::to_le_bytes), bytes);
            piece.rows.write(&mut bytes[rows_at..]);
            if let Some(others) = piece.others {
                others.write(&mut bytes[others_at..]);
            }
            write_floats(piece.squares, &mut bytes[squares_at..]);
            write_words(piece.best.iter().map(|best| best.to_le_bytes()), &mut bytes[best_at..]);
            write_floats(piece.values, &mut bytes[values_at..]);
        })?;
        self.counts.launches += 1;
        self.counts.bytes_in += run.input_bytes as u64;
        self.counts.bytes_out += run.output.len() as u64;
        Ok(Compared { started, n_rows, values_at: values_at - best_at })
    }
}

/// A launch under way.
struct Compared {
    started: Started,
    n_rows: usize,
    /// In what is copied back; the rows found come before.
    values_at: usize,
}

impl Compared {
    /// The best of each row, and the value that goes with it.
    fn wait(self) -> Result<(Vec<u32>, Vec<f32>), GpuError> {
        let (n_rows, values_at) = (self.n_rows, self.values_at);
        self.started.wait(|bytes| {
            let values = bytes.get(values_at..).unwrap_or_default();
            (
                words(bytes, n_rows).map(u32::from_le_bytes).collect(),
                words(values, n_rows).map(f32::from_le_bytes).collect(),
            )
        })
    }
}

fn finish(compared: Option<Compared>, best: &mut Vec<u32>, values: &mut Vec<f32>) -> Result<(), GpuError> {
    if let Some(compared) = compared {
        let (more_best, more_values) = compared.wait()?;
        best.extend(more_best);
        values.extend(more_values);
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::task::first_device_or_say_so;
    use super::*;

    /// The CPU's product: eight lanes, added in one order.
    fn dot(a: &[f32], b: &[f32]) -> f32 {
        let mut l = [0f32; LANES];
        a.iter().zip(b).enumerate().for_each(|(at, (a, b))| l[at % LANES] += a * b);
        ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]))
    }

    /// Vectors of length 1, every fifth of which is a copy of an earlier one.
    fn unit_vectors(n_rows: usize, dims: usize, seed: usize) -> Vec<f32> {
        let mut values = vec![];
        for row in 0..n_rows {
            let from = if row % 5 == 4 { row / 2 } else { row };
            let row: Vec<f32> =
                (0..dims).map(|at| ((from * 7919 + at * 104_729 + seed) % 1009) as f32 / 1009.0 - 0.5).collect();
            let length = dot(&row, &row).sqrt();
            values.extend(row.iter().map(|value| value / length));
        }
        values
    }

    #[test]
    fn nearest_centres_have_the_bits_of_the_cpu() {
        let Some(device) = first_device_or_say_so() else { return };
        for (n_rows, n_centres, dims) in [(0, 3, 8), (1, 1, 1), (70, 33, 17), (64, 32, 40)] {
            let vectors = unit_vectors(n_rows, dims, 1);
            let centres: Vec<f32> = unit_vectors(n_centres, dims, 5).iter().map(|value| value * 0.7).collect();
            let ((best, products), counts) = nearest(&device, &vectors, &centres, dims, Bounds::default()).unwrap();
            assert_eq!(counts.products, (n_rows * n_centres) as u64);
            assert_eq!((best.len(), products.len()), (n_rows, n_rows));
            for (row, vector) in vectors.chunks_exact(dims).enumerate() {
                let mut expected = (0, 0.0, f32::INFINITY);
                for (centre, values) in centres.chunks_exact(dims).enumerate() {
                    let product = dot(vector, values);
                    let distance = 1.0 - 2.0 * product + dot(values, values);
                    if distance < expected.2 {
                        expected = (centre as u32, product, distance);
                    }
                }
                assert_eq!((best[row], products[row].to_bits()), (expected.0, expected.1.to_bits()), "row {row}");
            }
        }
    }

    #[test]
    fn the_most_similar_row_is_the_first_of_equals() {
        let Some(device) = first_device_or_say_so() else { return };
        for (n_rows, dims) in [(0, 8), (1, 8), (97, 19)] {
            let vectors = unit_vectors(n_rows, dims, 3);
            let rows: Vec<&[f32]> = vectors.chunks_exact(dims).collect();
            for others in [Others::Before, Others::All] {
                let compared = |rows: Range<usize>| {
                    most_similar(&device, &vectors, dims, others, rows, Bounds::default()).unwrap()
                };
                let (found, counts) = compared(0..n_rows);
                let n_pairs = n_rows * n_rows.saturating_sub(1);
                assert_eq!(counts.products as usize, if others == Others::All { n_pairs } else { n_pairs / 2 });
                // In two parts, as two devices would.
                let parts = [compared(0..n_rows / 2).0, compared(n_rows / 2..n_rows).0];
                assert_eq!(parts.concat(), found);
                let expected: Vec<Option<Similar>> = (0..n_rows)
                    .map(|row| {
                        let end = if others == Others::Before { row } else { n_rows };
                        let mut best: Option<Similar> = None;
                        for place in (0..end).filter(|place| *place != row) {
                            let product = dot(rows[row], rows[place]);
                            let similarity = if product > 1.0 - 1e-6 { 1.0 } else { product };
                            if best.is_none_or(|best| similarity > best.similarity) {
                                best = Some(Similar { place: place as u32, similarity });
                            }
                        }
                        best
                    })
                    .collect();
                assert_eq!(found, expected, "{others:?}");
            }
        }
    }

    #[test]
    fn values_that_are_no_vectors_are_refused() {
        assert!(VectorRows::new(&[1.0; 7], 3).is_err());
        assert!(VectorRows::new(&[], 0).is_err());
        assert_eq!(VectorRows::new(&[1.0; 6], 3).map(|rows| (rows.len(), rows.stride())).unwrap(), (2, 8));
    }
}
