//! Our rules over the logical plan; each file is named as EXPLAIN names it.

mod keep_input_order;

pub use keep_input_order::{KeepInputOrder, PositionHook, SEQ_COLUMN};
