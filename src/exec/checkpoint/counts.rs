//! What the nodes of a chain have counted, so that a resumed run tells the story of the whole run.

use crate::exec::{AnnotateExec, DeviceExec, ModelExec, ToBackendExec};
use crate::sources::FileScanExec;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricBuilder, MetricValue};
use std::collections::BTreeMap;
use std::sync::Arc;

/// For each node of a chain, the last to run first, its counters by name.
pub(super) type Counts = Vec<BTreeMap<String, u64>>;

/// What a scan has read. A run that goes on counts only what it reads itself.
const BYTES_SCANNED: &str = "bytes_scanned";
const OUTPUT_ROWS: &str = "output_rows";

/// What one partition of the nodes from `top` to the source has counted so far.
pub(super) fn of_chain(top: &Arc<dyn ExecutionPlan>, partition: usize) -> Counts {
    let mut counts = vec![];
    let mut next = Some(top);
    while let Some(node) = next {
        let mut of_node: BTreeMap<String, u64> = BTreeMap::new();
        for metric in metrics_of(node.as_ref()).into_iter().flat_map(|set| set.clone_inner()) {
            let is_count = matches!(metric.value(), MetricValue::Count { .. } | MetricValue::OutputRows(_));
            if metric.partition() == Some(partition) && is_count {
                *of_node.entry(metric.value().name().to_string()).or_default() += metric.value().as_usize() as u64;
            }
        }
        counts.push(of_node);
        next = node.children().first().copied();
    }
    counts
}

/// What was counted between two times.
pub(super) fn since(before: &Counts, after: Counts) -> Counts {
    let node = |(index, mut counts): (usize, BTreeMap<String, u64>)| {
        for (name, value) in before.get(index).into_iter().flatten() {
            counts.entry(name.clone()).and_modify(|counted| *counted = counted.saturating_sub(*value));
        }
        counts.retain(|_, counted| *counted > 0);
        counts
    };
    after.into_iter().enumerate().map(node).collect()
}

/// Adds what an earlier run has counted to the counters of one partition. Gives the bytes that were read then.
pub(super) fn restore(top: &Arc<dyn ExecutionPlan>, partition: usize, counts: &Counts) -> u64 {
    let mut n_bytes = 0;
    let mut next = Some(top);
    for of_node in counts {
        let Some(node) = next else { break };
        for (name, value) in of_node {
            let Some(set) = metrics_of(node.as_ref()) else { continue };
            let value = usize::try_from(*value).unwrap_or(usize::MAX);
            match name.as_str() {
                BYTES_SCANNED => n_bytes += value as u64,
                OUTPUT_ROWS => MetricBuilder::new(set).output_rows(partition).add(value),
                name => MetricBuilder::new(set).counter(name.to_string(), partition).add(value),
            }
        }
        next = node.children().first().copied();
    }
    n_bytes
}

/// The counters of nodes that the funnel asks.
fn metrics_of(node: &dyn ExecutionPlan) -> Option<&ExecutionPlanMetricsSet> {
    if let Some(scan) = node.downcast_ref::<FileScanExec>() {
        return Some(scan.metrics_set());
    }
    if let Some(device) = node.downcast_ref::<DeviceExec>() {
        return Some(device.annotate().metrics_set());
    }
    if let Some(model) = node.downcast_ref::<ModelExec>() {
        return Some(model.metrics_set());
    }
    if let Some(transfer) = node.downcast_ref::<ToBackendExec>() {
        return Some(transfer.metrics_set());
    }
    node.downcast_ref::<AnnotateExec>().map(AnnotateExec::metrics_set)
}
