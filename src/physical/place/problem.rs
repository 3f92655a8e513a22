//! What is to be placed, and on what.

use crate::Result;
use crate::cost::{Device, Link, Profile, Reason};
use crate::physical::size::{Budget, Resources};

/// Where an item runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// On the processor.
    Cpu,
    /// On a device.
    Gpu,
}

/// A plan, as far as placing needs to know it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Problem {
    /// The columns that items read and make.
    pub columns: Vec<Column>,
    /// The items; each comes after its inputs.
    pub items: Vec<Item>,
}

/// A column that items read or make.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// As a user would write it.
    pub label: String,
    /// Its bytes when it is copied: values, offsets and which are null. The mean of an estimate.
    pub bytes_per_row: f64,
    /// Whether the output, or anything that is not an item, reads it.
    pub is_output: bool,
}

/// An operator, a pass over a text, or a rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// As a user would write it.
    pub label: String,
    /// The items whose rows it takes. None: it takes the rows of a source.
    pub inputs: Vec<usize>,
    /// The columns it reads, on whichever side.
    pub reads: Vec<usize>,
    /// The columns it makes.
    pub makes: Vec<usize>,
    /// Rows that reach it.
    pub rows_in: f64,
    /// Whether it is a rule, after which rows are missing.
    pub drops_rows: bool,
    /// All its rows on the whole processor.
    pub cpu_seconds: f64,
    /// What it takes on the device, or why it cannot run there.
    pub gpu: Result<OnGpu, Reason>,
    /// The side that the query asks for. What cannot run on the GPU stays on the CPU nevertheless.
    pub forced: Option<Side>,
    /// What the query says about its resources.
    pub resources: Resources,
}

/// What an item takes on the device.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct OnGpu {
    /// All its rows, without copies and launches.
    pub seconds: f64,
    /// Memory of the device that it needs for a row while it runs, besides the columns.
    pub scratch_bytes_per_row: f64,
}

impl Problem {
    /// Whether the numbers in it point to what there is.
    pub(super) fn check(&self) -> Result<()> {
        for (index, item) in self.items.iter().enumerate() {
            if item.inputs.iter().any(|input| *input >= index) {
                return Err(crate::bug!("item {index} `{}` comes before one of its inputs", item.label));
            }
            if item.reads.iter().chain(&item.makes).any(|column| *column >= self.columns.len()) {
                return Err(crate::bug!("item {index} `{}` reads or makes a column that is not there", item.label));
            }
        }
        Ok(())
    }

    /// The items in runs through which rows pass one after the other: where rows meet or part, a run ends.
    pub(super) fn chains(&self) -> Vec<Vec<usize>> {
        let mut n_readers = vec![0; self.items.len()];
        self.items.iter().flat_map(|item| &item.inputs).for_each(|input| n_readers[*input] += 1);
        let mut chains: Vec<Vec<usize>> = vec![];
        let mut chain_of = vec![0; self.items.len()];
        for (index, item) in self.items.iter().enumerate() {
            chain_of[index] = match item.inputs[..] {
                [input] if n_readers[input] == 1 => chain_of[input],
                _ => {
                    chains.push(vec![]);
                    chains.len() - 1
                }
            };
            chains[chain_of[index]].push(index);
        }
        chains
    }
}

/// What the items are placed on.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    /// The GPU and the link to it; none: everything stays on the CPU.
    pub gpu: Option<(Device, Link)>,
    /// What a batch may take.
    pub budget: Budget,
    /// Whether copies go through pinned memory.
    pub pinned: bool,
    /// Whether the items of a segment become one kernel; otherwise each is launched alone.
    pub fused: bool,
}

impl Machine {
    /// A machine of `profile`, with `host_bytes` for copies.
    pub fn new(profile: &Profile, host_bytes: u64) -> Self {
        let gpu = profile.device.clone().zip(profile.link);
        let budget = match &gpu {
            Some((device, _)) => Budget::new(device.memory_bytes, device.rows_at_once(), host_bytes),
            None => Budget::new(0, 0, host_bytes),
        };
        Self { gpu, budget, pinned: true, fused: true }
    }
}
