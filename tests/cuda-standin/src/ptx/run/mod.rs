//! Runs launches: blocks in order, warps in turns, lanes in groups.
//!
//! Invariant: the order is fixed by the launch alone; with a seed, blocks and warps come in another, equally fixed order.

mod access;
mod barrier;
mod exchange;
mod execute;
mod launch;
mod machine;
mod warp;

pub use launch::{Checks, Counts, Launch, run};

/// Where generic addresses of shared memory begin. Global memory is above all windows.
pub const SHARED_WINDOW: u64 = 0x0100_0000;
/// Where generic addresses of a thread's frame begin.
pub const LOCAL_WINDOW: u64 = 0x0200_0000;
/// Where generic addresses of the kernel's parameters begin.
pub const PARAM_WINDOW: u64 = 0x0300_0000;
/// The size of each window.
const WINDOW_BYTES: u64 = 0x0100_0000;
