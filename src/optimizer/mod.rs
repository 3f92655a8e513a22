//! Our rules over the logical plan; each file is named as EXPLAIN names it.

mod guard_failing_conditions;
mod keep_input_order;

pub use guard_failing_conditions::{GuardFailingConditions, unmarked};
pub use keep_input_order::KeepInputOrder;
