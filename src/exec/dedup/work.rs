//! The working thread of a deduplication: its input, its output, what it counts.

use super::apply::Dropped;
use super::budget::PoolBudget;
use super::{DedupLayout, rows, semantic, spans};
use crate::dedup::{Budget, Method};
use crate::exec::RunLog;
use crate::logical::nodes::DedupRequest;
use crate::{Error, Result};
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder, Time};
use std::sync::Arc;
use tokio::sync::mpsc::{Receiver, Sender};

/// What comes to the working thread. A queue that closes without `End` means: give up.
pub(super) enum Message {
    Rows(RecordBatch),
    End,
}

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
pub(super) const ON_DEVICES: [&str; 4] =
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
pub(super) struct Budgets {
    /// For what rows are compared by, from all of them.
    pub keys: Arc<dyn Budget>,
    /// For what is known of those that may have duplicates.
    pub clusters: Arc<dyn Budget>,
    pub documents: PoolBudget,
}

/// Everything that one deduplication needs.
pub(super) struct Work {
    pub request: Arc<DedupRequest>,
    pub layout: DedupLayout,
    pub input_schema: SchemaRef,
    pub output_schema: SchemaRef,
    pub dropped: Option<Dropped>,
    pub log: Option<Arc<RunLog>>,
    pub counts: DedupCounts,
    pub output_rows: Count,
    pub elapsed: Time,
}

impl Work {
    /// Reads the input to its end, then gives the output.
    pub fn run(
        self,
        input: Receiver<Message>,
        output: &Sender<Result<RecordBatch, DataFusionError>>,
        context: &TaskContext,
    ) -> Result<()> {
        let budget =
            |what: &str| PoolBudget::new(&format!("DedupExec ({what})"), context, self.counts.spilled_bytes.clone());
        // Each gets its share of the memory, so that none has to go to disk because another came first.
        let budgets = Budgets {
            keys: Arc::new(budget("keys")),
            clusters: Arc::new(budget("clusters")),
            documents: budget("documents"),
        };
        let mut feed = Feed::new(input);
        let outlet = Outlet::new(output, self.output_rows.clone());
        match &self.request.method {
            Method::Exact(_) | Method::Fuzzy(_) => rows::run(&self, &mut feed, &outlet, budgets),
            Method::Lines(_) | Method::Substring(_) => spans::run(&self, &mut feed, &outlet, budgets),
            Method::Semantic(_) => semantic::run(&self, &mut feed, &outlet, budgets),
        }
    }
}

/// The input, batch by batch.
pub(super) struct Feed {
    queue: Receiver<Message>,
}

impl Feed {
    pub fn new(queue: Receiver<Message>) -> Self {
        Self { queue }
    }

    /// The next batch; `None` after the last.
    pub fn next(&mut self) -> Result<Option<RecordBatch>> {
        match self.queue.blocking_recv() {
            Some(Message::Rows(batch)) => Ok(Some(batch)),
            Some(Message::End) => Ok(None),
            // The input failed, and its own error is on its way.
            None => Err(Error::Interrupted),
        }
    }
}

/// The output.
pub(super) struct Outlet<'a> {
    queue: &'a Sender<Result<RecordBatch, DataFusionError>>,
    n_rows: Count,
}

impl<'a> Outlet<'a> {
    pub fn new(queue: &'a Sender<Result<RecordBatch, DataFusionError>>, n_rows: Count) -> Self {
        Self { queue, n_rows }
    }

    /// Passes rows on.
    pub fn send(&self, batch: RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        self.n_rows.add(batch.num_rows());
        // Nobody reads any more, so nobody hears of this either.
        self.queue.blocking_send(Ok(batch)).map_err(|_| Error::Interrupted)
    }
}
