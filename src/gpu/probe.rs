//! Looks for a driver and its devices, and never panics.
//!
//! `cudarc` panics where a library or one of its functions is missing. So the library is looked for first, then every
//! function that is called later, and the rest is still caught.
//! Not here: opening a device (`device.rs`).

use std::panic::{AssertUnwindSafe, catch_unwind};

use cudarc::driver::{
    DriverError, result,
    sys::{CUdevice_attribute, CUresult},
};

use super::{
    Unavailable,
    driver::{attribute, driver_version, has_library, has_symbol, total_bytes},
    error::describe,
};

/// Every function of the driver that is called, but for those of memory pools, which are asked for when used.
static FUNCTIONS: &[&str] = &[
    "cuInit",
    "cuDriverGetVersion",
    "cuGetErrorString",
    "cuDeviceGetCount",
    "cuDeviceGet",
    "cuDeviceGetName",
    "cuDeviceGetAttribute",
    "cuDeviceTotalMem_v2",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxSetCurrent",
    "cuMemGetInfo_v2",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuMemHostAlloc",
    "cuMemFreeHost",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuStreamCreate",
    "cuStreamSynchronize",
    "cuStreamDestroy_v2",
    "cuEventCreate",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuEventElapsedTime",
    "cuEventDestroy_v2",
    "cuModuleLoadData",
    "cuModuleGetFunction",
    "cuModuleUnload",
    "cuLaunchKernel",
];

/// The oldest compute capability that the kernels run on: lanes of a warp that go on independently.
pub(super) const OLDEST: (u32, u32) = (7, 0);

/// What is known about a device.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeviceInfo {
    /// The driver's number for it.
    pub ordinal: usize,
    /// What the driver calls it.
    pub name: String,
    /// Major and minor.
    pub compute_capability: (u32, u32),
    /// All of its memory.
    pub total_bytes: usize,
    /// What no process uses, when asked.
    pub free_bytes: usize,
    /// The CUDA version of the driver: 12090 is 12.9.
    pub driver_version: u32,
    /// Streaming multiprocessors.
    pub n_multiprocessors: u32,
    /// Their clock.
    pub clock_khz: u32,
    /// The clock of the memory.
    pub memory_clock_khz: u32,
    /// The width of the path to the memory.
    pub bus_width_bits: u32,
    /// The second-level cache.
    pub l2_bytes: u32,
    /// Whether memory comes from the driver's stream-ordered pool.
    pub has_pools: bool,
}

impl DeviceInfo {
    /// What the memory can give, by its clock and its width: two transfers a cycle.
    #[cfg(test)]
    pub fn memory_bytes_per_second(&self) -> f64 {
        2.0 * f64::from(self.memory_clock_khz) * 1e3 * f64::from(self.bus_width_bits) / 8.0
    }
}

/// Starts the driver, and says what devices it has.
pub(super) fn start() -> Result<Vec<DeviceInfo>, Unavailable> {
    if !has_library() {
        return Err(Unavailable::NoDriver);
    }
    catch_unwind(AssertUnwindSafe(|| {
        if let Some(missing) = FUNCTIONS.iter().find(|name| !has_symbol(name)) {
            return Err(Unavailable::DriverTooOld { missing });
        }
        match result::init() {
            Ok(()) => {}
            Err(DriverError(CUresult::CUDA_ERROR_NO_DEVICE)) => return Err(Unavailable::NoDevice),
            Err(error) => return Err(Unavailable::DriverFails(describe("starting it", error))),
        }
        devices().map_err(|error| Unavailable::DriverFails(describe("asking for devices", error)))
    }))
    .unwrap_or_else(|_| Err(Unavailable::DriverFails("its library does not fit this program".to_string())))
    .and_then(|devices| if devices.is_empty() { Err(Unavailable::NoDevice) } else { Ok(devices) })
}

fn devices() -> Result<Vec<DeviceInfo>, DriverError> {
    use CUdevice_attribute::*;
    let driver_version = driver_version()?;
    let n_devices = result::device::get_count()?;
    let mut devices = vec![];
    for ordinal in 0..n_devices {
        let device = result::device::get(ordinal)?;
        let ask = |which| attribute(device, which).unwrap_or(0);
        let total_bytes = total_bytes(device)?;
        devices.push(DeviceInfo {
            ordinal: ordinal as usize,
            name: result::device::get_name(device)?,
            compute_capability: (
                ask(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                ask(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
            ),
            total_bytes,
            free_bytes: total_bytes,
            driver_version,
            n_multiprocessors: ask(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
            clock_khz: ask(CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
            memory_clock_khz: ask(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE),
            bus_width_bits: ask(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH),
            l2_bytes: ask(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE),
            has_pools: ask(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) == 1,
        });
    }
    Ok(devices)
}

/// The devices that can run the kernels: at least `n_asked`.
pub(super) fn choose(devices: Vec<DeviceInfo>, n_asked: Option<usize>) -> Result<Vec<DeviceInfo>, Unavailable> {
    if n_asked == Some(0) {
        return Err(Unavailable::BadOption("0 GPUs were asked for".to_string()));
    }
    let first = devices.first().cloned().ok_or(Unavailable::NoDevice)?;
    let usable: Vec<DeviceInfo> = devices.into_iter().filter(|device| device.compute_capability >= OLDEST).collect();
    if usable.is_empty() {
        let DeviceInfo { name, compute_capability, .. } = first;
        return Err(Unavailable::DeviceTooOld { name, compute_capability });
    }
    match n_asked {
        Some(asked) if asked > usable.len() => Err(Unavailable::TooFewDevices { asked, found: usable.len() }),
        _ => Ok(usable),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn device(ordinal: usize, compute_capability: (u32, u32)) -> DeviceInfo {
        DeviceInfo { ordinal, name: format!("GPU {ordinal}"), compute_capability, ..DeviceInfo::default() }
    }

    #[test]
    fn finds_the_devices_that_can_run_the_kernels() {
        let devices = vec![device(0, (6, 1)), device(1, (7, 0)), device(2, (9, 0))];
        let ordinals = |chosen: Vec<DeviceInfo>| chosen.iter().map(|device| device.ordinal).collect::<Vec<_>>();
        assert_eq!(ordinals(choose(devices.clone(), None).unwrap()), [1, 2]);
        assert_eq!(ordinals(choose(devices.clone(), Some(2)).unwrap()), [1, 2]);
        assert_eq!(choose(devices.clone(), Some(3)), Err(Unavailable::TooFewDevices { asked: 3, found: 2 }));
        assert_eq!(
            choose(devices[..1].to_vec(), None),
            Err(Unavailable::DeviceTooOld { name: "GPU 0".into(), compute_capability: (6, 1) })
        );
        assert_eq!(choose(vec![], None), Err(Unavailable::NoDevice));
        assert!(matches!(choose(devices, Some(0)), Err(Unavailable::BadOption(_))));
    }

    #[test]
    fn memory_bandwidth_follows_from_clock_and_width() {
        // An A100's data sheet says 1555 GB/s.
        let a100 = DeviceInfo { memory_clock_khz: 1_215_000, bus_width_bits: 5120, ..DeviceInfo::default() };
        assert_eq!(a100.memory_bytes_per_second().round(), 1_555.2e9);
    }
}
