//! What can go wrong with a GPU, sorted by what the caller can do about it.
//!
//! [`Unavailable`] is said once, when the runtime is opened; [`GpuError`] by everything afterwards.
//! Not here: what is done about it (`exec`).

use cudarc::driver::{DriverError, sys::CUresult};
use thiserror::Error;

/// Why there is no GPU to work with: one line for a user.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Unavailable {
    /// The driver's library is not there.
    #[error("no NVIDIA driver: `libcuda.so.1` was not found")]
    NoDriver,
    /// The driver does not have a function that is needed.
    #[error("the NVIDIA driver is too old: it has no `{missing}`; version 450 (CUDA 11.0) or newer is needed")]
    DriverTooOld {
        /// The first function that is missing.
        missing: &'static str,
    },
    /// The driver is there and does not start.
    #[error("the NVIDIA driver does not start: {0}")]
    DriverFails(String),
    /// There is a driver and no device, or none that may be seen.
    #[error("the NVIDIA driver finds no GPU (is CUDA_VISIBLE_DEVICES set?)")]
    NoDevice,
    /// No device can run the kernels.
    #[error("{name} has compute capability {}.{}: 7.0 or newer is needed", .compute_capability.0, .compute_capability.1)]
    DeviceTooOld {
        /// What the driver calls the first such device.
        name: String,
        /// Major and minor.
        compute_capability: (u32, u32),
    },
    /// More devices were asked for than there are.
    #[error("{asked} GPUs were asked for and {found} can be used")]
    TooFewDevices {
        /// How many were asked for.
        asked: usize,
        /// How many there are.
        found: usize,
    },
    /// A device is there and does not open.
    #[error("{name} does not open: {why}")]
    DeviceFails {
        /// What the driver calls it.
        name: String,
        /// What the driver says.
        why: String,
    },
    /// An option makes no sense.
    #[error("{0}")]
    BadOption(String),
}

/// What went wrong with one call.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GpuError {
    /// The batch does not fit now: it may later, or in halves.
    #[error(
        "the GPU has no room for {needed_bytes} bytes: {in_use_bytes} of the {limit_bytes} that may be used are in use"
    )]
    OutOfMemory {
        /// What was asked for.
        needed_bytes: usize,
        /// What may be used in all.
        limit_bytes: usize,
        /// What was in use.
        in_use_bytes: usize,
    },
    /// The kernel does not compile, or the driver does not take it.
    #[error("the kernel cannot be made: {0}")]
    Compile(String),
    /// The device or its context is unusable: nothing on it will work any more.
    #[error("the GPU failed: {0}")]
    Lost(String),
    /// This call was refused; others may work.
    #[error("the GPU refused: {0}")]
    Refused(String),
}

/// Whether an error of the driver is for one call only.
pub(super) fn is_lost(error: DriverError) -> bool {
    use CUresult::*;
    // After these every call in the context gives the same error until the process ends, as the driver's manual says
    // of each, or the device is gone.
    matches!(
        error.0,
        CUDA_ERROR_DEINITIALIZED
            | CUDA_ERROR_NOT_INITIALIZED
            | CUDA_ERROR_NO_DEVICE
            | CUDA_ERROR_DEVICE_UNAVAILABLE
            | CUDA_ERROR_INVALID_CONTEXT
            | CUDA_ERROR_ECC_UNCORRECTABLE
            | CUDA_ERROR_NVLINK_UNCORRECTABLE
            | CUDA_ERROR_ILLEGAL_ADDRESS
            | CUDA_ERROR_LAUNCH_TIMEOUT
            | CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE
            | CUDA_ERROR_CONTEXT_IS_DESTROYED
            | CUDA_ERROR_ASSERT
            | CUDA_ERROR_HARDWARE_STACK_ERROR
            | CUDA_ERROR_ILLEGAL_INSTRUCTION
            | CUDA_ERROR_MISALIGNED_ADDRESS
            | CUDA_ERROR_INVALID_ADDRESS_SPACE
            | CUDA_ERROR_INVALID_PC
            | CUDA_ERROR_LAUNCH_FAILED
            | CUDA_ERROR_SYSTEM_NOT_READY
            | CUDA_ERROR_EXTERNAL_DEVICE
            | CUDA_ERROR_UNKNOWN
    )
}

/// Whether the driver could not find the memory.
pub(super) fn is_out_of_memory(error: DriverError) -> bool {
    error.0 == CUresult::CUDA_ERROR_OUT_OF_MEMORY
}

/// The driver's error in words: what was tried, the driver's sentence, and its name for it.
pub(super) fn describe(what: &str, error: DriverError) -> String {
    let name = format!("{:?}", error.0);
    match error.error_string() {
        Ok(sentence) => format!("{what}: {} ({name})", sentence.to_string_lossy()),
        Err(_) => format!("{what}: {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_in_one_line_why_there_is_no_gpu() {
        for (why, line) in [
            (Unavailable::NoDriver, "no NVIDIA driver: `libcuda.so.1` was not found"),
            (
                Unavailable::DriverTooOld { missing: "cuMemAllocAsync" },
                "the NVIDIA driver is too old: it has no `cuMemAllocAsync`; version 450 (CUDA 11.0) or newer is needed",
            ),
            (
                Unavailable::DeviceTooOld { name: "Tesla P100".into(), compute_capability: (6, 0) },
                "Tesla P100 has compute capability 6.0: 7.0 or newer is needed",
            ),
            (
                Unavailable::DeviceFails { name: "Tesla T4".into(), why: "it is busy".into() },
                "Tesla T4 does not open: it is busy",
            ),
            (Unavailable::TooFewDevices { asked: 4, found: 2 }, "4 GPUs were asked for and 2 can be used"),
        ] {
            assert_eq!(why.to_string(), line);
            assert!(!line.contains('\n'));
        }
    }

    #[test]
    fn a_failed_launch_loses_the_device_and_a_refused_one_does_not() {
        assert!(is_lost(DriverError(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS)));
        assert!(is_lost(DriverError(CUresult::CUDA_ERROR_LAUNCH_FAILED)));
        assert!(!is_lost(DriverError(CUresult::CUDA_ERROR_INVALID_VALUE)));
        assert!(!is_lost(DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY)));
        assert!(is_out_of_memory(DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY)));
    }
}
