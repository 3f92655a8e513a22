//! Rows on a GPU: copied in, worked on, copied back.
//!
//! ```text
//! ToBackendExec: cpu ← gpu       the results, and which rule dropped which row
//!   DeviceExec: words(text) > 9  one kernel for the whole chain of operators
//!     ToBackendExec: gpu ← cpu   the columns that the chain reads, packed, in one copy
//! ```
//! A batch is one allocation, one copy in, one launch, one copy back, all put into one stream of the device without
//! waiting; several batches are under way at once, so that the copies of one overlap the kernels of another
//! (`stream.rs`). Columns that no kernel reads stay on the host, and the rows that are left are grouped there.
//!
//! Invariant: every row that comes in goes out or is dropped by a rule, whatever the device does: a batch that does not
//! fit waits, is halved, and at last runs on the CPU (`ladder.rs`), which computes the same values.
//! Not here: which operators go to a device (`physical::place`), kernels and memory (`gpu`).

mod counts;
mod engine;
mod groups;
mod ladder;
mod node;
mod segment;
mod sizing;
mod stream;
mod transfer;

pub use engine::{Engine, share_of_device};
pub use groups::{GroupStates, State};
pub use node::DeviceExec;
pub use segment::{MEMORY_UNIT_BYTES, Segment};
pub use sizing::Sizing;
pub use transfer::ToBackendExec;
