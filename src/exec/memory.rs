//! What a plan holds in memory at most: the arithmetic that EXPLAIN shows, and that a run begins with.
//!
//! ```text
//! buffers   FileScanExec, AnnotateExec, WriteExec: so many pieces, each of a size that settings name ──► set aside
//! claims    GatherExec, sorts, groups, joins, DEDUP: from what is left; past it they wait, or lie on disk
//! ─────────────────────────────────────────────────────────────────────────────────────────────── memory_limit
//! beside    the program, its threads, what a library holds for a moment: [`BESIDE_BYTES`]
//! ```
//! Invariant: buffers and claims together are the limit, unless buffers alone are more than half of it; a plan whose
//! buffers do not fit at all is refused before it starts.
//! Not here: how operators claim (DataFusion's pool), and what a single long document takes beyond a batch's size.

use super::annotate::AnnotateExec;
use super::estimate::file_bytes;
use super::explain::ExplainFormat;
use super::gather::GatherExec;
use super::{DeviceExec, ExternalSortExec, ModelExec};
use crate::config::format_bytes;
use crate::sources::FileScanExec;
use crate::verb::{BufferSizes, VerbExec};
use crate::{Config, Error, Result};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use std::fmt::Write;
use std::sync::Arc;

/// What a process takes beside the limit: its code and tables, stacks, what allocators keep, and what nobody counts because it
/// is there for a moment only.
pub const BESIDE_BYTES: usize = 200_000_000;

/// A batch that is worked on, and what is made of it.
const BATCHES_AT_WORK: usize = 2;

/// What a plan holds. See the module's text.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct MemoryPlan {
    /// `None`: there is none.
    limit_bytes: Option<usize>,
    /// Whether a setting says so, and not what is free.
    is_set: bool,
    n_threads: usize,
    /// From the output to the sources.
    buffers: Vec<Part>,
    claims: Vec<Part>,
}

/// What one node holds.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
struct Part {
    node: String,
    n_bytes: usize,
    how: String,
}

impl MemoryPlan {
    /// The arithmetic of a plan whose operators may claim `limit_bytes` together.
    pub fn of(plan: &dyn ExecutionPlan, config: &Config, limit_bytes: Option<usize>) -> Self {
        let is_set = config.memory_limit_bytes.is_some();
        let sizes = BufferSizes { batch_bytes: config.batch_bytes.get(), n_threads: config.threads.get(), limit_bytes };
        let n_threads = sizes.n_threads;
        let mut made = Self { limit_bytes, is_set, n_threads, buffers: vec![], claims: vec![] };
        made.add(plan, sizes);
        made
    }

    fn add(&mut self, plan: &dyn ExecutionPlan, sizes: BufferSizes) {
        let n_partitions = plan.output_partitioning().partition_count();
        let partitions = counted(n_partitions, "partition");
        if let Some(scan) = plan.downcast_ref::<FileScanExec>() {
            let blocks = scan.buffers();
            let (n_blocks, block) = (blocks.n_blocks, format_bytes(blocks.block_bytes));
            let mut how = format!("{partitions} × {n_blocks} blocks of {block}");
            if blocks.window_bytes > 0 {
                let _ = write!(how, " and {} to unpack with", format_bytes(blocks.window_bytes));
            }
            let each = n_blocks.saturating_mul(blocks.block_bytes).saturating_add(blocks.window_bytes);
            self.buffer(format!("FileScanExec '{}'", scan.table().location()), n_partitions.saturating_mul(each), how);
        } else if plan.is::<AnnotateExec>() || plan.is::<DeviceExec>() {
            let n_bytes = n_partitions.saturating_mul(BATCHES_AT_WORK).saturating_mul(sizes.batch_bytes);
            let how = format!("{partitions} × {BATCHES_AT_WORK} batches of {}", format_bytes(sizes.batch_bytes));
            self.buffer(plan.name().to_string(), n_bytes, how);
        } else if let Some(model) = plan.downcast_ref::<ModelExec>() {
            let n_bytes = n_partitions.saturating_mul(BATCHES_AT_WORK).saturating_mul(model.batch_bytes());
            let how = format!("{partitions} × {BATCHES_AT_WORK} batches of {}", format_bytes(model.batch_bytes()));
            self.buffer(plan.name().to_string(), n_bytes, how);
            self.claim(plan, model.held_bytes(), "what its models hold, which cannot go to disk");
        } else if let Some(gather) = plan.downcast_ref::<GatherExec>() {
            let how = "rows whose turn has not come; past it their partitions wait";
            self.claim(plan, gather.ahead_bytes(), how);
        } else if let Some(verb) = plan.downcast_ref::<VerbExec>() {
            match verb.operator().buffers(sizes) {
                Some((n_bytes, how)) => {
                    self.buffer(format!("{} {}", plan.name(), verb.operator().details()), n_bytes, how)
                }
                None if verb.operator().n_replays() > 0 => {
                    self.claim(plan, below(plan), "rows and their keys; past its share on disk, or read again");
                }
                None => {}
            }
        } else if plan.is::<ExternalSortExec>() || plan.is::<SortExec>() {
            self.claim(plan, below(plan), "rows; past its share on disk");
        } else if plan.is::<AggregateExec>() {
            self.claim(plan, below(plan), "groups, if each row is one; past its share on disk");
        } else if plan.is::<SortMergeJoinExec>() {
            self.claim(plan, sizes.batch_bytes, "rows of one key; past its share on disk");
        } else if plan.is::<HashJoinExec>() || plan.is::<NestedLoopJoinExec>() || plan.is::<CrossJoinExec>() {
            let built = plan.children().first().map_or(0, |side| below(side.as_ref()));
            self.claim(plan, built, "rows of the first side, which cannot go to disk");
        } else if plan.is::<WindowAggExec>() || plan.is::<BoundedWindowAggExec>() {
            self.claim(plan, sizes.batch_bytes, "rows of a window, which cannot go to disk");
        }
        for child in plan.children() {
            self.add(child.as_ref(), sizes);
        }
    }

    fn buffer(&mut self, node: String, n_bytes: usize, how: String) {
        self.buffers.push(Part { node, n_bytes, how });
    }

    fn claim(&mut self, plan: &dyn ExecutionPlan, n_bytes: usize, how: &str) {
        self.claims.push(Part { node: plan.name().to_string(), n_bytes, how: how.to_string() });
    }

    /// What its buffers take together.
    fn buffer_bytes(&self) -> usize {
        self.buffers.iter().fold(0, |sum, part| sum.saturating_add(part.n_bytes))
    }

    /// What of it is taken from the limit.
    fn set_aside_bytes(&self) -> usize {
        self.limit_bytes.map_or(0, |limit| self.buffer_bytes().min(limit / 2))
    }

    /// What is expected to be held at most.
    fn expected_bytes(&self) -> usize {
        let wanted = self.claims.iter().fold(0, |sum: usize, part| sum.saturating_add(part.n_bytes));
        let left = self.limit_bytes.map_or(usize::MAX, |limit| limit - self.set_aside_bytes());
        self.buffer_bytes().saturating_add(wanted.min(left))
    }

    /// An error if the plan cannot keep to its limit.
    pub fn check(&self) -> Result<()> {
        let Some(limit) = self.limit_bytes else { return Ok(()) };
        let buffers = self.buffer_bytes();
        let most = limit.saturating_add(BESIDE_BYTES);
        if buffers <= most {
            return Ok(());
        }
        let largest = self.buffers.iter().max_by_key(|part| part.n_bytes);
        let largest = largest.map_or_else(String::new, |part| {
            format!("; the most are those of {}: {} = {}", part.node, format_bytes(part.n_bytes), part.how)
        });
        let least = format_bytes(buffers - BESIDE_BYTES);
        let fewer = (self.n_threads as f64 * most as f64 / buffers as f64) as usize;
        let fewer = if fewer > 0 { format!(", use {fewer} threads at most (--threads)") } else { String::new() };
        Err(Error::Data(format!(
            "this query does not fit into its memory limit of {}: its buffers alone take {}{largest}\nraise memory_limit to \
             {least} (--memory){fewer}, or lower batch_bytes; EXPLAIN shows the arithmetic",
            format_bytes(limit),
            format_bytes(buffers),
        )))
    }

    /// Takes what the buffers need out of what operators can claim.
    pub fn set_aside(&self, pool: &Arc<dyn MemoryPool>) -> MemoryReservation {
        let reservation = MemoryConsumer::new("buffers").register(pool);
        // It is not more than half of what nobody else has claimed yet.
        let _ = reservation.try_grow(self.set_aside_bytes());
        reservation
    }

    /// The arithmetic.
    pub fn shown(&self, format: ExplainFormat) -> Result<String> {
        match format {
            ExplainFormat::Tree => Ok(self.text()),
            ExplainFormat::Json => {
                serde_json::to_string_pretty(self).map_err(|error| crate::bug!("memory as JSON: {error}"))
            }
            ExplainFormat::Dot => Err(Error::Data("memory is a list, which has no Graphviz form".into())),
        }
    }

    fn text(&self) -> String {
        let mut lines: Vec<(&str, String, String)> = vec![];
        let parts = self.buffers.iter().map(|part| ("buffers", part));
        for (kind, part) in parts.chain(self.claims.iter().map(|part| ("claims", part))) {
            lines.push((kind, format_bytes(part.n_bytes), format!("{}: {}", part.node, part.how)));
        }
        let limit = match self.limit_bytes {
            None => ("limit", "none".to_string(), "the system does not say what is free: set memory_limit".to_string()),
            Some(limit) => {
                let aside = self.set_aside_bytes();
                let left = format_bytes(limit - aside);
                let of = if self.is_set { "memory_limit" } else { "auto, 80 % of what is free" };
                (
                    "limit",
                    format_bytes(limit),
                    format!("{of}: {} for buffers, {left} to be claimed", format_bytes(aside)),
                )
            }
        };
        lines.push(limit);
        let beside =
            format!("about {} more for the program itself and what is not counted", format_bytes(BESIDE_BYTES));
        lines.push(("peak", format_bytes(self.expected_bytes()), format!("expected; {beside}")));
        let width = lines.iter().map(|(_, n_bytes, _)| n_bytes.len()).max().unwrap_or(0);
        lines.iter().map(|(kind, n_bytes, how)| format!("{kind:<8} {n_bytes:>width$}  {how}\n")).collect()
    }
}

/// The bytes that the rows below a node are expected to have.
fn below(plan: &dyn ExecutionPlan) -> usize {
    file_bytes(plan) as usize
}

fn counted(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn plan(buffers: &[usize], claims: &[usize], limit_bytes: Option<usize>) -> MemoryPlan {
        let part = |n_bytes: &usize| Part { node: "Node".into(), n_bytes: *n_bytes, how: "so".into() };
        let (buffers, claims) = (buffers.iter().map(part).collect(), claims.iter().map(part).collect());
        MemoryPlan { limit_bytes, is_set: true, n_threads: 16, buffers, claims }
    }

    #[test]
    fn buffers_are_taken_out_of_the_limit_and_claims_share_the_rest() {
        let fits = plan(&[100, 50], &[500, 900], Some(1000));
        assert_eq!((fits.set_aside_bytes(), fits.expected_bytes()), (150, 1000));
        let small = plan(&[100], &[200], Some(1000));
        assert_eq!((small.set_aside_bytes(), small.expected_bytes()), (100, 300));
        let crowded = plan(&[700], &[900], Some(1000));
        assert_eq!((crowded.set_aside_bytes(), crowded.expected_bytes()), (500, 1200));
        assert_eq!(plan(&[700], &[900], None).expected_bytes(), 1600);
    }

    #[test]
    fn what_cannot_fit_is_refused_with_the_settings_to_change() {
        plan(&[900_000_000], &[], Some(700_000_000)).check().unwrap();
        plan(&[900_000_000], &[], None).check().unwrap();
        let refused = plan(&[800_000_000, 1_600_000_000], &[], Some(400_000_000)).check().unwrap_err().to_string();
        for told in
            ["limit of 400.0 MB", "buffers alone take 2.4 GB", "Node: 1.6 GB = so", "2.2 GB (--memory)", "4 threads"]
        {
            assert!(refused.contains(told), "{told} in {refused}");
        }
    }
}
