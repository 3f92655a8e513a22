//! From the optimized plan to executors.
//!
//! `state.rs` sets DataFusion up with our functions, rules and limits; `lower.rs` turns our plan nodes into
//! executors; `rule_by_rule.rs` shows how; `items.rs` and `pieces.rs` take a program apart; every other file is a rule over the physical plan, named as EXPLAIN names it.
//!
//! `place/` chooses CPU or GPU for each operator and `size.rs` how many rows go to the device at once; both compute with
//! numbers alone and know no plans.

mod batch_models;
mod checkpoint_splits;
mod device_program;
mod fence_sorts;
mod gather_in_order;
mod hardware;
mod items;
mod join_beyond_memory;
mod lower;
mod one_pass;
mod pieces;
mod place;
mod place_operators;
mod replay_rows;
mod rule_by_rule;
mod separate_projections;
mod size;
mod sort_beyond_memory;
mod spill_files;
mod split_guards;
mod state;
#[cfg(test)]
mod tests;
mod transfer;
mod yield_in_joins;

pub use batch_models::BatchModels;
pub use checkpoint_splits::CheckpointSplits;
pub use fence_sorts::FenceSorts;
pub use gather_in_order::GatherInOrder;
pub use hardware::Hardware;
pub use join_beyond_memory::JoinBeyondMemory;
pub use lower::{WriteTarget, write_of};
pub use one_pass::{OnePass, rule_labels};
pub use place_operators::PlaceOperators;
pub use replay_rows::ReplayRows;
pub use rule_by_rule::plan_rule_by_rule;
pub use separate_projections::SeparateProjections;
pub use sort_beyond_memory::SortBeyondMemory;
pub use split_guards::SplitGuards;
pub use state::{catalog_tables, model_setting, separate, session_state, session_state_from};
pub use yield_in_joins::YieldInJoins;
