//! What things cost: profiles and estimates. Every number has its unit in its name.
//!
//! Now: the price of a condition for each row, to run cheap ones first. The prices need to be right in their order
//! of size only; a wrong one costs time and never changes a result.

mod expressions;

pub use expressions::{FunctionPrice, FunctionPrices, can_fail, ns_per_row};
