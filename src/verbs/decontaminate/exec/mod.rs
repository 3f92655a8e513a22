//! The search for texts of evaluations: documents that hold texts of evaluations go, or the texts are cut out of them.
//!
//! ```text
//! evaluations ──(all of them first)──► matcher
//! documents ──► drop: row by row, in parallel within a batch ──► those without a match
//!          └──► cut: counted and kept, then gone through again ──► their pieces, a row each
//! ```
//! Invariant: needs both inputs in a defined order, the evaluations and what is cut in one partition, and keeps the order of
//! the documents; all pieces of a document are in one batch. What comes out does not depend on threads, batches or memory.
//! Not here: the algorithms (`crate::dedup::decontaminate`).

mod cut;
mod drop;
mod evals;
mod notes;
mod work;

use super::DecontaminateRequest;
use crate::dedup::TaskReport;
use crate::exec::RunLog;
use crate::verb::{RowOrder, SetOperator, Start};
use crate::verbs::dedup::DedupColumns;
use crate::verbs::dedup::exec::apply::Dropped;
use crate::verbs::replay::again;
use crate::verbs::working::on_working_threads;
use datafusion::error::Result;
use datafusion::physical_plan::execution_plan::{CardinalityEffect, EmissionType};
use datafusion::physical_plan::metrics::{MetricBuilder, MetricsSet};
use datafusion::physical_plan::{ExecutionPlan, SendableRecordBatchStream};
use std::sync::{Arc, OnceLock};
use work::{Counts, DecontaminateWork};

/// Looks for texts of evaluations. See the module's text.
#[derive(Debug)]
pub(super) struct Decontamination {
    request: Arc<DecontaminateRequest>,
    columns: DedupColumns,
    tasks: Arc<OnceLock<Vec<TaskReport>>>,
}

impl Decontamination {
    /// A search in documents, whose text is the value of `columns`.
    pub fn new(request: Arc<DecontaminateRequest>, columns: DedupColumns) -> Self {
        Self { request, columns, tasks: Arc::default() }
    }
}

impl SetOperator for Decontamination {
    fn name(&self) -> &'static str {
        "DecontaminateExec"
    }

    fn details(&self) -> String {
        self.request.label.clone()
    }

    fn label(&self) -> Option<String> {
        Some(self.request.label.clone())
    }

    fn order(&self) -> RowOrder {
        self.request.order()
    }

    fn emission(&self, _rows: &Arc<dyn ExecutionPlan>) -> EmissionType {
        if self.request.cuts() { EmissionType::Final } else { EmissionType::Incremental }
    }

    fn cardinality(&self) -> CardinalityEffect {
        if self.request.cuts() { CardinalityEffect::Unknown } else { CardinalityEffect::LowerEqual }
    }

    fn notes(&self) -> Vec<String> {
        self.planned_notes()
    }

    fn counted_notes(&self, metrics: &MetricsSet) -> Vec<String> {
        self.notes_of_run(metrics)
    }

    fn n_replays(&self) -> u32 {
        u32::from(self.request.cuts())
    }

    fn records_drops(&self) -> bool {
        self.columns.wants_dropped
    }

    fn start(&self, start: Start<'_>) -> Result<Vec<SendableRecordBatchStream>> {
        let dropped = Dropped::of_run(&start, &self.columns, "_task")?;
        let work = DecontaminateWork {
            request: Arc::clone(&self.request),
            columns: self.columns.clone(),
            input_schema: start.rows_schema(),
            output_schema: Arc::clone(&start.schema),
            numbers_pieces: start.layout.number.is_some(),
            dropped,
            again: again(&start),
            log: start.context.session_config().get_extension::<RunLog>(),
            tasks: Arc::clone(&self.tasks),
            counts: Counts::new(start.metrics),
            elapsed: MetricBuilder::new(start.metrics).elapsed_compute(0),
        };
        on_working_threads(start, move |working, context| work.run(working, context))
    }
}
