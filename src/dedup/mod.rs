//! Deduplication over keys: which rows belong together, which of them stays, and what is cut out of a text.
//!
//! ```text
//! keys of rows ──groups──► pairs ──components──► clusters ──survivors──► the decision of each row
//!                    └──near_kept──► who stays, and who belongs to whom ──────┘
//! ```
//! Algorithms on numbers and texts: rows are counted from 0 in input order, also where they come in partitions
//! (`numbering.rs`); memory and temporary files come from a
//! [`Budget`], and results do not depend on threads, batches or the budget.
//! Not here: plans, streams and files of documents (`exec::dedup`), signatures of texts (`ops::dedup`).

mod bits;
mod budget;
mod byte_log;
mod claim;
mod components;
mod contraction;
mod decontaminate;
mod groups;
pub mod index;
mod memory;
mod near_kept;
mod numbering;
mod pairs;
mod preference;
mod row_store;
mod semantic;
mod shared_groups;
mod sorted;
mod spans;
mod spec;
mod spill_file;
mod survivors;
#[cfg(test)]
mod tests;
mod threads;
mod word_log;

pub use budget::{Budget, FixedBudget};
pub use components::Components;
pub use decontaminate::{
    CutMatcher, CutMatcherBuilder, Cutting, DropMatcher, DropMatcherBuilder, TaskNgrams, TaskReport,
};
pub use groups::Groups;
pub use memory::{exact_memory_bytes, fuzzy_memory_bytes};
pub use near_kept::{Belongings, SharedKeys};
pub use numbering::{Numbering, Positions, packed};
pub use pairs::Candidates;
#[cfg(test)]
pub use pairs::PairCounts;
#[cfg(test)]
pub use pairs::star_and_chain;
pub use preference::Preference;
pub use row_store::{RowStore, StoredRows};
pub use semantic::{
    Comparers, Ranking as SemanticRanking, SemanticDedup, SemanticDuplicate, SemanticOutcome, VectorPartition,
};
pub use shared_groups::{Adder, SharedGroups};
pub use sorted::Sorted;
pub use spans::{LineFinder, Outcome, SpanFinder, SubstringFinder, TextPartition, TooLittle, cut_text};
pub use spec::{
    Against, AgainstMode, Decontaminate, DecontaminateMode, Exact, ExtraColumn, Fuzzy, Keep, KeepWhich, Lines,
    LinesUnit, Link, Method, Semantic, SemanticKeep, SemanticLink, SpanLength, Substring,
};
pub use survivors::{Chooser, Decision, DecisionReader, Kept, Survivors};
