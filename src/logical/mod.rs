//! The tree to DataFusion's logical plan (`bind`).

pub mod nodes;
