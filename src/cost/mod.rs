//! What things cost: profiles and estimates. Every number has its unit in its name.
//!
//! `expressions.rs` prices a condition for each row, to run cheap ones first, `pass.rs` statistics that are computed
//! together. `profile.rs` describes machines, `device.rs`
//! says what work costs on them, and `reason.rs` why something runs on one side or the other.
//! Prices need to be right in their order of size only; a wrong one costs time and never changes a result.

mod calibrate;
mod device;
mod expressions;
mod pass;
mod profile;
mod reason;
mod shipped;

pub use calibrate::{Measured, Sample};
pub use device::{GpuWork, RowEstimate, TEXT_BYTES_PER_ROW, format_seconds, gpu_seconds, walk_instructions_per_byte};
pub use expressions::{FunctionPrice, FunctionPrices, can_fail, ns_per_row};
pub use pass::{in_pass_ns_per_row, pass_ns_per_row};
pub use profile::{Cpu, Device, Link, ProbedDevice, Profile};
pub use reason::{Reason, ReasonCode};
