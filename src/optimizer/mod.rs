//! Our rules over the logical plan; each file is named as EXPLAIN names it.

mod filter_before_dedup;
mod flatten_aliases;
mod guard_failing_conditions;
mod keep_dropped;
mod keep_input_order;

pub use filter_before_dedup::FilterBeforeDedup;
pub use flatten_aliases::FlattenAliases;
pub use guard_failing_conditions::{GuardFailingConditions, unmarked};
pub use keep_dropped::KeepDropped;
pub use keep_input_order::KeepInputOrder;
