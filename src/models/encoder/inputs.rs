//! What a graph is given beside its weights: ids, masks, positions, distances; all from the lengths of the rows of a batch.
//!
//! Invariant: what a row is given depends on the row and on the width of its batch alone, never on the other rows.

use super::graph::{Positions, Shape};
use super::onnx::{Dim, Numbers};
use crate::Result;

/// Rows of ids, filled up to one width.
#[derive(Clone, Debug)]
pub struct IdBatch {
    pub n_rows: usize,
    pub width: usize,
    /// `n_rows * width` ids.
    pub ids: Vec<i32>,
    /// How many of each row's ids are its own.
    pub lengths: Vec<usize>,
}

/// How the states of tokens become one vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    First,
    Last,
    Mean,
    /// The sum over the square root of the length.
    MeanRoot,
    /// Later tokens count more.
    WeightedMean,
    Max,
}

impl Pooling {
    /// By the names that users and sentence-transformers give.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "cls" | "cls_token" | "first" => Pooling::First,
            "last" | "lasttoken" | "last_token" => Pooling::Last,
            "mean" | "mean_tokens" => Pooling::Mean,
            "mean_sqrt_len" | "mean_sqrt_len_tokens" => Pooling::MeanRoot,
            "weightedmean" | "weightedmean_tokens" => Pooling::WeightedMean,
            "max" | "max_tokens" => Pooling::Max,
            _ => return None,
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            Pooling::First => "cls",
            Pooling::Last => "last",
            Pooling::Mean => "mean",
            Pooling::MeanRoot => "mean_sqrt_len",
            Pooling::WeightedMean => "weightedmean",
            Pooling::Max => "max",
        }
    }
}

/// One input of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    Ids,
    Positions,
    /// 0 for tokens, and so little for padding that softmax makes it 0.
    PadBias,
    /// What each token counts in the pooled vector.
    PoolWeights(Pooling),
    /// 0 for tokens, and so little for padding that no maximum is there.
    PadFloor,
    Width,
    Rows,
    /// DeBERTa's distances, for each column of a product with all of them, in both directions.
    Distances,
    DistancesBack,
    ShiftBegin,
    ShiftEnd,
    ShiftRows,
    /// MPNet's buckets of distances, for each pair of positions.
    DistanceBuckets,
    GlobalCosines,
    GlobalSines,
    LocalCosines,
    LocalSines,
    /// 0 inside the window around a token.
    WindowBias,
}

/// What a runtime is given.
#[derive(Clone, Debug, PartialEq)]
pub enum Tensor {
    Ints(Vec<usize>, Vec<i32>),
    Floats(Vec<usize>, Vec<f32>),
}

/// Added to a score, it makes its weight exactly 0; it is what sums of two such still hold.
const NEVER: f32 = -1e9;

impl Input {
    pub fn name(self) -> &'static str {
        match self {
            Input::Ids => "input_ids",
            Input::Positions => "positions",
            Input::PadBias => "pad_bias",
            Input::PoolWeights(_) => "pool_weights",
            Input::PadFloor => "pad_floor",
            Input::Width => "width",
            Input::Rows => "n_rows",
            Input::Distances => "distances",
            Input::DistancesBack => "distances_back",
            Input::ShiftBegin => "shift_begin",
            Input::ShiftEnd => "shift_end",
            Input::ShiftRows => "shift_rows",
            Input::DistanceBuckets => "distance_buckets",
            Input::GlobalCosines => "global_cosines",
            Input::GlobalSines => "global_sines",
            Input::LocalCosines => "local_cosines",
            Input::LocalSines => "local_sines",
            Input::WindowBias => "window_bias",
        }
    }

    pub fn numbers(self) -> Numbers {
        match self {
            Input::PadBias | Input::PoolWeights(_) | Input::PadFloor | Input::WindowBias => Numbers::Float,
            Input::GlobalCosines | Input::GlobalSines | Input::LocalCosines | Input::LocalSines => Numbers::Float,
            _ => Numbers::Int,
        }
    }

    /// Its shape, as far as it is the same in all batches.
    pub fn dims(self) -> Vec<Dim> {
        let (rows, width) = (|| Dim::Named("rows"), || Dim::Named("width"));
        match self {
            Input::Ids => vec![rows(), width()],
            Input::Positions => vec![width()],
            Input::PadBias => vec![rows(), Dim::Known(1), Dim::Known(1), width()],
            Input::PoolWeights(_) => vec![rows(), Dim::Known(1), width()],
            Input::PadFloor => vec![rows(), width(), Dim::Known(1)],
            Input::Width | Input::Rows | Input::ShiftBegin | Input::ShiftEnd => vec![Dim::Known(1)],
            Input::ShiftRows => vec![Dim::Known(4)],
            Input::Distances | Input::DistancesBack => vec![Dim::Named("distances")],
            Input::DistanceBuckets => vec![width(), width()],
            Input::GlobalCosines | Input::GlobalSines | Input::LocalCosines | Input::LocalSines => {
                vec![width(), Dim::Named("head")]
            }
            Input::WindowBias => vec![Dim::Known(1), Dim::Known(1), width(), width()],
        }
    }

    /// Its numbers for a batch.
    pub fn compute(self, batch: &IdBatch, shape: Option<&Shape>) -> Result<Tensor> {
        let (n_rows, width) = (batch.n_rows, batch.width);
        let int = |value: usize| Tensor::Ints(vec![1], vec![value as i32]);
        Ok(match self {
            Input::Ids => Tensor::Ints(vec![n_rows, width], batch.ids.clone()),
            Input::PadBias => {
                Tensor::Floats(vec![n_rows, 1, 1, width], per_token(batch, |own| if own { 0.0 } else { NEVER }))
            }
            Input::PadFloor => {
                Tensor::Floats(vec![n_rows, width, 1], per_token(batch, |own| if own { 0.0 } else { NEVER }))
            }
            Input::PoolWeights(pooling) => Tensor::Floats(vec![n_rows, 1, width], pool_weights(batch, pooling)),
            Input::Width => int(width),
            Input::Rows => int(n_rows),
            Input::ShiftBegin => int(width - 1),
            Input::ShiftEnd => int(width - 1 + width * (2 * width - 2)),
            Input::ShiftRows => Tensor::Ints(vec![4], vec![0, 0, width as i32, 2 * width as i32 - 2]),
            _ => self.by_positions(width, &shape.ok_or_else(|| crate::bug!("{self:?} without a shape"))?.positions)?,
        })
    }

    fn by_positions(self, width: usize, positions: &Positions) -> Result<Tensor> {
        let pair = |number: &dyn Fn(i64) -> f32| -> Vec<f32> {
            (0..width as i64).flat_map(|i| (0..width as i64).map(move |j| number(j - i))).collect()
        };
        Ok(match (self, positions) {
            (Input::Positions, Positions::From(first) | Positions::FromAndBias { first, .. }) => {
                Tensor::Ints(vec![width], (*first as i32..(first + width) as i32).collect())
            }
            (Input::Positions, Positions::Buckets { .. }) => Tensor::Ints(vec![width], (0..width as i32).collect()),
            (Input::Distances | Input::DistancesBack, Positions::Buckets { n_buckets, max_distance }) => {
                let reach = width as i64 - 1;
                let bucket = |distance: i64| deberta_bucket(distance, *n_buckets as i64, *max_distance as i64);
                // Column `c` of the one is for the key at `c - reach` from the query, of the other for the query from the key.
                let sign = if self == Input::Distances { -1 } else { 1 };
                let buckets: Vec<i32> = (-reach..=reach).map(|offset| bucket(sign * offset)).collect();
                Tensor::Ints(vec![buckets.len()], buckets)
            }
            (Input::DistanceBuckets, Positions::FromAndBias { n_buckets, .. }) => {
                let buckets = pair(&|distance| t5_bucket(distance, *n_buckets as i64) as f32);
                Tensor::Ints(vec![width, width], buckets.into_iter().map(|bucket| bucket as i32).collect())
            }
            (Input::WindowBias, Positions::Rotary { window, .. }) => {
                let window = *window as i64;
                let bias = pair(&|distance| if distance.abs() <= window { 0.0 } else { NEVER });
                Tensor::Floats(vec![1, 1, width, width], bias)
            }
            (_, Positions::Rotary { global_base, local_base, head_size, .. }) => {
                let global = matches!(self, Input::GlobalCosines | Input::GlobalSines);
                let function =
                    if matches!(self, Input::GlobalCosines | Input::LocalCosines) { f32::cos } else { f32::sin };
                let base = if global { *global_base } else { *local_base };
                Tensor::Floats(vec![width, *head_size], rotations(width, *head_size, base, function))
            }
            _ => return Err(crate::bug!("{self:?} does not follow from {positions:?}")),
        })
    }
}

fn per_token<T>(batch: &IdBatch, value: impl Fn(bool) -> T) -> Vec<T> {
    let value = &value;
    batch.lengths.iter().flat_map(|length| (0..batch.width).map(move |place| value(place < *length))).collect()
}

fn pool_weights(batch: &IdBatch, pooling: Pooling) -> Vec<f32> {
    let weight = |place: usize, n: usize| -> f32 {
        match pooling {
            _ if place >= n => 0.0,
            Pooling::First | Pooling::Max => f32::from(u8::from(place == 0)),
            Pooling::Last => f32::from(u8::from(place + 1 == n)),
            Pooling::Mean => 1.0 / n as f32,
            Pooling::MeanRoot => 1.0 / (n as f32).sqrt(),
            Pooling::WeightedMean => (place + 1) as f32 / (n * (n + 1) / 2) as f32,
        }
    };
    let weight = &weight;
    batch.lengths.iter().flat_map(|n| (0..batch.width).map(move |place| weight(place, *n))).collect()
}

/// The row of DeBERTa's table for a distance: exact for near tokens, logarithmic for far ones. Without buckets, each distance has one.
fn deberta_bucket(distance: i64, n_buckets: i64, max_distance: i64) -> i32 {
    let reach = if n_buckets > 0 { n_buckets } else { max_distance };
    let half = n_buckets / 2;
    let far = distance.abs();
    let bucket = if n_buckets <= 0 || far <= half {
        distance
    } else {
        let scale = (far as f32 / half as f32).ln() / ((max_distance - 1) as f32 / half as f32).ln();
        ((scale * (half - 1) as f32).ceil() as i64 + half) * distance.signum()
    };
    (bucket + reach).clamp(0, 2 * reach - 1) as i32
}

/// The row of MPNet's table for a distance, as T5 has it for both directions, with 128 as the farthest.
fn t5_bucket(distance: i64, n_buckets: i64) -> i64 {
    const FARTHEST: f32 = 128.0;
    let half = n_buckets / 2;
    let side = if distance > 0 { half } else { 0 };
    let (far, exact) = (distance.abs(), half / 2);
    if far < exact {
        return side + far;
    }
    let scale = (far as f32 / exact as f32).ln() / (FARTHEST / exact as f32).ln();
    side + (exact + (scale * (half - exact) as f32) as i64).min(half - 1)
}

fn rotations(width: usize, head_size: usize, base: f64, function: fn(f32) -> f32) -> Vec<f32> {
    let half = head_size / 2;
    let turns: Vec<f32> = (0..half).map(|i| 1.0 / (base as f32).powf(2.0 * i as f32 / head_size as f32)).collect();
    let angle = |position: usize, place: usize| function(position as f32 * turns[place % half]);
    (0..width)
        .flat_map(|position| (0..2 * half).map(move |place| (position, place)))
        .map(|(p, i)| angle(p, i))
        .collect()
}
