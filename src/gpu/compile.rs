//! Compiles generated sources for a device, each once: in memory, on disk, else by NVRTC.
//!
//! Invariant: products are never fused with sums (`--fmad=false`), so that a device rounds as the CPU does.
//! Not here: the compiler's functions (`nvrtc.rs`), kernels that came compiled (`precompiled.rs`).

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    Form, GpuError,
    cache::{DiskCache, Key},
    nvrtc::Nvrtc,
};

/// NVRTC, or why there is none, and what it compiled so far.
#[derive(Debug)]
pub struct Compiler {
    nvrtc: Result<Nvrtc, String>,
    disk: DiskCache,
    // Held while compiling: two threads that need the same kernel compile it once.
    images: Mutex<HashMap<Key, Image>>,
}

/// A compiled kernel.
#[derive(Debug, Clone)]
pub(super) struct Image {
    pub(super) key: Key,
    pub(super) bytes: Arc<[u8]>,
    /// Whether an earlier run compiled it, maybe for another driver.
    pub(super) is_from_disk: bool,
}

/// What a kernel is compiled to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    architecture: String,
    pub(super) form: Form,
}

impl Compiler {
    /// Opens NVRTC at `path`, or else finds it; keeps what it compiles in `cache_folder`. For a driver of CUDA version
    /// `driver_version` (12090 is 12.9), if there is one.
    pub fn open(path: Option<&Path>, cache_folder: Option<PathBuf>, driver_version: Option<u32>) -> Self {
        let nvrtc = Nvrtc::open(path, driver_version);
        Self { nvrtc, disk: DiskCache::new(cache_folder), images: Mutex::default() }
    }

    /// The version of NVRTC, or why there is none.
    pub fn version(&self) -> Result<(u32, u32), &str> {
        self.nvrtc.as_ref().map(|nvrtc| nvrtc.version).map_err(String::as_str)
    }

    /// Where NVRTC was found.
    pub fn library(&self) -> Option<&Path> {
        self.nvrtc.as_ref().ok().map(|nvrtc| nvrtc.name.as_path())
    }

    /// Compiles for a compute capability, without a device and without keeping the result.
    pub fn compile(&self, source: &str, compute_capability: (u32, u32), form: Form) -> Result<Vec<u8>, GpuError> {
        let nvrtc = self.nvrtc.as_ref().map_err(|why| GpuError::Compile(why.clone()))?;
        let prefix = if form == Form::Ptx { "compute" } else { "sm" };
        let architecture = format!("{prefix}_{}{}", compute_capability.0, compute_capability.1);
        nvrtc.compile(source, &options(&architecture), form).map_err(GpuError::Compile)
    }

    /// The compiled form of `source` for a device.
    pub(super) fn image(
        &self,
        source: &str,
        compute_capability: (u32, u32),
        driver_version: u32,
    ) -> Result<Image, GpuError> {
        let nvrtc = self.nvrtc.as_ref().map_err(|why| GpuError::Compile(why.clone()))?;
        let target = target(compute_capability, nvrtc, driver_version).map_err(GpuError::Compile)?;
        let options = options(&target.architecture);
        let key = Key::new(source, &options, nvrtc.version, target.form);
        let mut images = self.images.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(image) = images.get(&key) {
            return Ok(image.clone());
        }
        let kept = self.disk.get(&key);
        let is_from_disk = kept.is_some();
        let bytes: Arc<[u8]> = match kept {
            Some(bytes) => bytes.into(),
            None => {
                let bytes = nvrtc.compile(source, &options, target.form).map_err(GpuError::Compile)?;
                self.disk.put(&key, &bytes);
                bytes.into()
            }
        };
        let image = Image { key: key.clone(), bytes, is_from_disk };
        images.insert(key, image.clone());
        Ok(image)
    }

    /// Forgets an image that the driver did not take, so that it is compiled afresh.
    pub(super) fn forget(&self, key: &Key) {
        self.images.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
        self.disk.remove(key);
    }
}

fn options(architecture: &str) -> Vec<String> {
    let architecture = format!("--gpu-architecture={architecture}");
    // Without warnings an error is found: shared code is not all used by one kernel.
    [architecture.as_str(), "--fmad=false", "--std=c++17", "--disable-warnings"].map(str::to_string).to_vec()
}

fn target(compute_capability: (u32, u32), nvrtc: &Nvrtc, driver_version: u32) -> Result<Target, String> {
    choose_target(compute_capability, &nvrtc.architectures, nvrtc.cuda_version(), driver_version)
}

/// PTX where the driver can translate it, for the newest architecture that both the device and the compiler know.
/// A driver that is older than the compiler cannot; it is given machine code, which runs on its own generation only.
fn choose_target(
    (major, minor): (u32, u32),
    architectures: &[u32],
    nvrtc_version: u32,
    driver_version: u32,
) -> Result<Target, String> {
    let form = if nvrtc_version <= driver_version { Form::Ptx } else { Form::Cubin };
    let device = major * 10 + minor;
    let fits = |arch: &u32| *arch <= device && (form == Form::Ptx || *arch / 10 == major);
    let nvrtc = format!("NVRTC {}.{}", nvrtc_version / 1000, nvrtc_version % 1000 / 10);
    match (architectures.iter().copied().filter(fits).max(), form) {
        (Some(arch), Form::Ptx) => Ok(Target { architecture: format!("compute_{arch}"), form }),
        (Some(arch), Form::Cubin) => Ok(Target { architecture: format!("sm_{arch}"), form }),
        (None, Form::Ptx) => Err(format!("{nvrtc} does not compile for compute capability {major}.{minor}")),
        (None, Form::Cubin) => Err(format!(
            "{nvrtc} does not compile for compute capability {major}.{minor} and the driver's CUDA {}.{}",
            driver_version / 1000,
            driver_version % 1000 / 10
        )),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn compiles_to_ptx_unless_the_driver_is_older_than_the_compiler() {
        let nvrtc_12_9 = [50, 60, 70, 75, 80, 86, 90];
        for (device, driver_version, expected) in [
            ((8, 0), 12090, Ok(("compute_80", Form::Ptx))),
            ((8, 0), 13000, Ok(("compute_80", Form::Ptx))),
            ((8, 9), 12090, Ok(("compute_86", Form::Ptx))),
            ((12, 0), 12090, Ok(("compute_90", Form::Ptx))),
            ((8, 9), 12040, Ok(("sm_86", Form::Cubin))),
            ((12, 0), 12040, Err("NVRTC 12.9 does not compile for compute capability 12.0 and the driver's CUDA 12.4")),
            ((3, 5), 12090, Err("NVRTC 12.9 does not compile for compute capability 3.5")),
        ] {
            let found = choose_target(device, &nvrtc_12_9, 12090, driver_version);
            let expected = expected
                .map(|(architecture, form)| Target { architecture: architecture.to_string(), form })
                .map_err(str::to_string);
            assert_eq!(found, expected, "{device:?} {driver_version}");
        }
    }

    #[test]
    fn a_compiler_that_is_not_there_says_so() {
        let compiler = Compiler::open(Some(Path::new("/nowhere/libnvrtc.so.12")), None, None);
        let why = compiler.version().unwrap_err().to_string();
        assert!(why.starts_with("NVRTC at /nowhere/libnvrtc.so.12: "), "{why}");
        let error = compiler.image("", (8, 0), 12090).unwrap_err();
        assert_eq!(error, GpuError::Compile(why));
        assert_eq!(compiler.library(), None);
    }
}
