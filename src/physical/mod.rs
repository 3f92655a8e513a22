//! From the optimized plan to executors.
//!
//! `state.rs` sets DataFusion up with our functions, rules and limits; `lower.rs` turns our plan nodes into
//! executors; every other file is a rule over the physical plan, named as EXPLAIN names it.
//!
//! Room is kept here for the passes that put operators on devices: place, fuse, transfer, size — one file each,
//! run where `OnePass` runs.

mod lower;
mod one_pass;
mod state;
#[cfg(test)]
mod tests;
mod yield_in_joins;

pub use lower::write_of;
pub use one_pass::OnePass;
pub use state::{catalog_tables, separate, session_state, session_state_from};
pub use yield_in_joins::YieldInJoins;
