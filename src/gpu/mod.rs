//! The GPU: finding one, its memory, kernels made from chains of operators, launching them.
//!
//! ```text
//! Program ──► source (codegen) ──► compiled once (Device::load) ──┐
//!    └──────► Layout of a batch ──► one copy in (Device::upload) ──► launches ──► one copy back ──► Results
//! ```
//! Knows Arrow columns and operators, and no plans: what runs here was decided by `physical`.
//! Invariant: without a driver, a device or NVRTC the answer is a reason, never a panic.

mod batch;
mod cache;
mod codegen;
mod compile;
mod device;
mod driver;
mod error;
mod flight;
mod groups;
mod layout;
mod memory;
mod nvrtc;
mod options;
mod pack;
mod precompiled;
mod primitives;
mod probe;
mod program;
mod readings;
mod runtime;
mod singles;
mod sources;
mod steps;
mod task;
#[cfg(test)]
pub(crate) mod tests;
mod unpack;
mod vectors;

pub use batch::DeviceBatch;
pub use codegen::{FUSED_ENTRY, THREADS_PER_BLOCK};
pub use compile::Compiler;
pub use device::{Device, Loaded};
pub use error::{GpuError, Unavailable};
pub use flight::DeviceSeconds;
pub use groups::{Fold, Folded, Group, Grouping, Groups, ordered};
pub use layout::Layout;
pub use memory::MemoryUse;
pub use nvrtc::Form;
pub use options::OptionBlock;
pub use pack::text_bytes;
pub use precompiled::Precompiled;
pub use primitives::Primitive;
pub use probe::DeviceInfo;
pub use program::{Program, Scalar, Type, Value, ValueId};
pub use runtime::{Runtime, RuntimeOptions};
#[cfg(test)]
pub use singles::single_kernels;
pub use sources::flatten;
pub use steps::Mode;
pub use unpack::Results;
pub use vectors::{Bounds, ComparisonCounts, NearestCentres, Others, Similar, most_similar, nearest};
