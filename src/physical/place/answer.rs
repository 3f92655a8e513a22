//! From a problem to sides and reasons.

use super::exact::{Best, Chain, Cost, Range, solve};
use super::problem::{Item, Machine, OnGpu, Problem, Side};
use super::segment::{Costs, Open};
use crate::Result;
use crate::config::format_bytes;
use crate::cost::{Device, Link, Reason, ReasonCode, format_seconds};
use crate::physical::size::TooBig;
use std::ops::Add;

/// A placed plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Placement {
    /// For each item of the problem.
    pub items: Vec<PlacedItem>,
    /// What runs on the device.
    pub segments: Vec<Segment>,
    /// The estimate for all of it.
    pub total_s: f64,
    /// The estimate with everything on the CPU.
    pub cpu_only_s: f64,
}

/// Where an item runs, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacedItem {
    /// Where.
    pub side: Side,
    /// Why.
    pub reason: Reason,
    /// The estimate for the whole plan with this item on the other side and everything else at its best. None: it
    /// cannot be there.
    pub total_if_other_s: Option<f64>,
    /// Its segment, if it runs on the device.
    pub segment: Option<usize>,
}

/// Neighbours on the device.
#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    /// Its items, in order.
    pub items: Vec<usize>,
    /// The columns that are copied in.
    pub copied_in: Vec<usize>,
    /// The columns that are copied back.
    pub copied_back: Vec<usize>,
    /// Whether the numbers of failed rules are copied back as well.
    pub drops_rows: bool,
    /// What it costs.
    pub costs: Costs,
}

/// Places the items of `problem` on `machine` at the least estimated cost.
pub fn place(problem: &Problem, machine: &Machine) -> Result<Placement> {
    problem.check()?;
    let chains: Vec<PlacedChain> =
        problem.chains().into_iter().map(|items| PlacedChain::new(problem, machine, items)).collect();
    let total = chains.iter().fold(Cost::default(), |sum, chain| sum + chain.best.cost);
    let mut placed: Vec<Option<PlacedItem>> = vec![None; problem.items.len()];
    let mut segments = vec![];
    for chain in &chains {
        for (place, index) in chain.items.iter().enumerate() {
            let found = chain.best.segments.iter().position(|(a, b)| (*a..=*b).contains(&place));
            let side = if found.is_some() { Side::Gpu } else { Side::Cpu };
            let other = match side {
                Side::Cpu => chain.best.with_gpu[place].map(|(cost, _)| cost),
                Side::Gpu if problem.items[*index].forced == Some(Side::Gpu) => None,
                Side::Gpu => Some(chain.best.with_cpu[place]),
            };
            let total_s = total.as_seconds();
            let total_if_other_s = other.map(|other| (total + other.more_than(chain.best.cost)).as_seconds());
            let reason = match side {
                Side::Cpu => chain.why_cpu(place, *index),
                Side::Gpu => why_gpu(&problem.items[*index], total_s, total_if_other_s),
            };
            let segment = found.map(|found| segments.len() + found);
            placed[*index] = Some(PlacedItem { side, reason, total_if_other_s, segment });
        }
        segments.extend(chain.best.segments.iter().filter_map(|range| chain.segment(*range)));
    }
    Ok(Placement {
        items: placed.into_iter().flatten().collect(),
        segments,
        total_s: total.as_seconds(),
        cpu_only_s: problem.items.iter().map(|item| item.cpu_seconds).sum(),
    })
}

fn why_gpu(item: &Item, total_s: f64, total_if_cpu_s: Option<f64>) -> Reason {
    match total_if_cpu_s {
        Some(other_s) if item.forced.is_none() => {
            Reason::new(ReasonCode::Cheaper, format!("saves {}", format_seconds(other_s - total_s)))
        }
        _ => ReasonCode::Forced.into(),
    }
}

/// A chain with its best placement.
struct PlacedChain<'a> {
    problem: &'a Problem,
    machine: &'a Machine,
    items: Vec<usize>,
    needed_until: Vec<usize>,
    best: Best,
}

impl<'a> PlacedChain<'a> {
    fn new(problem: &'a Problem, machine: &'a Machine, items: Vec<usize>) -> Self {
        let needed_until = needed_until(problem, &items);
        let best = Best { cost: Cost::default(), segments: vec![], with_cpu: vec![], with_gpu: vec![] };
        let mut chain = Self { problem, machine, items, needed_until, best };
        chain.best = solve(&chain.prices());
        chain
    }

    /// What the item takes on the device, or why it cannot run there.
    fn on_gpu(&self, index: usize) -> Result<(&'a OnGpu, &'a Device, &'a Link), Reason> {
        let item = &self.problem.items[index];
        let gpu = item.gpu.as_ref().map_err(Clone::clone)?;
        if item.inputs.len() > 1 {
            return Err(ReasonCode::Inputs.into());
        }
        let (device, link) = self.machine.gpu.as_ref().ok_or(ReasonCode::NoGpu)?;
        if item.forced == Some(Side::Cpu) { Err(ReasonCode::Forced.into()) } else { Ok((gpu, device, link)) }
    }

    fn prices(&self) -> Chain {
        let cpu = |index: &usize| {
            let item = &self.problem.items[*index];
            let is_refused = item.forced == Some(Side::Gpu) && self.on_gpu(*index).is_ok();
            Cost { n_refused: u64::from(is_refused), ..Cost::seconds(item.cpu_seconds) }
        };
        let segments_from = |a: usize| {
            let mut open = self.open(a);
            let mut segments = vec![];
            for (place, index) in self.items.iter().enumerate().skip(a) {
                // A longer segment needs more memory still.
                let Ok((gpu, device, link)) = self.on_gpu(*index) else { break };
                open.push(*index, gpu);
                let Ok(costs) = open.costs(place, self.machine, device, link) else { break };
                // Part by part: rounding a sum would depend on its order.
                let parts = [costs.in_s, costs.launch_s, costs.kernel_s, costs.out_s].map(Cost::seconds);
                let on_gpu = Cost { n_on_gpu: (place + 1 - a) as u64, ..Cost::default() };
                segments.push(parts.into_iter().fold(on_gpu, Add::add));
            }
            segments
        };
        Chain {
            cpu: self.items.iter().map(cpu).collect(),
            segments: (0..self.items.len()).map(segments_from).collect(),
        }
    }

    fn open(&self, a: usize) -> Open<'_> {
        Open::new(self.problem, &self.needed_until, self.problem.items[self.items[a]].rows_in)
    }

    /// The segment with its costs. None if an item of it cannot run on the device.
    fn grown(&self, (a, b): Range) -> Option<(Open<'_>, Result<Costs, TooBig>)> {
        let mut open = self.open(a);
        let mut on = None;
        for index in &self.items[a..=b] {
            let (gpu, device, link) = self.on_gpu(*index).ok()?;
            open.push(*index, gpu);
            on = Some((device, link));
        }
        let (device, link) = on?;
        let costs = open.costs(b, self.machine, device, link);
        Some((open, costs))
    }

    fn segment(&self, range: Range) -> Option<Segment> {
        let (open, costs) = self.grown(range)?;
        Some(Segment {
            items: self.items[range.0..=range.1].to_vec(),
            copied_in: open.copied_in().to_vec(),
            copied_back: open.copied_back(range.1).collect(),
            drops_rows: open.drops_rows(),
            costs: costs.ok()?,
        })
    }

    fn why_cpu(&self, place: usize, index: usize) -> Reason {
        let gpu = match self.on_gpu(index) {
            Ok((gpu, ..)) => gpu,
            Err(reason) => return reason,
        };
        let cpu_seconds = self.problem.items[index].cpu_seconds;
        let alternative = self.best.with_gpu[place].and_then(|(_, range)| self.segment(range));
        let Some(alternative) = alternative else {
            let detail = match self.grown((place, place)) {
                Some((_, Err(TooBig { needed_bytes, usable_bytes }))) => format!(
                    "a row needs {}, the device has {}",
                    format_bytes(needed_bytes as usize),
                    format_bytes(usable_bytes as usize)
                ),
                _ => String::new(),
            };
            return Reason::new(ReasonCode::TooBig, detail);
        };
        let costs = &alternative.costs;
        let copy_s = costs.in_s + costs.out_s;
        let kernel_s = gpu.seconds * costs.slowdown;
        if kernel_s >= cpu_seconds {
            let why = if costs.slowdown > 1.0 { ": too few rows to fill the device" } else { "" };
            Reason::new(ReasonCode::CostsMore, format!("its kernel takes {}{why}", format_seconds(kernel_s)))
        } else if copy_s >= costs.launch_s {
            let bytes = format_bytes((costs.in_bytes + costs.out_bytes) as usize);
            Reason::new(ReasonCode::Transfer, format!("copying {bytes} takes {}", format_seconds(copy_s)))
        } else {
            Reason::new(ReasonCode::CostsMore, format!("launching takes {}", format_seconds(costs.launch_s)))
        }
    }
}

/// For each column how many items of the chain have to be over before nobody reads it any more.
fn needed_until(problem: &Problem, chain: &[usize]) -> Vec<usize> {
    let mut place_of = vec![None; problem.items.len()];
    chain.iter().enumerate().for_each(|(place, index)| place_of[*index] = Some(place));
    let mut until: Vec<usize> =
        problem.columns.iter().map(|column| if column.is_output { usize::MAX } else { 0 }).collect();
    for (index, item) in problem.items.iter().enumerate() {
        for column in &item.reads {
            until[*column] = until[*column].max(place_of[index].map_or(usize::MAX, |place| place + 1));
        }
    }
    until
}
