//! The verbs that look at all rows together, one folder each.
//!
//! A folder holds everything of its verb: reading and binding ([`Room`]), what stands in the plan ([`Verb`]), what runs
//! ([`SetOperator`]), what EXPLAIN says, and tests. Outside of it the verb has a rule in the grammar, a line in [`ROOMS`], and
//! its place in the docs; rules, EXPLAIN and the funnel know verbs by their answers alone.
//!
//! [`Verb`]: crate::verb::Verb
//! [`SetOperator`]: crate::verb::SetOperator

mod assert;
mod budget;
mod call;
pub mod decontaminate;
pub mod dedup;
mod documents;
mod repeat;
mod replay;
mod row_keys;
pub mod sample;
mod shuffle;
mod split;
mod working;
pub mod write;

use crate::logical::{Room, Rooms};

/// Every verb.
pub const ROOMS: Rooms = &[
    &sample::SampleRoom,
    &shuffle::ShuffleRoom,
    &split::SplitRoom,
    &repeat::RepeatRoom,
    &assert::AssertRoom,
    &dedup::DedupRoom,
    &decontaminate::DecontaminateRoom,
    &write::IntoRoom,
];

/// The functions after `FROM` by which SQL calls verbs.
pub fn table_functions() -> impl Iterator<Item = &'static str> {
    ROOMS.iter().flat_map(|room: &&dyn Room| room.table_functions()).copied()
}
