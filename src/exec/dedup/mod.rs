//! `DedupExec`: rows that repeat earlier ones go; or what they repeat is cut out of them.
//!
//! ```text
//! one ordered stream ──► keys ──► crate::dedup decides ──┐
//!                └─────► documents, in memory or a file ─┴──► replayed: kept rows, in their order
//! ```
//! The keys are columns of the input, computed below where it is still in parallel. One thread of its own does the
//! work, so that files and long sorts hold nobody up; parts of it run on several threads.
//!
//! Invariant: needs one input partition in a defined order, and keeps that order. What comes out does not depend on
//! threads, batches or memory.
//! Not here: the algorithms (`crate::dedup`), the signatures (`crate::ops::dedup`).

mod against;
mod apply;
mod budget;
mod contents;
mod decontaminate;
mod documents;
mod fates;
mod notes;
mod on_device;
mod rows;
mod semantic;
mod spans;
mod work;

use super::RunLog;
use super::ledger::Ledger;
use crate::dedup::Method;
use crate::logical::nodes::{DedupRequest, extra_type};
use apply::Dropped;
use arrow::compute::SortOptions;
use arrow::datatypes::{Field, FieldRef, Schema, SchemaRef};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::physical_expr::{EquivalenceProperties, LexOrdering, OrderingRequirements, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{CardinalityEffect, EmissionType};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricBuilder, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, ExecutionPlanProperties,
    InputDistributionRequirements, Partitioning, PlanProperties, ReplaceChildrenOptions, SendableRecordBatchStream,
};
use futures::StreamExt;
use on_device::OnDevice;
use std::fmt;
use std::sync::Arc;
use tokio::sync::mpsc;

pub use decontaminate::{DecontaminateExec, PieceColumn};
pub use work::DedupCounts;
use work::Work;

/// Batches that may wait for the working thread, and for whoever reads its output.
const QUEUE_BATCHES: usize = 4;

/// Where in the input the columns of a request are.
#[derive(Debug, Clone, PartialEq)]
pub struct DedupLayout {
    /// What rows are compared by.
    pub key: Option<usize>,
    /// The text or value itself.
    pub value: Option<usize>,
    /// What `KEEP … BY` orders by.
    pub keep_by: Vec<(usize, SortOptions)>,
    /// What names a document.
    pub id: Option<usize>,
    /// The columns that come out.
    pub visible: Vec<usize>,
    /// Documents that go are written into the ledger, if the run has one.
    pub wants_dropped: bool,
}

/// Finds duplicates. See the module's text.
#[derive(Debug, Clone)]
pub struct DedupExec {
    input: Arc<dyn ExecutionPlan>,
    request: Arc<DedupRequest>,
    layout: DedupLayout,
    /// The order of the rows as the plan was made; no rule may give it up.
    order: Option<OrderingRequirements>,
    /// What compares vectors in place of the CPU, and what EXPLAIN says of that.
    on_device: Option<OnDevice>,
    placement: Option<String>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl DedupExec {
    /// A deduplication of `input`.
    pub fn try_new(input: Arc<dyn ExecutionPlan>, request: Arc<DedupRequest>, layout: DedupLayout) -> Result<Self> {
        let order = order_of(&input);
        let schema = output_schema(&input.schema(), &request, &layout);
        let properties = PlanProperties::new(
            ordered_like(&input, &schema, &layout, rewritten(&request, &layout)),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            input.boundedness(),
        );
        let (properties, metrics) = (Arc::new(properties), ExecutionPlanMetricsSet::new());
        Ok(Self { input, request, layout, order, on_device: None, placement: None, properties, metrics })
    }

    /// What was asked for.
    pub fn request(&self) -> &DedupRequest {
        &self.request
    }
}

/// The order that a plan has, as something to ask for.
pub(super) fn order_of(input: &Arc<dyn ExecutionPlan>) -> Option<OrderingRequirements> {
    input.output_ordering().map(|order| OrderingRequirements::new(order.clone().into()))
}

fn output_schema(input: &Schema, request: &DedupRequest, layout: &DedupLayout) -> SchemaRef {
    let mut fields: Vec<FieldRef> = layout.visible.iter().map(|index| Arc::clone(&input.fields()[*index])).collect();
    for (column, name) in &request.extra {
        fields.push(Arc::new(Field::new(name, extra_type(*column), true)));
    }
    Arc::new(Schema::new_with_metadata(fields, input.metadata().clone()))
}

/// The text, for methods that cut it.
fn rewritten(request: &DedupRequest, layout: &DedupLayout) -> Option<usize> {
    match request.method {
        Method::Lines(_) | Method::Substring(_) => layout.value,
        Method::Exact(_) | Method::Fuzzy(_) | Method::Semantic(_) => None,
    }
}

/// The orders of the input that the output has too: rows only go, and columns only move. Nothing is said of a column
/// that is rewritten.
fn ordered_like(
    input: &Arc<dyn ExecutionPlan>,
    schema: &SchemaRef,
    layout: &DedupLayout,
    rewritten: Option<usize>,
) -> EquivalenceProperties {
    use datafusion::physical_expr::PhysicalSortExpr;
    use datafusion::physical_expr::expressions::Column;
    let moved = |order: &PhysicalSortExpr| {
        let column = order.expr.downcast_ref::<Column>().filter(|column| rewritten != Some(column.index()))?;
        let place = layout.visible.iter().position(|index| *index == column.index())?;
        let moved: Arc<dyn PhysicalExpr> = Arc::new(Column::new(column.name(), place));
        Some(PhysicalSortExpr::new(moved, order.options))
    };
    let orderings = input.equivalence_properties().oeq_class().iter().filter_map(|ordering| {
        let kept: Vec<PhysicalSortExpr> = ordering.iter().map_while(moved).collect();
        LexOrdering::new(kept)
    });
    EquivalenceProperties::new_with_orderings(Arc::clone(schema), orderings)
}

impl DisplayAs for DedupExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "DedupExec: {}", self.request.label)
    }
}

impl ExecutionPlan for DedupExec {
    fn name(&self) -> &str {
        "DedupExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        InputDistributionRequirements::new(vec![Distribution::SinglePartition])
    }

    // Which row is first decides, even if the output is sorted again.
    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        vec![self.order.clone()]
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Ok([input]) = <[Arc<dyn ExecutionPlan>; 1]>::try_from(children) else {
            return Err(crate::bug!("a deduplication takes one input").into());
        };
        let node = Self::try_new(input, Arc::clone(&self.request), self.layout.clone())?;
        let (order, on_device, placement) = (self.order.clone(), self.on_device.clone(), self.placement.clone());
        Ok(Arc::new(Self { order, on_device, placement, ..node }))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if partition != 0 || self.input.output_partitioning().partition_count() != 1 {
            return Err(crate::bug!("a deduplication needs its input in one partition").into());
        }
        let on_device = self.on_device.clone();
        on_device.as_ref().map_or(Ok(()), OnDevice::check)?;
        // Nodes nearer to the source come first in the ledger.
        let mut input = self.input.execute(0, Arc::clone(&context))?;
        let ledger = context.session_config().get_extension::<Ledger>().filter(|_| self.layout.wants_dropped);
        let dropped = match ledger {
            Some(ledger) => {
                let key = std::ptr::from_ref(self) as usize;
                Some(Dropped::open(&ledger, key, &self.input.schema(), &self.layout, "_kept")?)
            }
            None => None,
        };
        let work = Work {
            request: Arc::clone(&self.request),
            layout: self.layout.clone(),
            input_schema: self.input.schema(),
            output_schema: self.schema(),
            dropped,
            log: context.session_config().get_extension::<RunLog>(),
            counts: DedupCounts::new(&self.metrics),
            output_rows: MetricBuilder::new(&self.metrics).output_rows(partition),
            elapsed: MetricBuilder::new(&self.metrics).elapsed_compute(partition),
        };
        let mut stream = RecordBatchReceiverStreamBuilder::new(self.schema(), QUEUE_BATCHES);
        let (sender, receiver) = mpsc::channel(QUEUE_BATCHES);
        let output = stream.tx();
        stream.spawn(async move {
            while let Some(batch) = input.next().await {
                // The working thread stopped: it failed, and says why, or nobody reads its output any more.
                if sender.send(work::Message::Rows(batch?)).await.is_err() {
                    return Ok(());
                }
            }
            // A queue that closes without this means that the input failed.
            let _ = sender.send(work::Message::End).await;
            Ok(())
        });
        stream.spawn_blocking(move || {
            let result = match &on_device {
                Some(on_device) => semantic::run_on(on_device, &work, receiver, &output, &context),
                None => work.run(receiver, &output, &context),
            };
            match result {
                // The input failed, which its own task tells; or nobody reads any more.
                Err(crate::Error::Interrupted) => Ok(()),
                result => Ok(result?),
            }
        });
        Ok(stream.build())
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        match self.request.method {
            Method::Exact(_) | Method::Fuzzy(_) | Method::Semantic(_) | Method::Lines(_) | Method::Substring(_) => {
                CardinalityEffect::LowerEqual
            }
        }
    }
}
