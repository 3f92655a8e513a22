//! Our rules over the logical plan; each file is named as EXPLAIN names it.

mod can_fail;
mod compute_in_turn;
mod filter_before_dedup;
mod flatten_aliases;
mod guard_failing_conditions;
mod join_column_subqueries;
mod keep_above_totals;
mod keep_dropped;
mod keep_input_order;
mod keep_sort_keys;
mod keep_source_lines;
mod name_outer_columns;
mod nothing_under_nulls;
mod project_model_calls;
mod retype_outer_columns;

pub use can_fail::{cast_never_fails, holds_text};
pub use compute_in_turn::ComputeInTurn;
pub use filter_before_dedup::FilterBeforeDedup;
pub use flatten_aliases::FlattenAliases;
pub use guard_failing_conditions::{FENCED, GuardFailingConditions, is_marked_condition, unmarked};
pub use join_column_subqueries::JoinColumnSubqueries;
pub use keep_above_totals::KeepAboveTotals;
pub use keep_dropped::KeepDropped;
pub use keep_input_order::KeepInputOrder;
pub use keep_sort_keys::KeepSortKeys;
pub use keep_source_lines::KeepSourceLines;
pub use name_outer_columns::NameOuterColumns;
pub use nothing_under_nulls::NothingUnderNulls;
pub use project_model_calls::ProjectModelCalls;
pub use retype_outer_columns::RetypeOuterColumns;
