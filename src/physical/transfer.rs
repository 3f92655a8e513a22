//! A device piece between two transfers: rows change sides there and nowhere else.

use super::hardware::Found;
use super::place::{Placement, Problem, Segment as PlacedSegment, copy_back_line, item_line, segment_lines};
use super::size::{Load, batch, sizing};
use crate::exec::{
    AnnotateExec, BatchSize, DeviceExec, GroupStates, MEMORY_UNIT_BYTES, Segment, ShareSemaphore, ToBackendExec,
};
use crate::{Config, gpu};
use datafusion::error::Result;
use datafusion::physical_plan::{ChildrenPropertiesMode, ExecutionPlan, ReplaceChildrenOptions};
use std::sync::Arc;

/// What a kernel computes, the columns of the input that it reads, and which output is which of its results.
pub(super) struct Kernel {
    pub program: gpu::Program,
    pub columns: Vec<usize>,
    pub outputs: Vec<(usize, usize)>,
    /// What becomes of rows that are grouped.
    pub groups: Option<GroupStates>,
}

/// `made` on a device, over `input`; `further` lines are shown below it.
#[allow(clippy::too_many_arguments, reason = "what was placed, and what it was placed on")]
pub(super) fn on_device(
    made: AnnotateExec,
    input: &Arc<dyn ExecutionPlan>,
    kernel: Kernel,
    placed: &PlacedSegment,
    (problem, placement): (&Problem, &Placement),
    further: Vec<String>,
    found: &Found,
    config: &Config,
) -> Result<Arc<dyn ExecutionPlan>> {
    // How many rows there are is a guess, and no reason to send fewer than would be good.
    let any_rows = Load { n_rows: f64::INFINITY, ..placed.costs.load };
    let batch =
        batch(&any_rows, &found.machine.budget, &placed.costs.resources).unwrap_or_else(|_| placed.costs.batch.clone());
    let resources = placed.costs.resources;
    let sizing = sizing(&batch, &any_rows, &found.machine.budget, &resources);
    let number = placed.items.first().and_then(|item| placement.items[*item].segment).unwrap_or_default();
    let mut notes: Vec<String> =
        placed.items.iter().map(|&item| item_line(&problem.items[item], &placement.items[item])).collect();
    let mut lines = segment_lines(number, placed, problem, &found.machine);
    let way_in = lines.pop().unwrap_or_default();
    notes.extend(lines);
    notes.extend(further);
    let way_back = copy_back_line(placed, problem).unwrap_or_default();
    let copy = |line: String| line.trim().trim_start_matches("ToBackend ").to_string();
    let memory = resources.gpu_memory_bytes.map(|bytes| {
        let units = u32::try_from(bytes as usize / MEMORY_UNIT_BYTES).unwrap_or(u32::MAX);
        Arc::new(ShareSemaphore::new(units.max(1)))
    });
    let segment = Arc::new(Segment {
        program: Arc::new(kernel.program),
        columns: kernel.columns,
        outputs: kernel.outputs,
        groups: kernel.groups,
        batch: BatchSize { rows: (batch.rows as usize).max(1), bytes: (batch.in_bytes as usize).max(1) },
        sizing,
        n_in_flight: config.prefetch_batches.get(),
        resources,
        memory,
        require: config.require_gpu,
        engine: found.engine.clone(),
        notes,
        copies: [copy(way_in), copy(way_back)],
    });
    let to_gpu: Arc<dyn ExecutionPlan> = Arc::new(ToBackendExec::to_gpu(Arc::clone(input), Arc::clone(&segment)));
    let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    let over = Arc::new(made).replace_children(vec![to_gpu], options)?;
    let Some(over) = over.downcast_ref::<AnnotateExec>() else {
        return Err(crate::bug!("an annotation stays one").into());
    };
    let device = Arc::new(DeviceExec::new(Arc::new(over.clone()), Arc::clone(&segment)));
    Ok(Arc::new(ToBackendExec::to_cpu(device, segment)))
}
