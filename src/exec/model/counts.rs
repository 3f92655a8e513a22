//! What a node for models has done, counted.

use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet};

const ROWS: &str = "model_rows";
const BATCHES: &str = "model_batches";
const FILL: &str = "model_fill_permille";
const HALVED: &str = "model_halved";
const SET_ASIDE: &str = "rows_set_aside";

/// What was done so far, in all partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelCounts {
    /// Rows that came.
    pub rows: u64,
    /// Batches that they were gathered to.
    pub batches: u64,
    /// How full the batches were, added up, in thousandths.
    pub fill_permille: u64,
    /// Batches that were halved because memory was refused.
    pub halved: u64,
    /// Rows that were set aside.
    pub set_aside: u64,
}

impl ModelCounts {
    pub(super) fn of(metrics: &MetricsSet) -> Self {
        let sum = |name: &str| metrics.sum_by_name(name).map_or(0, |value| value.as_usize() as u64);
        Self {
            rows: sum(ROWS),
            batches: sum(BATCHES),
            fill_permille: sum(FILL),
            halved: sum(HALVED),
            set_aside: sum(SET_ASIDE),
        }
    }

    /// As EXPLAIN ANALYZE shows it.
    pub fn shown(&self) -> String {
        let per_batch = |sum: u64| sum as f64 / self.batches.max(1) as f64;
        let mut shown = format!(
            "batches {}  of {:.0} rows each, {:.0} % full",
            self.batches,
            per_batch(self.rows),
            per_batch(self.fill_permille) / 10.0
        );
        for (count, what) in [(self.halved, "halved for memory"), (self.set_aside, "set aside")] {
            if count > 0 {
                shown.push_str(&format!("  {what} {count}"));
            }
        }
        shown
    }
}

/// The counters of one partition.
pub(super) struct Metrics {
    pub rows: Count,
    pub batches: Count,
    pub fill_permille: Count,
    pub halved: Count,
    pub set_aside: Count,
}

impl Metrics {
    pub fn new(set: &ExecutionPlanMetricsSet, partition: usize) -> Self {
        let counter = |name: &'static str| MetricBuilder::new(set).counter(name, partition);
        Self {
            rows: counter(ROWS),
            batches: counter(BATCHES),
            fill_permille: counter(FILL),
            halved: counter(HALVED),
            set_aside: counter(SET_ASIDE),
        }
    }
}
