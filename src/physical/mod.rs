//! The logical plan's extension nodes to executors, and our rules over the physical plan.
