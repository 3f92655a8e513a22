//! The driver's half of the stand-in: devices, memory, streams, modules, and the C functions that programs call.
//!
//! ```text
//! program ──▶ abi/ (C functions) ──▶ Driver (state.rs) ──▶ streams.rs: queues ──▶ work.rs ──▶ memory, ptx::run
//! ```
//!
//! Invariant: all state is in one [`Driver`] behind one lock, so that a run is repeatable; work runs on the thread that
//! waits for it. `abi` holds the only one that programs reach; tests make their own.
//! Not here: what a kernel does (`crate::ptx`), and bounds and races (`crate::memory`).

pub mod abi;
mod attributes;
mod counters;
mod device;
mod events;
mod graphs;
mod inject;
mod modules;
mod settings;
mod state;
mod status;
mod streams;
mod transfers;
mod work;

pub use attributes::DEVICE_NAME;
pub use counters::Counters;
pub use device::{Device, Owner};
pub use graphs::CaptureStatus;
pub use inject::Injection;
pub use modules::Shape;
pub use settings::Settings;
pub use state::{Driver, Handle, Pinned};
pub use status::Status;
pub use work::{HostRange, Work};

#[cfg(test)]
mod tests;
