//! The tree to DataFusion's logical plan (`bind`).

mod functions;
