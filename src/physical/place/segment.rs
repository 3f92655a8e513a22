//! The cost of a segment, which grows by one item at a time.

use super::problem::{Machine, OnGpu, Problem};
use crate::cost::{Device, Link};
use crate::physical::size::{Batch, Load, Resources, TooBig, batch};

/// Which row failed which rule, copied back by segments that drop rows.
const FAILED_BYTES_PER_ROW: f64 = 4.0;

/// A segment that began somewhere and may grow.
#[derive(Clone)]
pub(super) struct Open<'a> {
    problem: &'a Problem,
    /// For each column how many items of the chain have to be over before nobody reads it any more.
    needed_until: &'a [usize],
    n_rows: f64,
    n_items: usize,
    kernel_s: f64,
    drops_rows: bool,
    copied_in: Vec<usize>,
    made: Vec<usize>,
    in_bytes_per_row: f64,
    made_bytes_per_row: f64,
    scratch_bytes_per_row: f64,
    resources: Resources,
}

/// What a segment costs, and how much crosses over.
#[derive(Debug, Clone, PartialEq)]
pub struct Costs {
    /// The size of its batches.
    pub batch: Batch,
    /// What that size was computed from.
    pub load: Load,
    /// What the query says about the resources of its items.
    pub resources: Resources,
    /// Copied in, of all batches.
    pub in_bytes: f64,
    /// Copied back, of all batches.
    pub out_bytes: f64,
    /// Copying in.
    pub in_s: f64,
    /// Launching.
    pub launch_s: f64,
    /// Computing.
    pub kernel_s: f64,
    /// How much longer kernels take than on a device that has enough rows at a time.
    pub slowdown: f64,
    /// Copying back.
    pub out_s: f64,
}

impl Costs {
    /// All of it, one after the other: what overlaps is a gain that no decision relies on.
    pub fn total_s(&self) -> f64 {
        self.in_s + self.launch_s + self.kernel_s + self.out_s
    }
}

impl<'a> Open<'a> {
    /// A segment without items that begins where `n_rows` are alive.
    pub fn new(problem: &'a Problem, needed_until: &'a [usize], n_rows: f64) -> Self {
        Self {
            problem,
            needed_until,
            n_rows,
            n_items: 0,
            kernel_s: 0.0,
            drops_rows: false,
            copied_in: vec![],
            made: vec![],
            in_bytes_per_row: 0.0,
            made_bytes_per_row: 0.0,
            scratch_bytes_per_row: 0.0,
            resources: Resources::default(),
        }
    }

    /// Adds the next item.
    pub fn push(&mut self, index: usize, gpu: &OnGpu) {
        let item = &self.problem.items[index];
        for column in &item.reads {
            if !self.copied_in.contains(column) && !self.made.contains(column) {
                self.copied_in.push(*column);
                self.in_bytes_per_row += self.problem.columns[*column].bytes_per_row;
            }
        }
        for column in &item.makes {
            if !self.made.contains(column) {
                self.made.push(*column);
                self.made_bytes_per_row += self.problem.columns[*column].bytes_per_row;
            }
        }
        self.n_items += 1;
        self.kernel_s += gpu.seconds;
        self.drops_rows |= item.drops_rows;
        self.scratch_bytes_per_row += gpu.scratch_bytes_per_row;
        self.resources = self.resources.and(item.resources);
    }

    /// The columns that are copied in.
    pub fn copied_in(&self) -> &[usize] {
        &self.copied_in
    }

    /// The columns that are copied back if the segment ends at place `end` of its chain.
    pub fn copied_back(&self, end: usize) -> impl Iterator<Item = usize> + '_ {
        self.made.iter().copied().filter(move |column| self.needed_until[*column] > end + 1)
    }

    pub fn drops_rows(&self) -> bool {
        self.drops_rows
    }

    /// What the segment costs if it ends at place `end` of its chain.
    pub fn costs(&self, end: usize, machine: &Machine, device: &Device, link: &Link) -> Result<Costs, TooBig> {
        let failed = if self.drops_rows { FAILED_BYTES_PER_ROW } else { 0.0 };
        let back: f64 = self.copied_back(end).map(|column| self.problem.columns[column].bytes_per_row).sum();
        let out_bytes_per_row = back + failed;
        let on_device = self.in_bytes_per_row + self.made_bytes_per_row + failed + self.scratch_bytes_per_row;

        let n_launches = if machine.fused { 1 } else { self.n_items };
        let launch_s = device.launch_s * n_launches as f64;
        let out_latency_s = if out_bytes_per_row > 0.0 { link.latency_s } else { 0.0 };
        let seconds_per_byte = 1.0 / link.bytes_per_s(machine.pinned);
        let kernel_per_row = if self.n_rows > 0.0 { self.kernel_s / self.n_rows } else { 0.0 };
        let load = Load {
            n_rows: self.n_rows,
            in_bytes_per_row: self.in_bytes_per_row,
            out_bytes_per_row,
            device_bytes_per_row: on_device,
            seconds_per_row: (self.in_bytes_per_row + out_bytes_per_row) * seconds_per_byte + kernel_per_row,
            fixed_s: link.latency_s + launch_s + out_latency_s,
        };
        let batch = batch(&load, &machine.budget, &self.resources)?;
        let n_batches = batch.n_batches as f64;
        let slowdown = (device.rows_for_full_speed() / batch.rows as f64).max(1.0);
        let in_bytes = self.in_bytes_per_row * self.n_rows;
        let out_bytes = out_bytes_per_row * self.n_rows;
        Ok(Costs {
            in_bytes,
            out_bytes,
            in_s: n_batches * link.latency_s + in_bytes * seconds_per_byte,
            launch_s: n_batches * launch_s,
            kernel_s: self.kernel_s * slowdown,
            slowdown,
            out_s: n_batches * out_latency_s + out_bytes * seconds_per_byte,
            batch,
            load,
            resources: self.resources,
        })
    }
}
