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
mod near_kept;
mod notes;
mod on_device;
mod per;
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
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::projection::{ProjectionMapping, ProjectionTargets};
use datafusion::physical_expr::{EquivalenceProperties, OrderingRequirements, PhysicalExpr};
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
pub struct DedupExec {
    input: Arc<dyn ExecutionPlan>,
    request: Arc<DedupRequest>,
    layout: DedupLayout,
    /// The order of the rows, which tells the first of equal ones; no rule may give it up.
    order: Option<OrderingRequirements>,
    /// What compares vectors in place of the CPU, and what EXPLAIN says of that.
    on_device: Option<OnDevice>,
    placement: Option<String>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl DedupExec {
    /// A deduplication of `input`.
    pub fn new(
        input: Arc<dyn ExecutionPlan>,
        request: Arc<DedupRequest>,
        layout: DedupLayout,
        order: Option<OrderingRequirements>,
    ) -> Self {
        let schema = output_schema(&input.schema(), &request, &layout);
        let properties = PlanProperties::new(
            ordered_like(&input, &schema, &layout, rewritten(&request, &layout)),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            input.boundedness(),
        );
        let (properties, metrics) = (Arc::new(properties), ExecutionPlanMetricsSet::new());
        Self { input, request, layout, order, on_device: None, placement: None, properties, metrics }
    }

    /// What was asked for.
    pub fn request(&self) -> &DedupRequest {
        &self.request
    }
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
    layout.value.filter(|_| request.method.cuts_text())
}

/// What is known of the input's rows, order and equal columns, and holds for the output too: rows only go, and columns only
/// move. Nothing is said of a column that is rewritten.
fn ordered_like(
    input: &Arc<dyn ExecutionPlan>,
    schema: &SchemaRef,
    layout: &DedupLayout,
    rewritten: Option<usize>,
) -> EquivalenceProperties {
    let column = |schema: &SchemaRef, index: usize| -> Arc<dyn PhysicalExpr> {
        Arc::new(Column::new(schema.field(index).name(), index))
    };
    let from = input.schema();
    let moved = layout.visible.iter().enumerate().filter(|(_, index)| rewritten != Some(**index));
    let mapping: ProjectionMapping = moved
        .map(|(place, index)| (column(&from, *index), ProjectionTargets::from(vec![(column(schema, place), place)])))
        .collect();
    input.equivalence_properties().project(&mapping, Arc::clone(schema))
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

    // It does; but a rule that reads this would move a sort from above to below, and so change what is decided here.
    fn maintains_input_order(&self) -> Vec<bool> {
        vec![false]
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Ok([input]) = <[Arc<dyn ExecutionPlan>; 1]>::try_from(children) else {
            return Err(crate::bug!("a deduplication takes one input").into());
        };
        let node = Self::new(input, Arc::clone(&self.request), self.layout.clone(), self.order.clone());
        let (on_device, placement) = (self.on_device.clone(), self.placement.clone());
        Ok(Arc::new(Self { on_device, placement, ..node }))
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
