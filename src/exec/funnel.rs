//! The funnel: an executed plan's counters as a list of steps from the sources to the output, and the same counters
//! while the run goes on.
//!
//! Invariant: in a chain, the rows that come into a step are the rows that left the one before. A source starts a
//! chain, with no rows in; the side inputs of a join come before the chain that the join belongs to.
//! Operators that only move rows (merging, repartitioning, sorting, projecting) are not steps.

use super::checkpoint::{BYTES_KEPT, CheckpointExec};
use super::report::{Progress, Report, Step, StepRole};
use super::{AnnotateExec, DeviceExec, ModelExec, RunLog, ToBackendExec};
use crate::sources::FileScanExec;
use crate::verb::VerbExec;
use datafusion::common::JoinType;
use datafusion::physical_expr_common::physical_expr::fmt_sql;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec, SymmetricHashJoinExec};
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::metrics::MetricValue;
use datafusion::physical_plan::union::{InterleaveExec, UnionExec};
use datafusion::physical_plan::{ExecutionPlan, StatisticsArgs, StatisticsContext};
use std::sync::Arc;

/// Operators that keep every row, unless they carry a limit.
const PLUMBING: &[&str] = &[
    "AsyncFuncExec",
    "BoundedWindowAggExec",
    "BufferExec",
    "CheckpointExec",
    "CoalesceBatchesExec",
    "CoalescePartitionsExec",
    "CooperativeExec",
    "ExternalSortExec",
    "GatherExec",
    "LocalLimitExec",
    "OutputRequirementExec",
    "PartialSortExec",
    "ProjectionExec",
    "RepartitionExec",
    "SortExec",
    "SortPreservingMergeExec",
    "ToBackendExec",
    "WindowAggExec",
];

/// What a run did, from the plans that it executed and its log. Rejects and the time are the caller's to add.
pub fn report(plans: &[Arc<dyn ExecutionPlan>], log: &RunLog) -> Report {
    let mut steps = vec![];
    let rows_out = plans.iter().map(|plan| walk(plan.as_ref(), &mut steps)).sum();
    let (files, dropped, contamination) = (log.files(), log.dropped(), log.contamination());
    Report { steps, files, dropped, contamination, notes: log.notes(), rows_out, ..Report::default() }
}

/// How far running plans are.
pub fn progress(plans: &[Arc<dyn ExecutionPlan>]) -> Progress {
    let mut progress = Progress::default();
    let mut all_known = true;
    for plan in plans {
        progress.rows_kept += rows_so_far(plan.as_ref());
        add_sources(plan.as_ref(), &mut progress, &mut all_known);
    }
    if !all_known {
        progress.bytes_total = None;
    }
    progress
}

fn add_sources(plan: &dyn ExecutionPlan, progress: &mut Progress, all_known: &mut bool) {
    if let Some(scan) = plan.downcast_ref::<FileScanExec>() {
        progress.bytes_read += counter(plan, "bytes_scanned");
        progress.rows_read += output_rows(plan);
        match scan.table().total_bytes() {
            0 => *all_known = false,
            n_bytes => *progress.bytes_total.get_or_insert(0) += n_bytes,
        }
    }
    for child in plan.children() {
        add_sources(child.as_ref(), progress, all_known);
    }
    // What an earlier attempt has read need not be read any more.
    if let (Some(n_bytes), true) = (&mut progress.bytes_total, plan.is::<CheckpointExec>()) {
        *n_bytes = n_bytes.saturating_sub(counter(plan, BYTES_KEPT));
    }
}

/// Rows that came out of the plan until now.
fn rows_so_far(plan: &dyn ExecutionPlan) -> u64 {
    let verb = plan.downcast_ref::<VerbExec>().map(VerbExec::operator);
    if let Some(name) = verb.and_then(|verb| verb.rows_counter()) {
        return counter(plan, name);
    }
    match (plan.metrics().and_then(|metrics| metrics.output_rows()), plan.children().first()) {
        (Some(n_rows), _) => n_rows as u64,
        (None, Some(child)) => rows_so_far(child.as_ref()),
        (None, None) => 0,
    }
}

/// Adds the steps of a plan; gives the rows that came out of it.
fn walk(plan: &dyn ExecutionPlan, steps: &mut Vec<Step>) -> u64 {
    let children = plan.children();
    let Some(main) = main_child(plan) else { return source(plan, steps) };
    if plan.is::<UnionExec>() || plan.is::<InterleaveExec>() {
        let rows_in = children.iter().map(|child| walk(child.as_ref(), steps)).sum();
        return push(steps, ("UNION ALL".into(), StepRole::Reshape), rows_in, rows_in);
    }
    for (index, child) in children.iter().enumerate() {
        if index != main {
            walk(child.as_ref(), steps);
        }
    }
    let rows_in = walk(children[main].as_ref(), steps);
    if let Some(filter) = plan.downcast_ref::<AnnotateExec>() {
        return rules(filter, output_rows(plan), rows_in, steps);
    }
    if let Some(device) = plan.downcast_ref::<ToBackendExec>().and_then(ToBackendExec::device) {
        return rules(device.annotate(), output_rows(plan), rows_in, steps);
    }
    if let Some(model) = plan.downcast_ref::<ModelExec>() {
        let n_set_aside = model.counts().set_aside.min(rows_in);
        let label = || "set aside: a model did not take it".to_string();
        return if n_set_aside > 0 {
            push(steps, (label(), StepRole::Verb), rows_in, rows_in - n_set_aside)
        } else {
            rows_in
        };
    }
    if let Some(verb) = plan.downcast_ref::<VerbExec>() {
        let Some(label) = verb.operator().label() else { return rows_in };
        let rows_out = push(steps, (label, StepRole::Verb), rows_in, output_rows(plan));
        if let (Some(step), Some(n_bytes)) = (steps.last_mut(), verb.text_bytes_out()) {
            step.bytes_out = Some(n_bytes);
        }
        return rows_out;
    }
    // The way back from the device counts its rows.
    if plan.is::<DeviceExec>() {
        return rows_in;
    }
    let is_plumbing = PLUMBING.iter().any(|name| plan.name().starts_with(name));
    let limit = plan.fetch().filter(|_| is_plumbing && !plan.name().starts_with("LocalLimit"));
    let step = match (limit, label(plan)) {
        (Some(limit), _) => (format!("LIMIT {limit}"), StepRole::Reshape),
        (None, Some(step)) => step,
        (None, None) if is_plumbing || is_partial(plan) => return rows_in,
        (None, None) => (plan.name().trim_end_matches("Exec").to_uppercase(), StepRole::Reshape),
    };
    push(steps, step, rows_in, output_rows(plan))
}

fn source(plan: &dyn ExecutionPlan, steps: &mut Vec<Step>) -> u64 {
    let label = match plan.downcast_ref::<FileScanExec>() {
        Some(scan) => format!("'{}'", scan.table().location()),
        None => plan.name().trim_end_matches("Exec").to_string(),
    };
    // Tables in memory do not count what they give, but know how many rows they have.
    let rows_out = match plan.metrics().and_then(|metrics| metrics.output_rows()) {
        Some(n_rows) => n_rows as u64,
        None => known_rows(plan).unwrap_or(0),
    };
    push(steps, (label, StepRole::Source), 0, rows_out)
}

fn known_rows(plan: &dyn ExecutionPlan) -> Option<u64> {
    let statistics = StatisticsContext::new().compute(plan, &StatisticsArgs::new()).ok()?;
    statistics.num_rows.get_value().map(|n_rows| *n_rows as u64)
}

fn rules(filter: &AnnotateExec, n_rows_out: u64, rows_in: u64, steps: &mut Vec<Step>) -> u64 {
    let mut rows = rows_in;
    let n_set_aside = filter.n_set_aside().min(rows);
    if n_set_aside > 0 {
        let label = "set aside: could not be computed".to_string();
        rows = push(steps, (label, StepRole::Verb), rows, rows - n_set_aside);
    }
    for count in filter.rule_counts() {
        let rows_out = count.rows_in - count.rows_dropped.min(count.rows_in);
        let bytes_out = count.text_bytes_in - count.text_bytes_dropped.min(count.text_bytes_in);
        // A source does not look into its rows; the condition right after it knows what came in.
        if let Some(before) = steps.last_mut().filter(|before| before.rows_out == count.rows_in) {
            before.bytes_out = before.bytes_out.or(Some(count.text_bytes_in));
        }
        let label = format!("WHERE {}", count.label);
        rows = push(steps, (label, StepRole::Rule), rows, rows_out);
        if let Some(step) = steps.last_mut() {
            step.bytes_out = Some(bytes_out);
        }
    }
    for (label, n_changed) in filter.changes() {
        push(steps, (format!("SET {label}"), StepRole::Change), rows, rows);
        if let Some(step) = steps.last_mut() {
            step.n_changed = Some(n_changed);
        }
    }
    match filter.fetch() {
        Some(limit) => push(steps, (format!("LIMIT {limit}"), StepRole::Reshape), rows, n_rows_out),
        None => rows,
    }
}

fn push(steps: &mut Vec<Step>, (label, kind): (String, StepRole), rows_in: u64, rows_out: u64) -> u64 {
    let mut step = Step { label, kind, preset: None, rows_in, rows_out, bytes_out: None, n_changed: None };
    // One limit may be applied in several places, by each partition first.
    let is_limit = |step: &Step| step.label.starts_with("LIMIT ") || step.label.starts_with("OFFSET ");
    if let Some(before) = steps.pop_if(|before| is_limit(before) && is_limit(&step)) {
        step.rows_in = before.rows_in;
    }
    steps.push(step);
    rows_out
}

/// The child that the documents come from; `None` for a source.
fn main_child(plan: &dyn ExecutionPlan) -> Option<usize> {
    let n_children = plan.children().len();
    if n_children < 2 {
        return n_children.checked_sub(1);
    }
    let probe = 1;
    match join_type(plan) {
        // A hash join reads its left side first, into memory; the documents are on the other.
        Some(JoinType::Inner | JoinType::Right | JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark) => {
            Some(probe)
        }
        _ => Some(0),
    }
}

fn join_type(plan: &dyn ExecutionPlan) -> Option<JoinType> {
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        return Some(*join.join_type());
    }
    if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() {
        return Some(*join.join_type());
    }
    if let Some(join) = plan.downcast_ref::<SymmetricHashJoinExec>() {
        return Some(*join.join_type());
    }
    plan.downcast_ref::<SortMergeJoinExec>().map(|join| join.join_type())
}

/// What a user would call the step, and what it does. `None` for operators that are not steps or have no name in the language.
fn label(plan: &dyn ExecutionPlan) -> Option<(String, StepRole)> {
    if let Some(join_type) = join_type(plan) {
        let verb = match join_type {
            JoinType::Inner => "JOIN",
            JoinType::Left | JoinType::Right => "LEFT JOIN",
            JoinType::Full => "FULL JOIN",
            JoinType::LeftSemi | JoinType::RightSemi => "SEMI JOIN",
            JoinType::LeftAnti | JoinType::RightAnti => "ANTI JOIN",
            JoinType::LeftMark | JoinType::RightMark => "MARK JOIN",
        };
        return Some((verb.to_string(), StepRole::Verb));
    }
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        return Some((format!("WHERE {}", fmt_sql(filter.predicate().as_ref())), StepRole::Rule));
    }
    if let Some(limit) = plan.downcast_ref::<GlobalLimitExec>() {
        let label = match (limit.fetch(), limit.skip()) {
            (Some(fetch), 0) => format!("LIMIT {fetch}"),
            (Some(fetch), skip) => format!("LIMIT {fetch} OFFSET {skip}"),
            (None, skip) => format!("OFFSET {skip}"),
        };
        return Some((label, StepRole::Reshape));
    }
    let aggregate = plan.downcast_ref::<AggregateExec>().filter(|_| !is_partial(plan))?;
    let groups: Vec<&str> = aggregate.group_expr().expr().iter().map(|(_, name)| name.as_str()).collect();
    // `DISTINCT` is planned as grouping by all columns, with at most the hidden position of the first row beside.
    let functions = aggregate.aggr_expr();
    let are_hidden = functions.iter().all(|function| function.name().starts_with('_'));
    let is_distinct = are_hidden && functions.len() <= 1;
    Some(match groups.as_slice() {
        [] => ("AGGREGATE".to_string(), StepRole::Reshape),
        groups if is_distinct => (format!("DISTINCT {}", groups.join(", ")), StepRole::Verb),
        groups => (format!("GROUP BY {}", groups.join(", ")), StepRole::Reshape),
    })
}

/// The first half of an aggregation in two halves: its rows are not groups yet.
fn is_partial(plan: &dyn ExecutionPlan) -> bool {
    let mode = plan.downcast_ref::<AggregateExec>().map(|aggregate| aggregate.mode());
    matches!(mode, Some(AggregateMode::Partial | AggregateMode::PartialReduce))
}

pub(super) fn output_rows(plan: &dyn ExecutionPlan) -> u64 {
    plan.metrics().and_then(|metrics| metrics.output_rows()).unwrap_or(0) as u64
}

/// Bytes of the rows that came out, for operators that count them.
pub(super) fn output_bytes(plan: &dyn ExecutionPlan) -> Option<u64> {
    let bytes = plan.metrics()?.sum(|metric| matches!(metric.value(), MetricValue::OutputBytes(_)))?;
    Some(bytes.as_usize() as u64).filter(|n_bytes| *n_bytes > 0)
}

pub(super) fn counter(plan: &dyn ExecutionPlan, name: &str) -> u64 {
    plan.metrics().and_then(|metrics| metrics.sum_by_name(name)).map_or(0, |count| count.as_usize() as u64)
}
