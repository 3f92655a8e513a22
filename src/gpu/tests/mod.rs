//! What can be said about programs, their kernels and their slabs without a device.

#![allow(clippy::unwrap_used)]

mod kernels;
pub(crate) mod on_cpu;
pub(crate) mod random;
mod slabs;
