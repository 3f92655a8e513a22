//! What each rule and each step of a program did, counted.

use super::changes::Change;
use super::program::Program;
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet, Time};
use std::time::Duration;

/// What one rule did so far, in all partitions.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleCounts {
    /// The condition as a user would write it.
    pub label: String,
    /// Rows that the rules before it, in the order shown, left.
    pub rows_in: u64,
    /// Rows that it dropped: for which it was false or NULL.
    pub rows_dropped: u64,
    /// Rows that it really looked at. Differs from `rows_in` only where the order was changed while running.
    pub rows_evaluated: u64,
    /// Bytes of text in the rows that came in.
    pub text_bytes_in: u64,
    /// Bytes of text in the rows that it dropped.
    pub text_bytes_dropped: u64,
    /// Time spent in it, without the steps whose columns it reads.
    pub elapsed: Duration,
}

/// What one step did so far, in all partitions.
#[derive(Debug, Clone, PartialEq)]
pub struct StepCounts {
    /// Rows that it computed.
    pub rows: u64,
    /// Time spent in it.
    pub elapsed: Duration,
}

/// The counters of one rule in one partition.
pub(super) struct RuleMetrics {
    pub rows_evaluated: Count,
    pub rows_dropped: Count,
    pub text_bytes_dropped: Count,
    pub elapsed: Time,
}

/// The counters of one step in one partition.
pub(super) struct StepMetrics {
    pub rows: Count,
    pub elapsed: Time,
}

/// All counters of one partition.
pub(super) struct Metrics {
    pub text_bytes_in: Count,
    pub rows_in: Count,
    /// Documents that an operator failed on or took too long for, which no other counter has.
    pub set_aside: Count,
    pub rules: Vec<RuleMetrics>,
    pub steps: Vec<StepMetrics>,
    /// For each change of a text, how many were changed.
    pub changed: Vec<Count>,
}

impl Metrics {
    pub fn new(program: &Program, changes: &[Change], set: &ExecutionPlanMetricsSet, partition: usize) -> Self {
        let counter = |name: String| MetricBuilder::new(set).counter(name, partition);
        let timer = |name: String| MetricBuilder::new(set).subset_time(name, partition);
        let rule = |rule: usize| RuleMetrics {
            rows_evaluated: counter(format!("rule_{rule}_evaluated")),
            rows_dropped: counter(format!("rule_{rule}_dropped")),
            text_bytes_dropped: counter(format!("rule_{rule}_bytes_dropped")),
            elapsed: timer(format!("rule_{rule}_time")),
        };
        let step = |step: usize| StepMetrics {
            rows: counter(format!("step_{step}_rows")),
            elapsed: timer(format!("step_{step}_time")),
        };
        Self {
            text_bytes_in: counter("text_bytes_in".to_string()),
            rows_in: counter("rows_in".to_string()),
            set_aside: counter(SET_ASIDE.to_string()),
            rules: (0..program.rules.len()).map(rule).collect(),
            steps: (0..program.steps.len()).map(step).collect(),
            changed: changes.iter().map(|change| counter(changed(change.output))).collect(),
        }
    }
}

impl Metrics {
    /// What was counted so far, times aside.
    pub fn counted(&self) -> Vec<usize> {
        self.counts().map(Count::value).collect()
    }

    /// Takes back what was counted since.
    pub fn take_back_to(&self, counted: &[usize]) {
        for (count, before) in self.counts().zip(counted) {
            // Only this partition counts here, and adding wraps around.
            count.add(before.wrapping_sub(count.value()));
        }
    }

    fn counts(&self) -> impl Iterator<Item = &Count> {
        fn of_rule(rule: &RuleMetrics) -> [&Count; 3] {
            [&rule.rows_evaluated, &rule.rows_dropped, &rule.text_bytes_dropped]
        }
        let rules = self.rules.iter().flat_map(of_rule);
        let steps = self.steps.iter().map(|step| &step.rows);
        [&self.text_bytes_in, &self.rows_in].into_iter().chain(rules).chain(steps).chain(&self.changed)
    }
}

const SET_ASIDE: &str = "rows_set_aside";

/// How many documents operators failed on, in all partitions.
pub(super) fn n_set_aside(metrics: &MetricsSet) -> u64 {
    sum(metrics, SET_ASIDE)
}

/// How many texts of an output were changed, in all partitions.
pub(super) fn n_changed(metrics: &MetricsSet, output: usize) -> u64 {
    sum(metrics, &changed(output))
}

fn changed(output: usize) -> String {
    format!("texts_changed_{output}")
}

fn sum(metrics: &MetricsSet, name: &str) -> u64 {
    metrics.sum_by_name(name).map_or(0, |value| value.as_usize() as u64)
}

/// The rules' counters of all partitions, added up.
pub(super) fn of_rules(program: &Program, metrics: &MetricsSet) -> Vec<RuleCounts> {
    let mut rows_in = sum(metrics, "rows_in");
    let mut text_bytes_in = sum(metrics, "text_bytes_in");
    let mut counts = Vec::with_capacity(program.rules.len());
    for (index, rule) in program.rules.iter().enumerate() {
        let of_rule = |what: &str| sum(metrics, &format!("rule_{index}_{what}"));
        let count = RuleCounts {
            label: rule.label.clone(),
            rows_in,
            rows_dropped: of_rule("dropped"),
            rows_evaluated: of_rule("evaluated"),
            text_bytes_in,
            text_bytes_dropped: of_rule("bytes_dropped"),
            elapsed: Duration::from_nanos(of_rule("time")),
        };
        rows_in = rows_in.saturating_sub(count.rows_dropped);
        text_bytes_in = text_bytes_in.saturating_sub(count.text_bytes_dropped);
        counts.push(count);
    }
    counts
}

/// The steps' counters of all partitions, added up.
pub(super) fn of_steps(program: &Program, metrics: &MetricsSet) -> Vec<StepCounts> {
    let count = |index: usize| StepCounts {
        rows: sum(metrics, &format!("step_{index}_rows")),
        elapsed: Duration::from_nanos(sum(metrics, &format!("step_{index}_time"))),
    };
    (0..program.steps.len()).map(count).collect()
}
