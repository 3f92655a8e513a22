//! Opens the GPUs of a machine: [`Runtime::open`].
//!
//! Invariant: never panics and never blocks on a machine without a GPU; why there is none is one line.

use std::{path::PathBuf, sync::Arc};

use super::{
    Compiler, Device, Unavailable,
    device::DeviceOptions,
    probe::{choose, start},
};

/// What the GPUs are opened with.
#[derive(Debug, Clone, PartialEq)]
pub struct RuntimeOptions {
    /// The library of NVRTC; by default it is found by name.
    pub nvrtc: Option<PathBuf>,
    /// How many GPUs to use; by default all that can be.
    pub n_gpus: Option<usize>,
    /// How much of each one's memory may be used.
    pub memory_fraction: f64,
    /// Batches that are under way on each at a time: one copied in, one computed, one copied out.
    pub n_streams: usize,
    /// Where compiled kernels are kept; by default nowhere.
    pub cache_dir: Option<PathBuf>,
    /// Whether staging buffers are pinned, so that copies run beside the CPU.
    pub use_pinned: bool,
}

impl Default for RuntimeOptions {
    fn default() -> Self {
        Self { nvrtc: None, n_gpus: None, memory_fraction: 0.8, n_streams: 3, cache_dir: None, use_pinned: true }
    }
}

/// The GPUs of this machine.
#[derive(Debug)]
pub struct Runtime {
    devices: Vec<Arc<Device>>,
    compiler: Arc<Compiler>,
}

impl Runtime {
    /// Opens them, or says why there are none.
    pub fn open(options: &RuntimeOptions) -> Result<Arc<Self>, Unavailable> {
        let fraction = options.memory_fraction;
        if !(fraction > 0.0 && fraction <= 1.0) {
            let why = format!("the fraction of a GPU's memory to use must be above 0 and at most 1, not {fraction}");
            return Err(Unavailable::BadOption(why));
        }
        let found = choose(start()?, options.n_gpus)?;
        let driver_version = found.first().map(|device| device.driver_version);
        let compiler = Arc::new(Compiler::open(options.nvrtc.as_deref(), options.cache_dir.clone(), driver_version));
        let with =
            DeviceOptions { memory_fraction: fraction, n_streams: options.n_streams, use_pinned: options.use_pinned };
        let (mut devices, mut failures) = (vec![], vec![]);
        for info in found {
            if options.n_gpus.is_some_and(|asked| devices.len() == asked) {
                break;
            }
            match Device::open(info, with, &compiler) {
                Ok(device) => devices.push(device),
                Err(failure) => failures.push(failure),
            }
        }
        // The others work without one that does not, unless there are too few of them.
        let too_few = devices.len() < options.n_gpus.unwrap_or(1);
        for failure in failures {
            if too_few {
                return Err(failure);
            }
            tracing::warn!("{failure}");
        }
        Ok(Arc::new(Self { devices, compiler }))
    }

    /// The GPUs, in the driver's order.
    pub fn devices(&self) -> &[Arc<Device>] {
        &self.devices
    }

    /// NVRTC, or why there is none.
    pub fn compiler(&self) -> &Compiler {
        &self.compiler
    }

    /// Gives back all memory that no batch uses, on the devices and in pinned buffers: between queries.
    pub fn release_unused(&self) {
        self.devices.iter().for_each(|device| device.release_unused());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fraction_that_makes_no_sense_is_refused_before_anything_is_opened() {
        for memory_fraction in [0.0, -0.5, 1.01, f64::NAN] {
            let options = RuntimeOptions { memory_fraction, ..RuntimeOptions::default() };
            assert!(matches!(Runtime::open(&options), Err(Unavailable::BadOption(_))), "{memory_fraction}");
        }
    }
}
