//! The work of a deduplication: what it needs, what it counts.

use super::apply::Dropped;
use super::on_device::OnDevice;
use super::{DedupColumns, rows, semantic, spans};
use crate::Result;
use crate::dedup::{Budget, Method};
use crate::exec::{KeptStage, RunLog};
use crate::verbs::budget::PoolBudget;
use crate::verbs::dedup::DedupRequest;
use crate::verbs::replay::Again;
use crate::verbs::working::Working;
use arrow::datatypes::SchemaRef;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder, Time};
use std::sync::Arc;

/// What EXPLAIN ANALYZE tells of a deduplication.
#[derive(Debug, Clone)]
pub struct DedupCounts {
    /// Pairs of documents that were looked at closely.
    pub candidates: Count,
    /// Those of them that were similar enough.
    pub verified: Count,
    /// Groups of duplicates.
    pub clusters: Count,
    /// Rows that are duplicates of rows of an index.
    pub indexed: Count,
    /// Bytes of text that were cut out.
    pub cut_bytes: Count,
    /// Bytes in temporary files.
    pub spilled_bytes: Count,
    /// What devices compared, as [`ON_DEVICES`] has it.
    pub on_devices: [Count; 4],
}

/// The counters of comparisons on devices.
pub(in crate::verbs) const ON_DEVICES: [&str; 4] =
    ["dedup_device_products", "dedup_device_launches", "dedup_bytes_in", "dedup_bytes_out"];

impl DedupCounts {
    /// New counters among a node's metrics.
    pub fn new(metrics: &ExecutionPlanMetricsSet) -> Self {
        let counter = |name: &'static str| MetricBuilder::new(metrics).counter(name, 0);
        Self {
            candidates: counter("dedup_candidates"),
            verified: counter("dedup_verified"),
            clusters: counter("dedup_clusters"),
            indexed: counter("dedup_indexed"),
            cut_bytes: counter("dedup_cut_bytes"),
            spilled_bytes: MetricBuilder::new(metrics).spilled_bytes(0),
            on_devices: ON_DEVICES.map(counter),
        }
    }
}

/// The memory of a deduplication.
pub(in crate::verbs) struct Budgets {
    /// For what rows are compared by, from all of them.
    pub keys: Arc<dyn Budget>,
    /// For what is known of those that may have duplicates.
    pub clusters: Arc<dyn Budget>,
    pub documents: Arc<PoolBudget>,
}

/// Everything that one deduplication needs.
pub(in crate::verbs) struct DedupWork {
    pub request: Arc<DedupRequest>,
    pub columns: DedupColumns,
    pub input_schema: SchemaRef,
    pub output_schema: SchemaRef,
    /// What puts rows of several partitions in order.
    pub position: Option<usize>,
    pub dropped: Option<Dropped>,
    /// Gives rows again that were not kept.
    pub again: Option<Again>,
    pub log: Option<Arc<RunLog>>,
    /// Where what it decides is kept for another attempt.
    pub kept: Option<KeptStage>,
    pub counts: DedupCounts,
    pub elapsed: Time,
}

impl DedupWork {
    /// Reads the rows to their end, then gives the output; devices compare, if there are any.
    pub fn run(&self, working: Working, context: &TaskContext, on_device: Option<&OnDevice>) -> Result<()> {
        let budget =
            |what: &str| PoolBudget::new(&format!("DedupExec ({what})"), context, self.counts.spilled_bytes.clone());
        // Each gets its share of the memory, so that none has to go to disk because another came first.
        let budgets = Budgets {
            keys: Arc::new(budget("keys")),
            clusters: Arc::new(budget("clusters")),
            documents: Arc::new(budget("documents")),
        };
        match &self.request.method {
            Method::Exact(_) | Method::Fuzzy(_) => rows::run(self, working, budgets),
            Method::Lines(_) | Method::Substring(_) => spans::run(self, working, budgets),
            Method::Semantic(_) => semantic::run(self, working, budgets, on_device),
        }
    }
}
