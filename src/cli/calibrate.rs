//! `curator calibrate`: measures this machine and writes its profile.
//!
//! Operators run on made-up documents on one core, each as long as it takes to tell; then, if there is a GPU, a kernel
//! runs over batches of growing size. What is fitted to the times is in `cost/calibrate.rs`.
//! Invariant: the profile says which figures were measured and which are those of the device's generation.

use super::args::SessionArgs;
use super::terminal;
use crate::cost::{Cpu, Measured, ProbedDevice, Profile, Sample, walk_instructions_per_byte};
use crate::gpu::{Device, GpuError, Program, Runtime, RuntimeOptions, Type, Value};
use crate::ops::{self, Args as OpArgs, Needs, OpSpec, Registry, evaluate};
use crate::{Config, Error, Result};
use arrow::array::{ArrayRef, StringArray};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What operators are measured on.
const CPU_TEXT_BYTES: usize = 1 << 20;
/// Each measurement is made so many times; the fastest counts.
const REPEATS: usize = 3;
/// Batches grow until one takes so long.
const LONG_ENOUGH: Duration = Duration::from_millis(300);
const FIRST_BATCH_BYTES: usize = 64 << 10;
const LAST_BATCH_BYTES: usize = 64 << 20;

/// Measure this machine and write its profile, for `curator explain --profile` here and elsewhere.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where to write the profile [default: standard output].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    session: SessionArgs,
}

/// Runs the command.
pub fn run(args: Args) -> Result<ExitCode> {
    let config = args.session.config();
    let mut measured = Measured { operators: measure_operators()?, ..Measured::default() };
    let mut remarks =
        format!("Measured by `curator calibrate`: the speed of a core, on {} operators", measured.operators.len());
    if cfg!(debug_assertions) {
        terminal::say("this curator was built without optimization: it measures a core as far slower than it is");
    }
    let cpu = Cpu { cores: config.threads.get() as f64, speed: 1.0 };
    let profile = match open(&config, true) {
        Ok(device) => {
            match measure_device(&device, &mut measured) {
                Ok(()) => {
                    remarks.push_str(",\ncopies and launches, and how much of its peak the device reaches.\n");
                    remarks.push_str("All else is what the driver says or what its generation has.");
                    let other =
                        open(&config, false).ok().and_then(|other| copies(&other, &mut Measured::default()).ok());
                    measured.pageable = other.unwrap_or_default();
                }
                Err(error) => {
                    let why = error.to_string();
                    let why = why.lines().next().unwrap_or_default();
                    terminal::say(&format!("the GPU was not measured: {why}"));
                    remarks.push_str(".\nThe GPU was not measured: its figures are what its generation has.");
                }
            }
            Profile::of_device(cpu, &probed(&device))
        }
        Err(why) => {
            terminal::say(&format!("no GPU: {why}; the profile is of the CPU alone"));
            Profile::of_cpu(cpu)
        }
    };
    let text = profile.calibrated(&measured).to_toml(&remarks);
    match args.output {
        Some(path) => std::fs::write(&path, text).map_err(|error| Error::io(path, error))?,
        None => terminal::print(text.trim_end())?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The first GPU, with copies through pinned memory or not.
fn open(config: &Config, use_pinned: bool) -> Result<Arc<Device>, String> {
    let options = RuntimeOptions {
        nvrtc: config.nvrtc.clone(),
        n_gpus: Some(1),
        memory_fraction: config.gpu_memory_fraction,
        n_streams: 1,
        use_pinned,
        ..RuntimeOptions::default()
    };
    let runtime = Runtime::open(&options).map_err(|why| why.to_string())?;
    runtime.devices().first().cloned().ok_or_else(|| "the driver has no device".to_string())
}

fn probed(device: &Device) -> ProbedDevice {
    let info = device.info();
    ProbedDevice {
        name: info.name.clone(),
        memory_bytes: info.total_bytes as u64,
        multiprocessors: info.n_multiprocessors,
        clock_khz: info.clock_khz,
        memory_clock_khz: info.memory_clock_khz,
        memory_bus_bits: info.bus_width_bits,
        capability: info.compute_capability,
    }
}

/// The statistics that need no options, with these.
fn statistics() -> impl Iterator<Item = (Arc<OpSpec>, Arc<OpArgs>, Needs)> {
    let specs: Vec<Arc<OpSpec>> = Registry::builtin().iter().cloned().collect();
    specs.into_iter().filter_map(|spec| {
        let args = OpArgs::new(&spec, vec![]).ok()?;
        let ops::Cpu::Statistic(statistic) = &spec.cpu else { return None };
        let needs = (statistic.needs)(&args);
        Some((spec, Arc::new(args), needs))
    })
}

/// For each statistic how long it should take on one core, and how long it takes.
fn measure_operators() -> Result<Vec<(f64, f64)>> {
    let documents = documents(CPU_TEXT_BYTES);
    let n_bytes = CPU_TEXT_BYTES;
    let mut measured = vec![];
    for (spec, args, _) in statistics().filter(|(spec, ..)| spec.cost.ns_per_byte > 0.0) {
        let mut fastest = f64::INFINITY;
        for _ in 0..REPEATS {
            let start = Instant::now();
            evaluate(&spec, &documents, &args)?;
            fastest = fastest.min(start.elapsed().as_secs_f64());
        }
        measured.push((spec.cost.total_ns(documents.len(), n_bytes) * 1e-9, fastest));
    }
    Ok(measured)
}

fn measure_device(device: &Arc<Device>, measured: &mut Measured) -> Result<(), GpuError> {
    measured.pinned = copies(device, measured)?;
    Ok(())
}

/// Copies of batches of growing size; the kernels that run on them are counted in `measured`.
fn copies(device: &Arc<Device>, measured: &mut Measured) -> Result<Vec<Sample>, GpuError> {
    let found = statistics().find(|(spec, args, needs)| spec.gpu.kernel(args).is_ok() && *needs != Needs::TEXT);
    let Some((spec, args, needs)) = found else { return Ok(vec![]) };
    let mut program = Program::new(vec![Type::Text]);
    let value = program.push(Value::Call { spec, args, document: 0 }).map_err(GpuError::Refused)?;
    program.add_output(value).map_err(GpuError::Refused)?;
    let loaded = device.load(&program)?;

    let mut copies = vec![];
    let mut n_bytes = 0;
    while n_bytes <= LAST_BATCH_BYTES {
        let columns = [documents(n_bytes)];
        let start = Instant::now();
        for _ in 0..REPEATS {
            let mut batch = device.upload(&loaded, &columns)?;
            let (in_bytes, out_bytes) = (batch.input_bytes() as f64, batch.output_bytes() as f64);
            batch.launch()?;
            let (_, seconds) = batch.download()?.wait_timed()?;
            copies.push(Sample { amount: in_bytes, seconds: seconds.copy_in });
            copies.push(Sample { amount: out_bytes, seconds: seconds.copy_out });
            if n_bytes == 0 {
                measured.launches_s.push(seconds.compute);
            }
        }
        let instructions = walk_instructions_per_byte(needs.stage()) * n_bytes as f64;
        if start.elapsed() > LONG_ENOUGH * REPEATS as u32 || n_bytes == LAST_BATCH_BYTES {
            let mut batch = device.upload(&loaded, &columns)?;
            batch.launch()?;
            let (_, seconds) = batch.download()?.wait_timed()?;
            measured.kernels.push(Sample { amount: instructions, seconds: seconds.compute });
            break;
        }
        n_bytes = (4 * n_bytes).max(FIRST_BATCH_BYTES);
    }
    Ok(copies)
}

/// Made-up documents of about 2 kB, `n_bytes` all together; one empty one for none.
fn documents(n_bytes: usize) -> ArrayRef {
    const WORDS: [&str; 16] = [
        "the",
        "of",
        "water",
        "and",
        "small",
        "a",
        "engine",
        "rivers",
        "in",
        "12",
        "naïve",
        "to",
        "which",
        "house",
        "is",
        "understanding",
    ];
    let mut random: u64 = 1;
    let mut next = |n: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % n
    };
    let mut documents = vec![];
    let mut left = n_bytes;
    while left > 0 {
        let mut text = String::new();
        while text.len() < left.min(2_000) {
            text.push_str(WORDS[next(16) as usize]);
            text.push_str(match next(40) {
                0 => "\n\n",
                1..4 => ".\n",
                4..7 => ", ",
                _ => " ",
            });
        }
        left = left.saturating_sub(text.len());
        documents.push(text);
    }
    if documents.is_empty() {
        documents.push(String::new());
    }
    Arc::new(StringArray::from(documents))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_as_long_as_asked_for_and_the_same_each_time() {
        let made = documents(10_000);
        assert!((5..8).contains(&made.len()), "{}", made.len());
        assert_eq!(made.as_ref(), documents(10_000).as_ref());
        assert_eq!(documents(0).len(), 1);
    }

    #[test]
    fn there_are_statistics_to_measure() {
        assert!(statistics().filter(|(spec, ..)| spec.cost.ns_per_byte > 0.0).count() > 20);
    }
}
