//! The finding of duplicates: rows that repeat earlier ones go; or what they repeat is cut out of them.
//!
//! ```text
//! partition 0 ──► keys ──┐                                       ┌──► replayed: kept rows, in their order
//!     └─► documents, in memory or a file ────────────────────────┘
//! partition 1 ──► keys ──┼──► crate::dedup decides ──► decisions ────┐
//!     └─► documents, in memory or a file ────────────────────────┴──► replayed: kept rows, in their order
//! ```
//! The keys are columns of the input, computed below; `LINES` and `SUBSTRING` make theirs of the texts. Only keys meet:
//! documents stay in the partition in which they came.
//! Threads of its own do the work, so that files and long sorts hold nobody up.
//!
//! Invariant: needs its input in a defined order, and keeps that order. What comes out does not depend on threads, batches or
//! memory.
//! Not here: the algorithms (`crate::dedup`), the signatures (`crate::ops::dedup`).

mod against;
pub(in crate::verbs) mod apply;
mod contents;
mod copies;
mod decisions;
mod kept;
mod keys;
mod near_kept;
mod notes;
mod on_device;
mod partition;
mod per;
mod rows;
mod semantic;
mod spans;
mod work;

use crate::dedup::Method;
use crate::exec::RunLog;
use crate::verb::{RowOrder, SetOperator, Start};
use crate::verbs::dedup::DedupRequest;
use crate::verbs::replay::again;
use crate::verbs::working::on_working_threads;
use apply::Dropped;
use arrow::compute::SortOptions;
use datafusion::error::Result;
use datafusion::physical_plan::SendableRecordBatchStream;
use datafusion::physical_plan::metrics::{MetricBuilder, MetricsSet};
use on_device::OnDevice;
use std::sync::Arc;

pub use on_device::Comparisons;
use work::{DedupCounts, DedupWork};

/// Where in the input the columns of a request are.
#[derive(Debug, Clone, PartialEq)]
pub struct DedupColumns {
    /// What rows are compared by.
    pub key: Option<usize>,
    /// The text or value itself.
    pub value: Option<usize>,
    /// What `KEEP … BY` orders by.
    pub keep_by: Vec<(usize, SortOptions)>,
    /// What `KEEP … PER` tells rows apart by, as hashes.
    pub per: Option<usize>,
    /// What names a document.
    pub id: Option<usize>,
    /// The columns that come out.
    pub visible: Vec<usize>,
    /// Documents that go are written into the ledger, if the run has one.
    pub wants_dropped: bool,
}

/// Finds duplicates. See the module's text.
#[derive(Debug, Clone)]
pub struct Deduplication {
    request: Arc<DedupRequest>,
    columns: DedupColumns,
    /// What compares vectors in place of the CPU, and what EXPLAIN says of that.
    on_device: Option<OnDevice>,
    placement: Option<String>,
}

impl Deduplication {
    /// What `request` says, of rows with these columns.
    pub(super) fn new(request: Arc<DedupRequest>, columns: DedupColumns) -> Self {
        Self { request, columns, on_device: None, placement: None }
    }

    /// What was asked for.
    pub fn request(&self) -> &DedupRequest {
        &self.request
    }
}

impl SetOperator for Deduplication {
    fn name(&self) -> &'static str {
        "DedupExec"
    }

    fn details(&self) -> String {
        self.request.label.clone()
    }

    fn label(&self) -> Option<String> {
        Some(self.request.label.clone())
    }

    fn order(&self) -> RowOrder {
        RowOrder::Keeps
    }

    fn notes(&self) -> Vec<String> {
        self.planned_notes()
    }

    fn counted_notes(&self, metrics: &MetricsSet) -> Vec<String> {
        notes::counted_notes(metrics)
    }

    fn n_replays(&self) -> u32 {
        match &self.request.method {
            // Copies are left out before anything is kept: what is left is not what the source gives.
            _ if self.request.forgets_copies => 0,
            // Contents are compared in a pass of their own.
            Method::Exact(exact) => 1 + u32::from(exact.verify),
            Method::Fuzzy(fuzzy) => 1 + u32::from(fuzzy.verify),
            // Blocks, then windows.
            Method::Substring(_) => 2,
            Method::Lines(_) | Method::Semantic(_) => 1,
        }
    }

    fn records_drops(&self) -> bool {
        self.columns.wants_dropped
    }

    fn start(&self, start: Start<'_>) -> Result<Vec<SendableRecordBatchStream>> {
        let on_device = self.on_device.clone();
        on_device.as_ref().map_or(Ok(()), OnDevice::check)?;
        let dropped = Dropped::of_run(&start, &self.columns, "_kept")?;
        let work = DedupWork {
            request: Arc::clone(&self.request),
            columns: self.columns.clone(),
            input_schema: start.rows_schema(),
            output_schema: Arc::clone(&start.schema),
            position: start.position,
            dropped,
            again: again(&start),
            log: start.context.session_config().get_extension::<RunLog>(),
            kept: kept::stage_of(&start, &self.request)?,
            counts: DedupCounts::new(start.metrics),
            elapsed: MetricBuilder::new(start.metrics).elapsed_compute(0),
        };
        on_working_threads(start, move |working, context| work.run(working, context, on_device.as_ref()))
    }
}
