//! The machine that a session plans for: this one, or that of a profile.
//!
//! Looked for once, when a plan first has something that a GPU could do.

use super::place::Machine;
use crate::config::DeviceChoice;
use crate::cost::{Cpu, ProbedDevice, Profile};
use crate::exec::Engine;
use crate::gpu::{Runtime, RuntimeOptions};
use crate::{Config, Error, Result};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// A share of the host's memory for copies where the session sets no limit.
const HOST_BYTES: u64 = 1 << 30;

/// What a session may run on.
#[derive(Debug)]
pub struct Hardware {
    config: Config,
    found: OnceLock<std::result::Result<Option<Arc<Found>>, Refusal>>,
}

/// Why there is nothing to plan for. Kept, as it is told for every query.
#[derive(Debug)]
enum Refusal {
    /// What the user named cannot be used.
    Wrong(String),
    /// There is no GPU, and the run insists on one.
    Missing(String),
}

/// What was found.
#[derive(Debug)]
pub struct Found {
    /// What the estimates are made for.
    pub profile: Profile,
    /// The same, with the session's budgets.
    pub machine: Machine,
    /// The devices; `None` if the profile is of another machine.
    pub engine: Option<Arc<Engine>>,
}

/// Where compiled kernels are kept between runs; nowhere if the system says no place.
fn kernel_cache() -> Option<PathBuf> {
    let given = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = given("XDG_CACHE_HOME").or_else(|| Some(given("HOME")?.join(".cache")))?;
    Some(cache.join("curator").join("kernels"))
}

impl Hardware {
    /// To be looked for as `config` says.
    pub fn new(config: &Config) -> Self {
        Self { config: config.clone(), found: OnceLock::new() }
    }

    /// Whether it would be looked for in the same way.
    pub fn fits(&self, config: &Config) -> bool {
        let key = |config: &Config| {
            (
                (config.device, config.require_gpu, config.num_gpus, config.gpu_memory_fraction.to_bits()),
                (config.prefetch_batches, config.profile.clone(), config.nvrtc.clone(), config.threads),
                config.memory_limit_bytes,
            )
        };
        key(&self.config) == key(config)
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The hardware with a GPU, if there is one and it may be used. An error if there is none and the run insists on
    /// one, or if the profile cannot be read.
    pub fn find(&self) -> Result<Option<Arc<Found>>> {
        let found = self.found.get_or_init(|| {
            self.look().map_err(|error| match error {
                Error::Device(message) => Refusal::Missing(message),
                other => Refusal::Wrong(other.to_string()),
            })
        });
        match found {
            Ok(found) => Ok(found.clone()),
            Err(Refusal::Wrong(message)) => Err(Error::Data(message.clone())),
            Err(Refusal::Missing(message)) => Err(Error::Device(message.clone())),
        }
    }

    /// Gives back device memory that is kept for later batches: between queries others may want it.
    pub fn release_unused(&self) {
        if let Some(Ok(Some(found))) = self.found.get()
            && let Some(engine) = &found.engine
        {
            engine.runtime().release_unused();
        }
    }

    fn look(&self) -> Result<Option<Arc<Found>>> {
        let config = &self.config;
        if config.device == DeviceChoice::Cpu {
            return Ok(None);
        }
        if let Some(name) = &config.profile {
            let profile = Profile::find(name)?;
            let machine = self.machine(&profile);
            return Ok(profile.device.is_some().then(|| Arc::new(Found { profile, machine, engine: None })));
        }
        let options = RuntimeOptions {
            nvrtc: config.nvrtc.clone(),
            n_gpus: config.num_gpus.map(|n| n.get()),
            memory_fraction: config.gpu_memory_fraction,
            n_streams: config.prefetch_batches.get().max(2),
            cache_dir: kernel_cache(),
            ..RuntimeOptions::default()
        };
        let runtime = match Runtime::open(&options) {
            Ok(runtime) => runtime,
            Err(why) if config.require_gpu => return Err(Error::Device(format!("no GPU: {why}"))),
            Err(why) => {
                if config.device == DeviceChoice::Gpu {
                    tracing::warn!("no GPU: {why}; everything runs on the CPU");
                } else {
                    tracing::debug!("no GPU: {why}");
                }
                return Ok(None);
            }
        };
        // Not found by name it is done without; the file that was named must be there.
        if let (Some(_), Err(why)) = (&config.nvrtc, runtime.compiler().version()) {
            return Err(Error::Data(why.to_string()));
        }
        let Some(device) = runtime.devices().first() else { return Ok(None) };
        let info = device.info();
        let probed = ProbedDevice {
            name: info.name.clone(),
            memory_bytes: info.total_bytes as u64,
            multiprocessors: info.n_multiprocessors,
            clock_khz: info.clock_khz,
            memory_clock_khz: info.memory_clock_khz,
            memory_bus_bits: info.bus_width_bits,
            capability: info.compute_capability,
        };
        let cpu = Cpu { cores: config.threads.get() as f64, speed: 1.0 };
        let profile = Profile::of_device(cpu, &probed);
        let mut machine = self.machine(&profile);
        machine.fused = runtime.compiler().version().is_ok();
        Ok(Some(Arc::new(Found { profile, machine, engine: Some(Arc::new(Engine::new(runtime))) })))
    }

    fn machine(&self, profile: &Profile) -> Machine {
        let host_bytes = self.config.memory_limit_bytes.map_or(HOST_BYTES, |limit| (limit / 8) as u64);
        let mut machine = Machine::new(profile, host_bytes);
        machine.budget.device_fraction = self.config.gpu_memory_fraction;
        machine.budget.in_flight = self.config.prefetch_batches.get() as u32 + 1;
        machine
    }
}
