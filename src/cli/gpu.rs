//! `curator gpu info`: the GPUs that queries would use, their memory, and the compiler for fused kernels.

use super::args::SessionArgs;
use super::terminal;
use crate::Result;
use crate::config::format_bytes;
use crate::gpu::{Device, Runtime, RuntimeOptions};
use serde_json::{Value, json};
use std::process::ExitCode;
use std::sync::Arc;

/// Show the GPUs that queries can use.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: GpuCommand,
}

#[derive(Debug, clap::Subcommand)]
enum GpuCommand {
    /// The devices, their memory, and the run-time compiler.
    Info {
        /// As JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        session: Box<SessionArgs>,
    },
}

/// Runs the command.
pub fn run(args: Args) -> Result<ExitCode> {
    let GpuCommand::Info { json, session } = args.command;
    let config = session.config();
    let options = RuntimeOptions {
        nvrtc: config.nvrtc.clone(),
        n_gpus: config.num_gpus.map(|n| n.get()),
        memory_fraction: config.gpu_memory_fraction,
        ..RuntimeOptions::default()
    };
    let runtime = match Runtime::open(&options) {
        Ok(runtime) => runtime,
        Err(why) if json => {
            terminal::print(&format!("{:#}", json!({"devices": [], "reason": why.to_string()})))?;
            return Ok(ExitCode::SUCCESS);
        }
        Err(why) => {
            terminal::print(&format!("no GPU: {why}\nQueries run on the CPU."))?;
            return Ok(ExitCode::SUCCESS);
        }
    };
    let compiler = match runtime.compiler().version() {
        Ok((major, minor)) => format!("NVRTC {major}.{minor}: chains of operators are fused"),
        Err(why) => format!("no NVRTC ({why}): the kernels that come with curator run one by one"),
    };
    if json {
        let devices: Vec<Value> = runtime.devices().iter().map(device_json).collect();
        terminal::print(&format!("{:#}", json!({"devices": devices, "compiler": compiler})))?;
    } else {
        let mut lines: Vec<String> = runtime.devices().iter().map(device_text).collect();
        lines.push(compiler);
        terminal::print(&lines.join("\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn device_text(device: &Arc<Device>) -> String {
    let (info, memory) = (device.info(), device.memory());
    let (major, minor) = info.compute_capability;
    format!(
        "GPU {}: {}, compute capability {major}.{minor}, {} multiprocessors\n  \
         memory {} free of {}; queries may use {}, use {}\n  driver for CUDA {}.{}",
        info.ordinal,
        info.name,
        info.n_multiprocessors,
        format_bytes(info.free_bytes),
        format_bytes(info.total_bytes),
        format_bytes(memory.limit_bytes),
        format_bytes(memory.used_bytes),
        info.driver_version / 1000,
        info.driver_version % 1000 / 10,
    )
}

fn device_json(device: &Arc<Device>) -> Value {
    let (info, memory) = (device.info(), device.memory());
    json!({
        "ordinal": info.ordinal,
        "name": info.name,
        "compute_capability": format!("{}.{}", info.compute_capability.0, info.compute_capability.1),
        "multiprocessors": info.n_multiprocessors,
        "total_bytes": info.total_bytes,
        "free_bytes": info.free_bytes,
        "limit_bytes": memory.limit_bytes,
        "used_bytes": memory.used_bytes,
        "peak_bytes": memory.peak_bytes,
        "reserved_bytes": memory.reserved_bytes,
    })
}
