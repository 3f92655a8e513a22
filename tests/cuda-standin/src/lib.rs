//! A `libcuda` for machines without a GPU: the functions of CUDA's driver, on a PTX interpreter.
//!
//! Programs load it in place of NVIDIA's driver and run unchanged, slowly, and under checks that no GPU makes: every
//! access is bounded to the byte, races and reads of what was never written are found, memory is as small as a test
//! wants it, and any allocation, copy, launch or the whole device can be made to fail. See the README for the settings.
//!
//! It is for tests only, and says so: the device is called "curator stand-in (no GPU)".

pub mod driver;
pub mod memory;
mod os;
pub mod ptx;
