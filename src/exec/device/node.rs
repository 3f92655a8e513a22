//! `DeviceExec`: the operators of a segment, on a device.
//!
//! It does what the [`AnnotateExec`] inside it does: the same program, rows, order, schema and counters. That node is
//! also what a batch falls back to. Under an aggregation it may put the rows together by key: then groups leave it.

use super::counts::batches_line;
use super::stream::{DeviceStream, RunParts};
use super::{Segment, ToBackendExec};
use crate::exec::annotate::AnnotateExec;
use crate::{Error, bug};
use datafusion::common::Statistics;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, CardinalityEffect, EmissionType};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::{
    ChildStats, ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
    ReplaceChildrenOptions, SendableRecordBatchStream, StatisticsArgs,
};
use std::fmt;
use std::sync::Arc;

/// Runs a program on a device. See the module's text.
#[derive(Debug, Clone)]
pub struct DeviceExec {
    annotate: Arc<AnnotateExec>,
    segment: Arc<Segment>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl DeviceExec {
    /// A node that does what `annotate` does, whose input is the way to the device. Where its rows are grouped, it
    /// gives groups instead.
    pub fn new(annotate: Arc<AnnotateExec>, segment: Arc<Segment>) -> Self {
        let properties = match &segment.groups {
            Some(groups) => {
                let n_partitions = annotate.properties().output_partitioning().partition_count();
                Arc::new(PlanProperties::new(
                    EquivalenceProperties::new(Arc::clone(&groups.schema)),
                    Partitioning::UnknownPartitioning(n_partitions),
                    EmissionType::Incremental,
                    Boundedness::Bounded,
                ))
            }
            None => Arc::clone(annotate.properties()),
        };
        Self { annotate, segment, properties, metrics: ExecutionPlanMetricsSet::new() }
    }

    /// What it does, as the CPU would.
    pub fn annotate(&self) -> &AnnotateExec {
        &self.annotate
    }

    /// How it runs.
    pub fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }

    /// Lines for EXPLAIN ANALYZE.
    pub fn counted_notes(&self) -> Vec<String> {
        vec![batches_line(&self.metrics.clone_inner())]
    }

    /// The rows that come back from the device; `back` counts the copies.
    pub(super) fn start(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
        back: &ExecutionPlanMetricsSet,
    ) -> Result<SendableRecordBatchStream> {
        let Some(way_in) = self.annotate.input().downcast_ref::<ToBackendExec>() else {
            return Err(bug!("rows come to a device by a transfer").into());
        };
        let Some(engine) = &self.segment.engine else {
            let message = "this plan is for other hardware (`SET profile`): it can be shown, not run";
            return Err(Error::Data(message.to_string()).into());
        };
        let Some(&below) = way_in.children().first() else { return Err(bug!("a transfer has an input").into()) };
        let input = below.execute(partition, Arc::clone(&context))?;
        let evaluator = self.annotate.evaluator(partition, &context)?;
        let config = context.session_config();
        let run = RunParts { log: config.get_extension(), rejects: config.get_extension() };
        let metrics = [way_in.metrics_set(), &self.metrics, back];
        Ok(DeviceStream::start(self, Arc::clone(engine), input, evaluator, run, metrics, partition))
    }
}

impl DisplayAs for DeviceExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        match &self.segment.groups {
            Some(groups) => {
                let names: Vec<&str> = groups.schema.fields().iter().map(|field| field.name().as_str()).collect();
                write!(f, "DeviceExec: groups of {}", names.join(", "))?;
            }
            None => write!(f, "DeviceExec: {}", self.annotate.program().output_labels.join(", "))?,
        }
        match self.annotate.options().fetch {
            Some(fetch) => write!(f, ", fetch={fetch}"),
            None => Ok(()),
        }
    }
}

impl ExecutionPlan for DeviceExec {
    fn name(&self) -> &str {
        "DeviceExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![self.annotate.input()]
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.annotate.apply_expressions(f)
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let annotate = Arc::clone(&self.annotate).replace_children(children, options)?;
        let Some(annotate) = annotate.downcast_ref::<AnnotateExec>() else {
            return Err(bug!("an annotation stays one").into());
        };
        Ok(Arc::new(Self::new(Arc::new(annotate.clone()), Arc::clone(&self.segment))))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, _partition: usize, _context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        Err(bug!("rows on a device are read by the way back alone").into())
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(&self, inputs: &[Arc<Statistics>], args: &StatisticsArgs) -> Result<Arc<Statistics>> {
        match &self.segment.groups {
            Some(groups) => Ok(Arc::new(Statistics::new_unknown(&groups.schema))),
            None => self.annotate.statistics_from_inputs(inputs, args),
        }
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        match &self.segment.groups {
            Some(_) => CardinalityEffect::LowerEqual,
            None => self.annotate.cardinality_effect(),
        }
    }

    fn fetch(&self) -> Option<usize> {
        self.annotate.fetch()
    }
}
