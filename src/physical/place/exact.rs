//! The cheapest placement of a chain.
//!
//! Invariant: costs are whole picoseconds, so sums do not depend on the order in which they are made, and equal costs are
//! equal.

use std::ops::Add;

/// What a placement costs; less is better, the first field first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Cost {
    /// Items that the query asks for on the GPU and that are on the CPU.
    pub n_refused: u64,
    /// Its time.
    pub picoseconds: u128,
    /// Items on the GPU: equally fast placements differ by this.
    pub n_on_gpu: u64,
}

impl Cost {
    pub fn seconds(seconds: f64) -> Self {
        // A negative or unknown time is none.
        Cost { picoseconds: (seconds * 1e12).round() as u128, ..Cost::default() }
    }

    /// The time by which it is above another's.
    pub fn more_than(self, other: Cost) -> Self {
        Cost { picoseconds: self.picoseconds.saturating_sub(other.picoseconds), ..Cost::default() }
    }

    pub fn as_seconds(self) -> f64 {
        self.picoseconds as f64 / 1e12
    }
}

impl Add for Cost {
    type Output = Cost;

    fn add(self, other: Cost) -> Cost {
        Cost {
            n_refused: self.n_refused + other.n_refused,
            picoseconds: self.picoseconds.saturating_add(other.picoseconds),
            n_on_gpu: self.n_on_gpu + other.n_on_gpu,
        }
    }
}

/// The costs of a chain's parts.
pub(super) struct Chain {
    /// Each item on the CPU.
    pub cpu: Vec<Cost>,
    /// For each item the segments that begin there: how expensive the one of one item is, of two, …, as far as they can go.
    pub segments: Vec<Vec<Cost>>,
}

/// Where a segment begins and where it ends, both included.
pub(super) type Range = (usize, usize);

/// The best placement of a chain.
pub(super) struct Best {
    pub cost: Cost,
    /// The segments, in order; what is in none is on the CPU.
    pub segments: Vec<Range>,
    /// For each item the least that the chain costs with it on the CPU.
    pub with_cpu: Vec<Cost>,
    /// The same with it on the GPU, and the segment in which it would be; none where it cannot be.
    pub with_gpu: Vec<Option<(Cost, Range)>>,
}

/// Finds the cheapest placement.
pub(super) fn solve(chain: &Chain) -> Best {
    let n = chain.cpu.len();
    // The first i items: at best; and at best with the last of them on the CPU, so that a segment can begin after it.
    let mut first = vec![Cost::default(); n + 1];
    let mut first_then_cpu = vec![Cost::default(); n + 1];
    // Where the segment begins that ends with item i − 1, in the best placement of the first i.
    let mut begin: Vec<Option<usize>> = vec![None; n + 1];
    for i in 1..=n {
        first_then_cpu[i] = first[i - 1] + chain.cpu[i - 1];
        first[i] = first_then_cpu[i];
        for (a, segments) in chain.segments[..i].iter().enumerate() {
            let Some(segment) = segments.get(i - 1 - a) else { continue };
            let cost = first_then_cpu[a] + *segment;
            if cost < first[i] {
                (first[i], begin[i]) = (cost, Some(a));
            }
        }
    }

    // The same from item i to the end.
    let mut last = vec![Cost::default(); n + 1];
    let mut cpu_then_last = vec![Cost::default(); n + 1];
    for i in (0..n).rev() {
        cpu_then_last[i] = chain.cpu[i] + last[i + 1];
        last[i] = cpu_then_last[i];
        for (more, segment) in chain.segments[i].iter().enumerate() {
            last[i] = last[i].min(*segment + cpu_then_last[i + more + 1]);
        }
    }

    let with_cpu = (0..n).map(|i| first[i] + chain.cpu[i] + last[i + 1]).collect();
    let mut with_gpu: Vec<Option<(Cost, Range)>> = vec![None; n];
    for (a, segments) in chain.segments.iter().enumerate() {
        // The best segment that begins at a and reaches at least to the item at hand.
        let mut reaching: Option<(Cost, Range)> = None;
        for (more, segment) in segments.iter().enumerate().rev() {
            let b = a + more;
            let cost = first_then_cpu[a] + *segment + cpu_then_last[b + 1];
            reaching = cheaper(reaching, Some((cost, (a, b))));
            with_gpu[b] = cheaper(with_gpu[b], reaching);
        }
    }

    let mut segments = vec![];
    let mut i = n;
    while i > 0 {
        match begin[i] {
            Some(a) => {
                segments.push((a, i - 1));
                // Before a segment comes an item on the CPU, or nothing.
                if a > 0 {
                    i = a - 1;
                } else {
                    break;
                }
            }
            None => i -= 1,
        }
    }
    segments.reverse();
    Best { cost: first[n], segments, with_cpu, with_gpu }
}

fn cheaper(a: Option<(Cost, Range)>, b: Option<(Cost, Range)>) -> Option<(Cost, Range)> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b.0 < a.0 { b } else { a }),
        (a, b) => a.or(b),
    }
}
