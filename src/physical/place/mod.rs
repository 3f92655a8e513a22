//! Chooses CPU or GPU for each operator.
//!
//! The plan is a tree of items in the order of the data. Neighbours on the GPU form a *segment*: it pays, for each batch,
//! one copy in, one launch and one copy back, and for its rows the bytes that cross over and the time of its kernels.
//!
//! ```text
//! scan ─► pass over text ─► words > 50 ─► compression_ratio ─► n-grams ─► output
//! cpu     gpu ·············· gpu           cpu                  gpu
//!       └ copy in: text    ┘└ copy back: words, which rows     └ copy in: text of the rows that are left
//! ```
//! **Why the answer is exact.** A segment's cost depends on its first and its last item alone:
//! - copied in is each column that an item of it reads and none of it makes, at the rows alive before its first item;
//! - copied back is each column made in it that any item outside of it, or the output, reads: a batch leaves the device
//!   when its segment ends, so it does not matter on which side the later readers are;
//! - the size of its batches follows from these bytes and from the scratch of its items.
//!
//! So the state of an open segment is where it began, and nothing more: which columns are on the device follows from
//! that. An item with several inputs, or whose rows go to several places, is where the tree falls apart into chains;
//! no segment crosses such a place, so the costs of chains add up and each is solved alone. On a chain of n items the
//! cheapest placement that ends on the CPU after each item is found from those of earlier items and the n² segments.
//!
//! Invariant: every item leaves here with a side and a reason a user can read. Of equally expensive placements, the one with
//! the fewest items on the GPU is taken.
//! Not here: making a problem of a plan and a plan of the answer, and what sizes batches (`size.rs`).

mod answer;
mod exact;
mod explain;
mod problem;
mod segment;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

pub use answer::{Placement, Segment, place};
pub use explain::{copy_back_line, item_line, segment_lines};
pub use problem::{Column, Item, Machine, OnGpu, Problem, Side};
