//! What the items of a program are thought to cost on both sides: the placement's problem.
//!
//! Rows and bytes are guesses from the sizes of the files below, a typical document, and rules of which the first keeps
//! half of its rows and later ones more. They decide where operators run, never what they compute.

use super::groups::Aggregation;
use crate::config::DeviceChoice;
use crate::cost::{GpuWork, Reason, RowEstimate, TEXT_BYTES_PER_ROW, gpu_seconds, pass_ns_per_row};
use crate::exec::{AnnotateExec, Program, StepKind, file_bytes};
use crate::gpu::Type;
use crate::logical::{OperatorCall, Resources};
use crate::ops::{Cpu, Needs, Scratch};
use crate::physical::hardware::Found;
use crate::physical::items::Item;
use crate::physical::place::{Column, Item as PlaceItem, OnGpu, Problem, Side};
use datafusion::error::Result;
use datafusion::physical_plan::{ExecutionPlan, StatisticsArgs, StatisticsContext};
use std::sync::Arc;

/// The problem of placing `items`, and after them an aggregation. `why_not` says why a device cannot do one.
pub(super) fn problem(
    annotate: &AnnotateExec,
    items: &[Item],
    why_not: &dyn Fn(&Item) -> Option<Reason>,
    choice: DeviceChoice,
    found: &Found,
    aggregation: Option<&Aggregation<'_>>,
) -> Result<Problem> {
    let program = annotate.program();
    let is_output = |column: usize| program.outputs.iter().any(|output| output.columns.contains(&column));
    let columns = program.schema.fields().iter().enumerate().map(|(index, field)| Column {
        label: match index.checked_sub(program.n_inputs) {
            Some(slot) => program.computed_labels[slot].clone(),
            None => field.name().clone(),
        },
        bytes_per_row: column_bytes(program, index),
        is_output: is_output(index),
    });
    let mut problem = Problem { columns: columns.collect(), items: vec![] };
    let mut rows = rows_into(annotate.input());
    for (index, item) in items.iter().enumerate() {
        let hint = hint(program, item);
        let gpu = match why_not(item) {
            Some(reason) => Err(reason),
            None => Ok(on_gpu(program, item, &rows, found)),
        };
        problem.items.push(PlaceItem {
            label: item.label(program),
            inputs: index.checked_sub(1).into_iter().collect(),
            reads: item.reads(program).into_iter().collect(),
            makes: item.makes().to_vec(),
            rows_in: rows.n_rows,
            drops_rows: matches!(item, Item::Rule(_)),
            cpu_seconds: found.profile.cpu.seconds(cpu_ns(program, item, items, gpu.is_ok()) * rows.n_rows),
            forced: match (hint.0, choice) {
                (DeviceChoice::Cpu, _) => Some(Side::Cpu),
                (DeviceChoice::Gpu, _) | (DeviceChoice::Auto, DeviceChoice::Gpu) => gpu.is_ok().then_some(Side::Gpu),
                _ => None,
            },
            gpu,
            resources: hint.1,
        });
        if matches!(item, Item::Rule(_)) {
            rows = rows.after_rule();
        }
    }
    if let Some(aggregation) = aggregation {
        aggregation.add_to(&mut problem, program, &rows, choice == DeviceChoice::Gpu, found);
    }
    Ok(problem)
}

/// What the query says about an item: for a rule, what it says about the operators that it reads.
fn hint(program: &Program, item: &Item) -> (DeviceChoice, Resources) {
    let columns: Vec<usize> = match item {
        Item::Compute { columns, .. } => columns.clone(),
        Item::Rule(rule) => program.rules[*rule].condition.columns.clone(),
    };
    let mut device = DeviceChoice::Auto;
    let mut resources = Resources::default();
    for hint in columns.iter().filter_map(|column| program.hints.get(column.checked_sub(program.n_inputs)?)?.as_ref()) {
        device = if hint.device == DeviceChoice::Auto { device } else { hint.device };
        resources = resources.and(hint.resources);
    }
    (device, resources)
}

/// Rows that come into a node.
fn rows_into(plan: &Arc<dyn ExecutionPlan>) -> RowEstimate {
    let known = StatisticsContext::new().compute(plan.as_ref(), &StatisticsArgs::new()).ok();
    let n_rows = known.and_then(|statistics| statistics.num_rows.get_value().map(|n_rows| *n_rows as f64));
    let text_bytes = file_bytes(plan.as_ref());
    RowEstimate::guess(n_rows, (text_bytes > 0.0 && n_rows.is_none()).then_some(text_bytes))
}

/// Bytes of a row's value when it is copied.
fn column_bytes(program: &Program, column: usize) -> f64 {
    let field = program.schema.field(column);
    let call = call_of(program, column);
    let n_words = call.as_ref().and_then(|call| call.spec.gpu.kernel(&call.args).ok().map(|k| (k.n_words)(&call.args)));
    let value = match (Type::of(field.data_type()), n_words) {
        (_, Some(n_words)) if n_words > 0 => 8.0 * n_words as f64 + 4.0,
        (Some(Type::Text), _) => TEXT_BYTES_PER_ROW + 4.0,
        (Some(Type::Bool), _) => 1.0,
        _ => 8.0,
    };
    value + if field.is_nullable() { 1.0 } else { 0.0 }
}

/// The call that a computed column is.
fn call_of(program: &Program, column: usize) -> Option<OperatorCall> {
    OperatorCall::of(program.computed.get(column.checked_sub(program.n_inputs)?)?.as_ref())
}

/// What one row of an item takes on one core. Statistics of one pass share the walk: those that no kernel computes pay
/// for it first, so that the others count what they really add.
fn cpu_ns(program: &Program, item: &Item, items: &[Item], has_kernel: bool) -> f64 {
    let Item::Compute { step, columns } = item else {
        let Item::Rule(rule) = item else { return 0.0 };
        return program.rules[*rule].ns_per_row;
    };
    let pass = |columns: &[usize]| {
        let calls: Vec<OperatorCall> = columns.iter().filter_map(|column| call_of(program, *column)).collect();
        pass_ns_per_row(&calls)
    };
    match &program.steps[*step].work {
        StepKind::Pass { .. } => {
            let is_other =
                |other: &&Item| matches!(other, Item::Compute { step: s, .. } if s == step) && *other != item;
            match items.iter().find(is_other) {
                Some(other) if has_kernel => {
                    let all: Vec<usize> = columns.iter().chain(other.makes()).copied().collect();
                    (pass(&all) - pass(other.makes())).max(0.0)
                }
                _ => pass(columns),
            }
        }
        _ => program.steps[*step].ns_per_row,
    }
}

/// What all rows of an item take on the device.
fn on_gpu(program: &Program, item: &Item, rows: &RowEstimate, found: &Found) -> OnGpu {
    let Some(device) = &found.profile.device else { return OnGpu::default() };
    let calls: Vec<OperatorCall> = item.makes().iter().filter_map(|column| call_of(program, *column)).collect();
    if calls.is_empty() {
        let seconds = gpu_seconds(device, &GpuWork::of_numbers(item.n_operations(program)), rows);
        return OnGpu { seconds, scratch_bytes_per_row: 0.0 };
    }
    let mut needs = Needs::TEXT;
    let mut instructions_per_byte = 0.0;
    let mut scratch = Scratch::NONE;
    for call in &calls {
        if let Cpu::Statistic(statistic) = &call.spec.cpu {
            needs = needs.and((statistic.needs)(&call.args));
        }
        if let Ok(kernel) = call.spec.gpu.kernel(&call.args) {
            instructions_per_byte += kernel.instructions_per_byte;
            scratch = scratch.and((kernel.scratch)(&call.args));
        }
    }
    scratch = scratch.and(needs.device_scratch());
    let stage = (needs != Needs::TEXT).then(|| needs.stage());
    let work = GpuWork::walk(stage, instructions_per_byte, scratch.bytes_per_byte as f64);
    let scratch_per_text = scratch.bytes_per_byte as f64 * rows.text_bytes_per_row;
    OnGpu {
        seconds: gpu_seconds(device, &work, rows),
        scratch_bytes_per_row: scratch_per_text + scratch.bytes_per_row as f64,
    }
}
