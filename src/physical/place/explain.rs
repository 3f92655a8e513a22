//! A placement as text.
//!
//! ```text
//! gpu segment 1: 2 operators in one kernel
//!   ToBackend gpu ← cpu: text  312.0 MB in 20 batches, 26.1 ms
//! * pass over text (scan): words(text), alpha_ratio(text)   gpu 0.8 ms  cpu 41.0 ms  cheaper: saves 14.2 ms
//!   ToBackend cpu ← gpu: words(text)  1.2 MB in 20 batches, 0.2 ms
//! ! compression_ratio(text)   cpu 120 ms  no-kernel: compression stays on the CPU
//! $ words(text)   cpu 2.0 ms  gpu 0.1 ms  transfer: copying 312.0 MB takes 26.1 ms
//! ```
//! `*` runs on the GPU, `!` cannot, `$` could but costs more, and a blank stands before what was asked for on the CPU.
//! Invariant: the text depends on the problem and the machine alone, so it can be kept in golden files.

use super::answer::{PlacedItem, Segment};
use super::problem::{Item, Machine, Problem, Side};
use crate::config::format_bytes;
use crate::cost::{ReasonCode, format_seconds};
use crate::physical::size;

/// One item: its glyph, its time on both sides, and why it is where it is.
pub fn item_line(item: &Item, placed: &PlacedItem) -> String {
    let glyph = match placed.side {
        Side::Gpu => '*',
        Side::Cpu if placed.reason.code.is_a_matter_of_cost() => '$',
        Side::Cpu if placed.reason.code == ReasonCode::Forced => ' ',
        Side::Cpu => '!',
    };
    let cpu = format!("cpu {}", format_seconds(item.cpu_seconds));
    let gpu = item.gpu.as_ref().ok().map(|gpu| format!("gpu {}", format_seconds(gpu.seconds)));
    let times = match (placed.side, gpu) {
        (Side::Gpu, Some(gpu)) => format!("{gpu}  {cpu}"),
        (Side::Cpu, Some(gpu)) => format!("{cpu}  {gpu}"),
        (_, None) => cpu,
    };
    format!("{glyph} {}   {times}  {}", item.label, placed.reason)
}

/// What comes before the items of a segment: its kernel, its batches, and what is copied in.
pub fn segment_lines(number: usize, segment: &Segment, problem: &Problem, machine: &Machine) -> Vec<String> {
    let costs = &segment.costs;
    let n_items = segment.items.len();
    let kernels = match (n_items, machine.fused) {
        (1, _) => "1 operator".to_string(),
        (_, true) => format!("{n_items} operators in one kernel"),
        (_, false) => format!("{n_items} operators, each a kernel"),
    };
    let parts = [("in", costs.in_s), ("launch", costs.launch_s), ("compute", costs.kernel_s), ("out", costs.out_s)];
    let parts = parts.map(|(name, seconds)| format!("{name} {}", format_seconds(seconds))).join(", ");
    let mut lines =
        vec![format!("gpu segment {}: {kernels}, {} = {parts}", number + 1, format_seconds(costs.total_s()))];
    let arithmetic = size::explain(&costs.batch, &costs.load, &machine.budget, &costs.resources);
    lines.extend(arithmetic.into_iter().map(|line| format!("  {line}")));
    lines.push(copy_line("gpu ← cpu", labels(&segment.copied_in, problem), costs.in_bytes, costs.in_s, segment));
    lines
}

/// What is copied back after a segment. None if nothing is.
pub fn copy_back_line(segment: &Segment, problem: &Problem) -> Option<String> {
    let mut names = labels(&segment.copied_back, problem);
    if segment.drops_rows {
        names.push("which rows".to_string());
    }
    let costs = &segment.costs;
    (!names.is_empty()).then(|| copy_line("cpu ← gpu", names, costs.out_bytes, costs.out_s, segment))
}

fn labels(columns: &[usize], problem: &Problem) -> Vec<String> {
    columns.iter().map(|column| problem.columns[*column].label.clone()).collect()
}

fn copy_line(way: &str, names: Vec<String>, bytes: f64, seconds: f64, segment: &Segment) -> String {
    let n_batches = segment.costs.batch.n_batches;
    let batches = if n_batches == 1 { "1 batch".to_string() } else { format!("{n_batches} batches") };
    let names = if names.is_empty() { "nothing".to_string() } else { names.join(", ") };
    format!("  ToBackend {way}: {names}  {} in {batches}, {}", format_bytes(bytes as usize), format_seconds(seconds))
}
