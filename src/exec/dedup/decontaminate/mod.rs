//! `DecontaminateExec`: documents that hold texts of evaluations go, or the texts are cut out of them.
//!
//! ```text
//! evaluations ──(all of them first)──► matcher
//! documents ──► drop: row by row, in parallel within a batch ──► those without a match
//!          └──► cut: counted and kept, then gone through again ──► their pieces, a row each
//! ```
//! Invariant: needs both inputs in one partition and a defined order, and keeps the order of the documents; all pieces
//! of a document are in one batch. What comes out does not depend on threads, batches or memory.
//! Not here: the algorithms (`crate::dedup::decontaminate`).

mod cut;
mod drop;
mod evals;
mod notes;
mod work;

use super::apply::Dropped;
use super::work::Message;
use super::{DedupLayout, QUEUE_BATCHES, ordered_like};
use crate::dedup::{DecontaminateMode, TaskReport};
use crate::exec::RunLog;
use crate::exec::ledger::Ledger;
use crate::logical::nodes::DecontaminateRequest;
use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, OrderingRequirements, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::execution_plan::{CardinalityEffect, EmissionType};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricBuilder, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, ExecutionPlanProperties,
    InputDistributionRequirements, Partitioning, PlanProperties, ReplaceChildrenOptions, SendableRecordBatchStream,
};
use futures::StreamExt;
use std::fmt;
use std::sync::{Arc, OnceLock};
use tokio::sync::mpsc;
use work::{Counts, Work};

/// A last column with the number of each piece of a document.
#[derive(Debug, Clone, PartialEq)]
pub struct PieceColumn {
    /// Its name.
    pub name: String,
    /// What the documents are sorted by, and no two have in common.
    pub after: Vec<(usize, SortOptions)>,
}

/// Looks for texts of evaluations. See the module's text.
#[derive(Debug)]
pub struct DecontaminateExec {
    documents: Arc<dyn ExecutionPlan>,
    evals: Arc<dyn ExecutionPlan>,
    request: Arc<DecontaminateRequest>,
    layout: DedupLayout,
    piece: Option<PieceColumn>,
    /// The orders of the inputs; no rule may give them up.
    orders: [Option<OrderingRequirements>; 2],
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
    tasks: Arc<OnceLock<Vec<TaskReport>>>,
}

impl DecontaminateExec {
    /// A search in `documents`, whose text is the layout's value, for texts of `evals`.
    pub fn new(
        documents: Arc<dyn ExecutionPlan>,
        evals: Arc<dyn ExecutionPlan>,
        request: Arc<DecontaminateRequest>,
        layout: DedupLayout,
        piece: Option<PieceColumn>,
        orders: [Option<OrderingRequirements>; 2],
    ) -> Self {
        let schema = output_schema(&documents.schema(), &layout, piece.as_ref());
        let (rewritten, emission) = match request.options.mode {
            DecontaminateMode::Drop => (None, EmissionType::Incremental),
            DecontaminateMode::Cut => (layout.value, EmissionType::Final),
        };
        let mut order = ordered_like(&documents, &schema, &layout, rewritten);
        if let Some(piece) = &piece {
            add_pieces(&mut order, piece, &schema, &layout);
        }
        let partitioning = Partitioning::UnknownPartitioning(1);
        let properties = Arc::new(PlanProperties::new(order, partitioning, emission, documents.boundedness()));
        let (metrics, tasks) = (ExecutionPlanMetricsSet::new(), Arc::default());
        Self { documents, evals, request, layout, piece, orders, properties, metrics, tasks }
    }

    /// What was asked for.
    pub fn request(&self) -> &DecontaminateRequest {
        &self.request
    }
}

fn output_schema(input: &Schema, layout: &DedupLayout, piece: Option<&PieceColumn>) -> SchemaRef {
    let mut fields: Vec<FieldRef> = layout.visible.iter().map(|index| Arc::clone(&input.fields()[*index])).collect();
    fields.extend(piece.map(|piece| Arc::new(Field::new(&piece.name, DataType::UInt64, false))));
    Arc::new(Schema::new_with_metadata(fields, input.metadata().clone()))
}

/// Documents stay in their order, and pieces come one after the other.
fn add_pieces(order: &mut EquivalenceProperties, piece: &PieceColumn, schema: &SchemaRef, layout: &DedupLayout) {
    let sorted = |place: usize, options: SortOptions| {
        let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(schema.field(place).name(), place));
        PhysicalSortExpr::new(column, options)
    };
    let place = |index: &usize| layout.visible.iter().position(|visible| visible == index);
    let after = piece.after.iter().map(|(index, options)| Some(sorted(place(index)?, *options)));
    if let Some(mut keys) = after.collect::<Option<Vec<_>>>() {
        keys.push(sorted(layout.visible.len(), SortOptions { descending: false, nulls_first: false }));
        order.add_ordering(keys);
    }
}

impl DisplayAs for DecontaminateExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "DecontaminateExec: {}", self.request.label)
    }
}

impl ExecutionPlan for DecontaminateExec {
    fn name(&self) -> &str {
        "DecontaminateExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.documents, &self.evals]
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        InputDistributionRequirements::new(vec![Distribution::SinglePartition; 2])
    }

    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        self.orders.to_vec()
    }

    // Documents stay in order; but a rule that reads this would move a sort from above to below.
    fn maintains_input_order(&self) -> Vec<bool> {
        vec![false, false]
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Ok([documents, evals]) = <[Arc<dyn ExecutionPlan>; 2]>::try_from(children) else {
            return Err(crate::bug!("a decontamination takes two inputs").into());
        };
        let request = Arc::clone(&self.request);
        let (layout, piece, orders) = (self.layout.clone(), self.piece.clone(), self.orders.clone());
        Ok(Arc::new(Self::new(documents, evals, request, layout, piece, orders)))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let is_one = |input: &Arc<dyn ExecutionPlan>| input.output_partitioning().partition_count() == 1;
        if partition != 0 || !is_one(&self.documents) || !is_one(&self.evals) {
            return Err(crate::bug!("a decontamination needs its inputs in one partition each").into());
        }
        // Nodes nearer to the source come first in the ledger.
        let documents = self.documents.execute(0, Arc::clone(&context))?;
        let evals = self.evals.execute(0, Arc::clone(&context))?;
        let key = std::ptr::from_ref(self) as usize;
        let ledger = context.session_config().get_extension::<Ledger>().filter(|_| self.layout.wants_dropped);
        let dropped = match ledger {
            Some(ledger) => Some(Dropped::open(&ledger, key, &self.documents.schema(), &self.layout, "_task")?),
            None => None,
        };
        let work = Work {
            request: Arc::clone(&self.request),
            layout: self.layout.clone(),
            input_schema: self.documents.schema(),
            output_schema: self.schema(),
            numbers_pieces: self.piece.is_some(),
            dropped,
            log: context.session_config().get_extension::<RunLog>(),
            tasks: Arc::clone(&self.tasks),
            counts: Counts::new(&self.metrics),
            output_rows: MetricBuilder::new(&self.metrics).output_rows(partition),
            elapsed: MetricBuilder::new(&self.metrics).elapsed_compute(partition),
        };
        let mut stream = RecordBatchReceiverStreamBuilder::new(self.schema(), QUEUE_BATCHES);
        let (sender, receiver) = mpsc::channel(QUEUE_BATCHES);
        let output = stream.tx();
        stream.spawn(async move {
            for mut input in [evals, documents] {
                while let Some(batch) = input.next().await {
                    // The working thread stopped: it failed, and says why, or nobody reads its output any more.
                    if sender.send(Message::Rows(batch?)).await.is_err() {
                        return Ok(());
                    }
                }
                // A queue that closes without this means that the input failed.
                if sender.send(Message::End).await.is_err() {
                    return Ok(());
                }
            }
            Ok(())
        });
        stream.spawn_blocking(move || match work.run(receiver, &output, &context) {
            // The input failed, which its own task tells; or nobody reads any more.
            Err(crate::Error::Interrupted) => Ok(()),
            result => Ok(result?),
        });
        Ok(stream.build())
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        match self.request.options.mode {
            DecontaminateMode::Drop => CardinalityEffect::LowerEqual,
            DecontaminateMode::Cut => CardinalityEffect::Unknown,
        }
    }
}
