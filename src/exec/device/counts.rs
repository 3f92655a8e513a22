//! What went over to a device and back, and what was done when it did not fit.

use crate::config::format_bytes;
use crate::cost::format_seconds;
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet, Time};

/// The copies of one direction.
pub(super) struct CopyCounts {
    pub copies: Count,
    pub bytes: Count,
    pub time: Time,
}

impl CopyCounts {
    pub fn new(metrics: &ExecutionPlanMetricsSet, partition: usize) -> Self {
        let counter = |name: &'static str| MetricBuilder::new(metrics).counter(name, partition);
        let time = MetricBuilder::new(metrics).subset_time("copy_time", partition);
        Self { copies: counter("copies"), bytes: counter("copied_bytes"), time }
    }

    pub fn add(&self, n_bytes: usize) {
        self.copies.add(1);
        self.bytes.add(n_bytes);
    }
}

/// What happened to the batches of one partition.
pub(super) struct BatchCounts {
    pub batches: Count,
    pub launches: Count,
    /// Memory that was kept for later batches was given back.
    pub trims: Count,
    /// A batch waited for another to end.
    pub waits: Count,
    /// A batch was halved.
    pub splits: Count,
    /// A batch ran on the CPU.
    pub cpu_batches: Count,
    /// Rows that fit nowhere.
    pub set_aside: Count,
    /// A batch had more groups than a device tells apart.
    pub full: Count,
    /// What kernels took, by the device's own clock.
    pub time: Time,
}

const NAMES: [(&str, &str); 8] = [
    ("device_batches", "batches"),
    ("launches", "launches"),
    ("trims", "times memory given back"),
    ("waits", "waits"),
    ("splits", "splits"),
    ("cpu_batches", "batches on the CPU"),
    ("set_aside_rows", "rows set aside"),
    ("full_tables", "batches with too many groups"),
];

impl BatchCounts {
    pub fn new(metrics: &ExecutionPlanMetricsSet, partition: usize) -> Self {
        let counter = |index: usize| MetricBuilder::new(metrics).counter(NAMES[index].0, partition);
        Self {
            batches: counter(0),
            launches: counter(1),
            trims: counter(2),
            waits: counter(3),
            splits: counter(4),
            cpu_batches: counter(5),
            set_aside: counter(6),
            full: counter(7),
            time: MetricBuilder::new(metrics).subset_time("kernel_time", partition),
        }
    }
}

fn sum(metrics: &MetricsSet, name: &str) -> usize {
    metrics.sum_by_name(name).map_or(0, |value| value.as_usize())
}

/// `batches 3  launches 3  splits 2`: what is not 0, for EXPLAIN ANALYZE.
pub(super) fn batches_line(metrics: &MetricsSet) -> String {
    let counts = NAMES.iter().map(|(name, shown)| (shown, sum(metrics, name)));
    let shown: Vec<String> =
        counts.filter(|(_, count)| *count > 0).map(|(shown, count)| format!("{shown} {count}")).collect();
    format!("{}  kernels {}", shown.join("  "), seconds(metrics, "kernel_time"))
}

fn seconds(metrics: &MetricsSet, name: &str) -> String {
    format_seconds(sum(metrics, name) as f64 / 1e9)
}

/// `copies 3  12.0 MB (12000123 bytes)  1.2 ms`.
pub(super) fn copies_line(metrics: &MetricsSet) -> String {
    let n_bytes = sum(metrics, "copied_bytes");
    let (n_copies, time) = (sum(metrics, "copies"), seconds(metrics, "copy_time"));
    format!("copies {n_copies}  {} ({n_bytes} bytes)  {time}", format_bytes(n_bytes))
}
