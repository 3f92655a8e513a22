//! The nodes that DataFusion's plan does not have. A closed set: operators join the registry instead, and rules ask
//! for these by type.
//!
//! Invariant: no filter, limit or unused-column rule crosses a node here unless the node says that it may.

mod decontaminate;
mod dedup;
mod order;
mod sample;
mod screen;
mod write;

pub use decontaminate::{Decontaminate, DecontaminateRequest};
pub use dedup::{Dedup, DedupRequest, extra_type};
pub use order::SortColumn;
pub use sample::{Percent, Sample, SampleAmount};
pub use screen::Screen;
pub use write::Write;

use datafusion::error::Result;
use datafusion::logical_expr::LogicalPlan;

/// The one input that an optimizer rule hands back to a node.
fn only_input(name: &str, inputs: Vec<LogicalPlan>) -> Result<LogicalPlan> {
    let n_inputs = inputs.len();
    match <[LogicalPlan; 1]>::try_from(inputs) {
        Ok([input]) => Ok(input),
        Err(_) => Err(crate::bug!("{name} takes one input, a rule gave it {n_inputs}").into()),
    }
}
