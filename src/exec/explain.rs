//! Plans as text: an indented tree, JSON, or Graphviz; and the tree of an executed plan with its counters.
//!
//! Invariant: without counters the text depends on the plan alone, so it can be kept in golden files.

use super::annotate::{AnnotateExec, StepKind};
use super::estimate::RowEstimates;
use super::funnel::{counter, output_bytes, output_rows};
use super::{DeviceExec, ModelExec, ToBackendExec};
use crate::config::format_bytes;
use crate::verb::{REPLAYED_ROWS, VerbExec};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::{ExecutionPlan, displayable};
use serde::Serialize;
use std::fmt::Write;
use std::time::Duration;

/// How a plan is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExplainFormat {
    /// An indented tree.
    Tree,
    /// JSON.
    Json,
    /// Graphviz.
    Dot,
}

/// One operator of a plan, of either kind.
#[derive(Debug, Serialize)]
struct Node {
    name: String,
    details: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    children: Vec<Node>,
}

/// A logical plan as text.
pub fn logical(plan: &LogicalPlan, format: ExplainFormat) -> String {
    render(&logical_node(plan), format)
}

/// A physical plan as text.
pub fn physical(plan: &dyn ExecutionPlan, format: ExplainFormat) -> String {
    render(&physical_node(plan, &program), format)
}

/// The generated kernel of each device segment, from the source up.
pub fn kernels(plan: &dyn ExecutionPlan) -> Vec<String> {
    let mut found: Vec<String> = plan.children().into_iter().flat_map(|child| kernels(child.as_ref())).collect();
    found.extend(plan.downcast_ref::<DeviceExec>().map(|device| device.segment().program.source()));
    found
}

/// An executed plan: for each operator its rows, how many were expected, bytes and time, for each condition of a filter the
/// rows it dropped.
pub fn analyzed(plan: &dyn ExecutionPlan) -> String {
    let estimates = RowEstimates::of(plan);
    render(&physical_node(plan, &|plan| counters(plan, &estimates)), ExplainFormat::Tree)
}

fn node(shown: &str, notes: Vec<String>, children: Vec<Node>) -> Node {
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let (name, details) = shown.split_once(": ").unwrap_or((shown.trim_end_matches(':'), ""));
    Node { name: name.to_string(), details: details.to_string(), notes, children }
}

fn logical_node(plan: &LogicalPlan) -> Node {
    let mut children: Vec<Node> = vec![];
    // Queries inside expressions come first, as they are needed first.
    let collected = plan.apply_subqueries(|subquery| {
        children.push(logical_node(subquery));
        Ok(TreeNodeRecursion::Continue)
    });
    debug_assert!(collected.is_ok(), "collecting never fails");
    children.extend(plan.inputs().into_iter().map(logical_node));
    node(&plan.display().to_string(), vec![], children)
}

fn physical_node(plan: &dyn ExecutionPlan, notes: &dyn Fn(&dyn ExecutionPlan) -> Vec<String>) -> Node {
    let children = plan.children().into_iter().map(|child| physical_node(child.as_ref(), notes)).collect();
    node(&displayable(plan).one_line().to_string(), notes(plan), children)
}

/// The lines below an executed operator.
fn counters(plan: &dyn ExecutionPlan, estimates: &RowEstimates) -> Vec<String> {
    let Some(metrics) = plan.metrics() else { return vec![] };
    let expected = estimates.get(plan).map(|n_rows| format!("expected {n_rows}"));
    let mut line = format!("rows {}", output_rows(plan));
    if let Some(expected) = &expected {
        let _ = write!(line, "  {expected}");
    }
    let bytes = |n_bytes: u64| format_bytes(usize::try_from(n_bytes).unwrap_or(usize::MAX));
    if let Some(n_bytes) = output_bytes(plan) {
        let _ = write!(line, "  bytes {}", bytes(n_bytes));
    }
    let verb = plan.downcast_ref::<VerbExec>().map(VerbExec::operator);
    let written = verb.and_then(|verb| verb.rows_counter()).map(|name| (name, "written"));
    let expected_in = plan.children().first().and_then(|input| estimates.get(input.as_ref()));
    for (name, shown) in [("bytes_scanned", "read"), ("rejected_rows", "rejected")].into_iter().chain(written) {
        match counter(plan, name) {
            0 => {}
            n_bytes if name == "bytes_scanned" => drop(write!(line, "  {shown} {}", bytes(n_bytes))),
            n_rows => drop(write!(line, "  {shown} {n_rows}")),
        }
    }
    if let Some(n_rows) = expected_in.filter(|_| written.is_some()) {
        let _ = write!(line, "  expected {n_rows}");
    }
    if let Some(n_bytes) = metrics.spilled_bytes().filter(|n_bytes| *n_bytes > 0) {
        let _ = write!(line, "  spilled {}", format_bytes(n_bytes));
    }
    if let Some(nanos) = metrics.elapsed_compute() {
        let _ = write!(line, "  time {}", duration(Duration::from_nanos(nanos as u64)));
    }
    let mut lines = vec![line];
    if let Some(annotate) = plan.downcast_ref::<AnnotateExec>() {
        lines.extend(counted_program(annotate, estimates));
    }
    if let Some(model) = plan.downcast_ref::<ModelExec>() {
        lines.push(model.counts().shown());
    }
    if let Some(verb) = verb {
        lines.extend(verb.counted_notes(&metrics));
        match counter(plan, REPLAYED_ROWS) {
            0 => {}
            n_rows => lines.push(format!("rows that came again {n_rows}")),
        }
    }
    if let Some(transfer) = plan.downcast_ref::<ToBackendExec>() {
        lines = transfer.counted_notes();
        lines.extend(expected.clone());
    }
    if let Some(device) = plan.downcast_ref::<DeviceExec>() {
        lines = device.counted_notes();
        lines.extend(expected);
        lines.extend(counted_program(device.annotate(), estimates));
    }
    lines
}

/// One line for each step and rule of a program, in the order in which they are planned to run.
enum Line {
    Step(usize),
    Rule(usize),
}

fn lines_of(annotate: &AnnotateExec) -> Vec<(Line, String)> {
    let program = annotate.program();
    let mut lines = vec![];
    let mut shown = vec![false; program.steps.len()];
    let mut show = |step: usize, lines: &mut Vec<(Line, String)>| {
        if !std::mem::replace(&mut shown[step], true) {
            lines.push((Line::Step(step), work(&program.steps[step].work)));
        }
    };
    for (index, rule) in program.rules.iter().enumerate() {
        rule.needs.iter().for_each(|step| show(*step, &mut lines));
        lines.push((Line::Rule(index), rule.label.clone()));
    }
    (0..program.steps.len()).for_each(|step| show(step, &mut lines));
    lines
}

fn work(work: &StepKind) -> String {
    match work {
        StepKind::Pass { document_label, stage, needs, labels, .. } => {
            format!("pass over {document_label} ({}: {needs}): {}", stage.as_str(), labels.join(", "))
        }
        StepKind::Call { label, .. } | StepKind::Expr { label, .. } => format!("compute {label}"),
    }
}

/// The program of a planned node.
fn program(plan: &dyn ExecutionPlan) -> Vec<String> {
    if let Some(verb) = plan.downcast_ref::<VerbExec>() {
        return verb.notes();
    }
    if let Some(transfer) = plan.downcast_ref::<ToBackendExec>() {
        return transfer.notes();
    }
    if let Some(device) = plan.downcast_ref::<DeviceExec>() {
        return device.segment().notes.clone();
    }
    if let Some(model) = plan.downcast_ref::<ModelExec>() {
        return model.notes();
    }
    let Some(annotate) = plan.downcast_ref::<AnnotateExec>() else { return vec![] };
    lines_of(annotate).into_iter().map(|(_, text)| text).chain(annotate.notes().iter().cloned()).collect()
}

/// The program of an executed node.
fn counted_program(annotate: &AnnotateExec, estimates: &RowEstimates) -> Vec<String> {
    let (rules, steps) = (annotate.rule_counts(), annotate.step_counts());
    let expected = estimates.dropped(annotate);
    let lines = lines_of(annotate);
    let rules_only = lines.iter().filter(|(line, _)| matches!(line, Line::Rule(_)));
    let width = rules_only.map(|(_, text)| text.chars().count()).max().unwrap_or(0);
    let counted = |(line, text): (Line, String)| match line {
        Line::Step(step) => format!("{text}   rows {}  {}", steps[step].rows, duration(steps[step].elapsed)),
        Line::Rule(rule) => {
            let count = &rules[rule];
            let elapsed = duration(count.elapsed);
            let expected = expected.get(rule).map_or_else(String::new, |n_rows| format!("expected {n_rows}  "));
            format!("{text:width$}   in {}  dropped {}  {expected}{elapsed}", count.rows_in, count.rows_dropped)
        }
    };
    lines.into_iter().map(counted).collect()
}

fn duration(elapsed: Duration) -> String {
    let micros = elapsed.as_secs_f64() * 1e6;
    match micros {
        ..1e3 => format!("{micros:.0}µs"),
        ..1e6 => format!("{:.1}ms", micros / 1e3),
        _ => format!("{:.2}s", micros / 1e6),
    }
}

fn render(root: &Node, format: ExplainFormat) -> String {
    let mut text = String::new();
    match format {
        ExplainFormat::Tree => tree(root, 0, &mut text),
        // A plan is made of strings and lists; writing it cannot fail.
        ExplainFormat::Json => text = serde_json::to_string_pretty(root).unwrap_or_default(),
        ExplainFormat::Dot => {
            text.push_str("digraph plan {\n  rankdir=BT;\n  node [shape=box];\n");
            dot(root, &mut 0, &mut text);
            text.push('}');
        }
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

fn heading(node: &Node) -> String {
    if node.details.is_empty() { node.name.clone() } else { format!("{}: {}", node.name, node.details) }
}

fn tree(node: &Node, depth: usize, text: &mut String) {
    let _ = writeln!(text, "{:1$}{2}", "", 2 * depth, heading(node));
    for note in &node.notes {
        let _ = writeln!(text, "{:1$}│ {note}", "", 2 * depth + 2);
    }
    for child in &node.children {
        tree(child, depth + 1, text);
    }
}

/// Writes a node and what is below it; gives its number. Arrows point the way the rows go.
fn dot(node: &Node, n_nodes: &mut usize, text: &mut String) -> usize {
    let number = *n_nodes;
    *n_nodes += 1;
    let label = heading(node).replace('\\', "\\\\").replace('"', "\\\"");
    let _ = writeln!(text, "  n{number} [label=\"{label}\"];");
    for child in &node.children {
        let child = dot(child, n_nodes, text);
        let _ = writeln!(text, "  n{child} -> n{number};");
    }
    number
}
