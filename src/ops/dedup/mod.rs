//! Finding equal documents. One file an operator; each is listed here. The `DEDUP` verb is not a row function: it
//! lives in the planner.

mod content_hash;

use super::spec::OpSpec;

pub(super) static OPERATORS: &[&OpSpec] = &[&content_hash::SPEC];
