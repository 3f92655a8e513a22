//! The persistent index behind `DEDUP … AGAINST INDEX`: keys or vectors of documents that were seen before.
//!
//! ```text
//! folder/index.json              what belongs to the index, and how its keys were made
//!        segment-000001.records  keys in ascending order, each with the ordinal of a document
//!        segment-000001.vectors  in place of keys: vectors by cluster
//!        segment-000001.centres  the centres of the clusters; once in an index
//!        segment-000001.names    the documents' names, by ordinal
//!        lock                    held by who changes the index
//! ```
//! Documents are numbered in the order they were added, over all appends. Segments are written once; a new manifest
//! brings new ones in, all at once. docs/index-format.md states every byte.
//! Invariant: at every moment the folder holds the index as it was before or after a change, whatever is cut short.
//! Not here: what a run asks of the index and gives to it (`exec::dedup`), the subcommand (`cli::index`).

mod append;
mod block_file;
mod info;
mod maintain;
mod manifest;
mod names;
mod new_keys;
mod parameters;
mod publish;
mod reader;
mod records;
mod vectors;
mod verify;

#[cfg(test)]
mod tests;

pub use append::{Appender, IndexWriter, StagedAppend};
pub use info::{IndexInfo, info};
pub use maintain::{compact, merge, rollback};
pub use new_keys::NewKeys;
pub use parameters::IndexParameters;
pub use reader::{Index, IndexCursor, IndexNames};
pub use vectors::{IndexCentres, IndexVectors};
pub use verify::{Verification, verify};
