//! The answer compared with the cheapest of all placements, priced by the definition of a segment.

use super::super::*;
use crate::cost::{Device, Link, Reason, ReasonCode};
use crate::physical::size::{Budget, Load, Resources, batch};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Items asked for on the GPU that are not; picoseconds; items on the GPU.
type Price = (u64, u128, u64);

fn picoseconds(seconds: f64) -> u128 {
    (seconds * 1e12).round() as u128
}

/// Whether rows go from the item's input to it and nowhere else.
fn continues(problem: &Problem, index: usize) -> Option<usize> {
    let [input] = problem.items[index].inputs[..] else { return None };
    let n_readers = problem.items.iter().filter(|item| item.inputs.contains(&input)).count();
    (n_readers == 1).then_some(input)
}

/// What a placement costs, or none if it is not allowed.
fn price(problem: &Problem, machine: &Machine, continues: &[Option<usize>], sides: &[Side]) -> Option<Price> {
    let mut total: Price = (0, 0, 0);
    let mut segments: Vec<Vec<usize>> = vec![];
    for (index, item) in problem.items.iter().enumerate() {
        let possible = item.gpu.is_ok() && machine.gpu.is_some() && item.inputs.len() < 2;
        if sides[index] == Side::Gpu && (!possible || item.forced == Some(Side::Cpu)) {
            return None;
        }
        if sides[index] == Side::Cpu {
            total.0 += u64::from(possible && item.forced == Some(Side::Gpu));
            total.1 += picoseconds(item.cpu_seconds);
            continue;
        }
        total.2 += 1;
        let before = continues[index].and_then(|input| segments.iter().position(|s| s.contains(&input)));
        match before {
            Some(segment) => segments[segment].push(index),
            None => segments.push(vec![index]),
        }
    }
    for segment in &segments {
        total.1 += segment_parts(problem, machine, segment)?.map(picoseconds).iter().sum::<u128>();
    }
    Some(total)
}

/// Copying in, launching, computing, copying back.
fn segment_parts(problem: &Problem, machine: &Machine, segment: &[usize]) -> Option<[f64; 4]> {
    let (device, link) = machine.gpu.as_ref()?;
    let items: Vec<&Item> = segment.iter().map(|index| &problem.items[*index]).collect();
    let bytes = |columns: &BTreeSet<usize>| columns.iter().map(|c| problem.columns[*c].bytes_per_row).sum::<f64>();
    let made: BTreeSet<usize> = items.iter().flat_map(|item| item.makes.clone()).collect();
    let read: BTreeSet<usize> = items.iter().flat_map(|item| item.reads.clone()).collect();
    let copied_in: BTreeSet<usize> = read.difference(&made).copied().collect();
    let outside = problem.items.iter().enumerate().filter(|(index, _)| !segment.contains(index));
    let read_outside: BTreeSet<usize> = outside.flat_map(|(_, item)| item.reads.clone()).collect();
    let is_needed = |column: &usize| problem.columns[*column].is_output || read_outside.contains(column);
    let back: BTreeSet<usize> = made.iter().copied().filter(is_needed).collect();
    let failed = if items.iter().any(|item| item.drops_rows) { 4.0 } else { 0.0 };
    let out = bytes(&back) + failed;
    let n_rows = items[0].rows_in;
    let on_gpu: Vec<&OnGpu> = items.iter().map(|item| item.gpu.as_ref().unwrap()).collect();
    let kernel_s: f64 = on_gpu.iter().map(|gpu| gpu.seconds).sum();
    let scratch: f64 = on_gpu.iter().map(|gpu| gpu.scratch_bytes_per_row).sum();
    let launches = if machine.fused { 1.0 } else { items.len() as f64 };
    let out_latency_s = if out > 0.0 { link.latency_s } else { 0.0 };
    let per_byte = 1.0 / link.pinned_bytes_per_s;
    let load = Load {
        n_rows,
        in_bytes_per_row: bytes(&copied_in),
        out_bytes_per_row: out,
        device_bytes_per_row: bytes(&copied_in) + bytes(&made) + failed + scratch,
        seconds_per_row: (bytes(&copied_in) + out) * per_byte + if n_rows > 0.0 { kernel_s / n_rows } else { 0.0 },
        fixed_s: link.latency_s + launches * device.launch_s + out_latency_s,
    };
    let batch = batch(&load, &machine.budget, &Resources::default()).ok()?;
    let slowdown = (8.0 * f64::from(device.multiprocessors) / batch.rows as f64).max(1.0);
    let n_batches = batch.n_batches as f64;
    Some([
        n_batches * link.latency_s + load.in_bytes_per_row * n_rows * per_byte,
        n_batches * launches * device.launch_s,
        kernel_s * slowdown,
        n_batches * out_latency_s + out * n_rows * per_byte,
    ])
}

/// One item before columns and inputs are known: cpu and gpu time, scratch, what it reads, how it joins.
#[derive(Debug, Clone)]
struct Seed {
    cpu: u32,
    gpu: Option<u32>,
    scratch: u8,
    reads: Vec<u8>,
    n_makes: usize,
    drops_rows: bool,
    forced: Option<Side>,
    join: u8,
}

fn seed() -> impl Strategy<Value = Seed> {
    let side = prop_oneof![8 => Just(None), 1 => Just(Some(Side::Cpu)), 1 => Just(Some(Side::Gpu))];
    let gpu = prop_oneof![1 => Just(None), 6 => (0u32..400).prop_map(Some)];
    let reads = prop::collection::vec(any::<u8>(), 0..3);
    (0u32..1000, gpu, 0u8..8, reads, 0usize..3, any::<bool>(), side, any::<u8>()).prop_map(
        |(cpu, gpu, scratch, reads, n_makes, drops_rows, forced, join)| Seed {
            cpu,
            gpu,
            scratch,
            reads,
            n_makes,
            drops_rows,
            forced,
            join,
        },
    )
}

/// Powers of two keep every sum exact, so that equal costs are equal.
const TICK_S: f64 = 1.0 / (1 << 20) as f64;

fn problem(seeds: &[Seed], sizes: &[u16], outputs: u64) -> Problem {
    let mut problem = Problem::default();
    let column = |n: usize| Column {
        label: format!("c{n}"),
        bytes_per_row: f64::from(sizes[n % sizes.len()]),
        is_output: outputs >> (n % 64) & 1 == 1,
    };
    (0..3).for_each(|n| problem.columns.push(column(n)));
    // Items whose rows nobody takes yet, the newest last.
    let mut loose: Vec<usize> = vec![];
    let mut n_rows = 4096.0;
    for (index, seed) in seeds.iter().enumerate() {
        let inputs: Vec<usize> = match seed.join {
            0..20 if loose.len() > 1 => loose.drain(loose.len() - 2..).collect(),
            20..40 => vec![],
            _ => loose.pop().into_iter().collect(),
        };
        loose.push(index);
        let reads: BTreeSet<usize> = seed.reads.iter().map(|n| usize::from(*n) % problem.columns.len()).collect();
        let makes = (0..seed.n_makes).map(|n| problem.columns.len() + n).collect();
        (0..seed.n_makes).for_each(|_| problem.columns.push(column(problem.columns.len())));
        problem.items.push(Item {
            label: format!("i{index}"),
            inputs,
            reads: reads.into_iter().collect(),
            makes,
            rows_in: n_rows,
            drops_rows: seed.drops_rows,
            cpu_seconds: f64::from(seed.cpu) * TICK_S,
            gpu: seed.gpu.map_or(Err(Reason::from(ReasonCode::NoKernel)), |gpu| {
                Ok(OnGpu { seconds: f64::from(gpu) * TICK_S, scratch_bytes_per_row: f64::from(seed.scratch) * 16.0 })
            }),
            forced: seed.forced,
            resources: Resources::default(),
        });
        if seed.drops_rows && n_rows > 64.0 {
            n_rows /= 2.0;
        }
    }
    problem
}

fn machine(memory_bytes: u64, rate: u32, fused: bool) -> Machine {
    let device = Device {
        name: "test".into(),
        memory_bytes,
        memory_bytes_per_s: 1e12,
        multiprocessors: 4,
        clock_hz: 1e9,
        lanes_per_multiprocessor: 64,
        warps_per_multiprocessor: 32,
        launch_s: 8.0 * TICK_S,
        efficiency: 0.25,
    };
    let bytes_per_s = f64::from(rate).exp2();
    let link = Link { latency_s: 4.0 * TICK_S, pinned_bytes_per_s: bytes_per_s, pageable_bytes_per_s: bytes_per_s };
    let mut budget = Budget::new(memory_bytes, device.rows_at_once(), 1 << 30);
    budget.device_fraction = 1.0;
    Machine { gpu: Some((device, link)), budget, pinned: true, fused }
}

fn agrees(problem: &Problem, machine: &Machine) -> Result<(), TestCaseError> {
    let n = problem.items.len();
    let continues: Vec<Option<usize>> = (0..n).map(|index| continues(problem, index)).collect();
    let mut cheapest: Option<Price> = None;
    // The least with each item on the CPU and on the GPU.
    let mut least: Vec<[Option<Price>; 2]> = vec![[None; 2]; n];
    for choice in 0u32..1 << n {
        let sides: Vec<Side> = (0..n).map(|i| if choice >> i & 1 == 1 { Side::Gpu } else { Side::Cpu }).collect();
        let Some(price) = price(problem, machine, &continues, &sides) else { continue };
        let keep = |least: &mut Option<Price>| *least = Some(least.map_or(price, |least| least.min(price)));
        keep(&mut cheapest);
        (0..n).for_each(|i| keep(&mut least[i][sides[i] as usize]));
    }
    let placement = place(problem, machine).unwrap();
    let sides: Vec<Side> = placement.items.iter().map(|item| item.side).collect();
    prop_assert_eq!(price(problem, machine, &continues, &sides), cheapest, "{:?}", sides);
    let (_, best, _) = cheapest.unwrap();
    prop_assert_eq!(picoseconds(placement.total_s), best);
    for (index, item) in placement.items.iter().enumerate() {
        let is_forced = problem.items[index].forced == Some(Side::Gpu) && item.side == Side::Gpu;
        let other = least[index][1 - item.side as usize].filter(|_| !is_forced);
        // Where items that were asked for on the GPU must give way, the rest may be cheaper than the best.
        let expected = other.map(|(_, other, _)| other.max(best));
        prop_assert_eq!(item.total_if_other_s.map(picoseconds), expected, "item {}", index);
    }
    let in_segments: Vec<usize> = placement.segments.iter().flat_map(|segment| segment.items.clone()).collect();
    let on_gpu: BTreeSet<usize> = (0..n).filter(|index| sides[*index] == Side::Gpu).collect();
    prop_assert_eq!(in_segments.into_iter().collect::<BTreeSet<_>>(), on_gpu);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_placement_is_cheaper_than_the_one_that_is_found(
        seeds in prop_oneof![12 => prop::collection::vec(seed(), 1..9), 1 => prop::collection::vec(seed(), 9..=12)],
        sizes in prop::collection::vec(1u16..512, 1..8),
        outputs in any::<u64>(),
        memory in prop_oneof![Just(1u64 << 30), 256u64..1 << 16],
        rate in 24u32..36,
        fused in any::<bool>(),
    ) {
        agrees(&problem(&seeds, &sizes, outputs), &machine(memory, rate, fused))?;
    }
}
