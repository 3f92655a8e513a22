//! `ToBackendExec`: rows change sides. Stands only where they do.

use super::counts::copies_line;
use super::{DeviceExec, Segment};
use datafusion::common::Statistics;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::execution_plan::CardinalityEffect;
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::{
    ChildStats, ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties,
    ReplaceChildrenOptions, SendableRecordBatchStream, StatisticsArgs,
};
use std::fmt;
use std::sync::Arc;

/// Copies rows to a device or back. The way back drives the whole segment below it.
#[derive(Debug, Clone)]
pub struct ToBackendExec {
    input: Arc<dyn ExecutionPlan>,
    segment: Arc<Segment>,
    to_gpu: bool,
    metrics: ExecutionPlanMetricsSet,
}

impl ToBackendExec {
    /// The way to the device.
    pub fn to_gpu(input: Arc<dyn ExecutionPlan>, segment: Arc<Segment>) -> Self {
        Self { input, segment, to_gpu: true, metrics: ExecutionPlanMetricsSet::new() }
    }

    /// The way back.
    pub fn to_cpu(device: Arc<DeviceExec>, segment: Arc<Segment>) -> Self {
        Self { input: device, segment, to_gpu: false, metrics: ExecutionPlanMetricsSet::new() }
    }

    /// Lines for EXPLAIN.
    pub fn notes(&self) -> Vec<String> {
        vec![self.segment.copies[usize::from(!self.to_gpu)].clone()]
    }

    /// Lines for EXPLAIN ANALYZE.
    pub fn counted_notes(&self) -> Vec<String> {
        vec![copies_line(&self.metrics.clone_inner())]
    }

    /// The segment that this is the way back from.
    pub fn device(&self) -> Option<&DeviceExec> {
        self.input.downcast_ref::<DeviceExec>().filter(|_| !self.to_gpu)
    }

    pub(in crate::exec) fn metrics_set(&self) -> &ExecutionPlanMetricsSet {
        &self.metrics
    }
}

impl DisplayAs for ToBackendExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(if self.to_gpu { "ToBackendExec: gpu ← cpu" } else { "ToBackendExec: cpu ← gpu" })
    }
}

impl ExecutionPlan for ToBackendExec {
    fn name(&self) -> &str {
        "ToBackendExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
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

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Ok([input]) = <[Arc<dyn ExecutionPlan>; 1]>::try_from(children) else {
            return Err(crate::bug!("a transfer takes one input").into());
        };
        let metrics = ExecutionPlanMetricsSet::new();
        Ok(Arc::new(Self { input, segment: Arc::clone(&self.segment), to_gpu: self.to_gpu, metrics }))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        match self.device() {
            Some(device) => device.start(partition, context, &self.metrics),
            None => Err(crate::bug!("rows on a device are read by the way back alone").into()),
        }
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(&self, inputs: &[Arc<Statistics>], _args: &StatisticsArgs) -> Result<Arc<Statistics>> {
        inputs.first().cloned().ok_or_else(|| crate::bug!("statistics of no input").into())
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::Equal
    }
}
