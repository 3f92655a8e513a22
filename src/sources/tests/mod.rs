//! The whole way: files on disk, through a scan, to rows and rejects.

#![allow(clippy::unwrap_used, clippy::panic)]

mod broken;
mod columnar;
mod formats;
mod json;
mod round_trip;
mod scan;
mod warc;

use super::*;
use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Int64Type, UInt64Type};
use arrow::util::display::array_value_to_string;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::{SessionConfig, SessionContext};
use std::fs;
use std::io::Write;
use std::num::NonZeroUsize;
use tempfile::TempDir;

/// A folder with files, and how to read them.
struct Bench {
    folder: TempDir,
    config: Config,
    options: SourceOptions,
    extra: ExtraColumns,
    batch_rows: usize,
    n_partitions: usize,
}

/// What a scan gave.
struct Outcome {
    batches: Vec<Vec<RecordBatch>>,
    rejects: RejectSummary,
    columns: Vec<String>,
}

impl Bench {
    fn new(files: &[(&str, &[u8])]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        Self {
            folder,
            config: Config::default(),
            options: SourceOptions::default(),
            extra: ExtraColumns::default(),
            batch_rows: 8192,
            n_partitions: 1,
        }
    }

    fn with(mut self, name: &str, value: &str) -> Self {
        self.options.set(name, value).unwrap();
        self
    }

    fn batch_bytes(mut self, batch_bytes: usize) -> Self {
        self.config.batch_bytes = NonZeroUsize::new(batch_bytes).unwrap();
        self
    }

    fn spec(&self, location: &str) -> SourceSpec {
        let location = self.folder.path().join(location).to_string_lossy().into_owned();
        SourceSpec { location, options: self.options.clone() }
    }

    fn table(&self, location: &str) -> FileTable {
        open(&self.spec(location), &self.config).unwrap().with_extra(self.extra)
    }

    fn scan(&self, location: &str) -> Outcome {
        self.scan_columns(location, None)
    }

    fn scan_columns(&self, location: &str, columns: Option<&[&str]>) -> Outcome {
        self.try_scan(self.table(location), columns, Arc::new(RejectLog::new(None, false))).unwrap()
    }

    fn try_scan(&self, table: FileTable, columns: Option<&[&str]>, log: Arc<RejectLog>) -> Result<Outcome> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let config = SessionConfig::new()
                .with_target_partitions(self.n_partitions)
                .with_batch_size(self.batch_rows)
                .with_extension(log.clone());
            let context = SessionContext::new_with_config(config);
            let schema = table.schema();
            let projection = columns.map(|names| names.iter().map(|name| schema.index_of(name).unwrap()).collect());
            let state = context.state();
            let plan = datafusion::catalog::TableProvider::scan(&table, &state, projection.as_ref(), &[], None).await?;
            let columns = plan.schema().fields().iter().map(|field| field.name().clone()).collect();
            let batches = datafusion::physical_plan::collect_partitioned(plan, context.task_ctx()).await?;
            Ok(Outcome { batches, rejects: log.summary(), columns })
        })
    }
}

impl Outcome {
    fn all(&self) -> impl Iterator<Item = &RecordBatch> {
        self.batches.iter().flatten()
    }

    fn n_rows(&self) -> usize {
        self.all().map(RecordBatch::num_rows).sum()
    }

    /// A column as text, nulls as `NULL`.
    fn column(&self, name: &str) -> Vec<String> {
        let mut values = Vec::new();
        for batch in self.all() {
            let column = batch.column_by_name(name).unwrap_or_else(|| panic!("no column {name} in {:?}", self.columns));
            for row in 0..batch.num_rows() {
                let is_null = column.is_null(row);
                values.push(if is_null { "NULL".into() } else { array_value_to_string(column, row).unwrap() });
            }
        }
        values
    }

    fn reject_reasons(&self) -> Vec<String> {
        // The folder's name is random; the file name and what follows is not.
        self.rejects.first.iter().map(|text| text.rsplit_once('/').unwrap().1.to_string()).collect()
    }
}

fn numbered_lines(n_lines: usize) -> String {
    (0..n_lines).map(|i| format!("{{\"id\":{i},\"text\":\"{}\"}}\n", "w ".repeat(i % 50))).collect()
}

/// The sum of a counter over the scans of a plan.
fn scan_metric(plan: &dyn ExecutionPlan, name: &str) -> usize {
    let own = plan.downcast_ref::<FileScanExec>().and_then(ExecutionPlan::metrics);
    let own = own.and_then(|metrics| metrics.sum_by_name(name)).map_or(0, |value| value.as_usize());
    own + plan.children().into_iter().map(|child| scan_metric(child.as_ref(), name)).sum::<usize>()
}
