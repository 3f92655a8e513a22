//! The logical plan's extension nodes to executors, and our rules over the physical plan.

mod split_filters;

pub use split_filters::SplitFilters;
