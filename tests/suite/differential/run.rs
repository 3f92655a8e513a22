//! A pipeline through curator, in one of the ways in which it may be computed.

use super::data::{Layout, Table};
use super::query::Pipeline;
use super::render::Places;
use super::values::{Chance, Row, Value};
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use curator::diag::SourceText;
use curator::internals::OPTIONAL_RULES;
use curator::{Compiled, Config, Language, Session};
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// The settings and the files of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way {
    pub threads: usize,
    pub batch_rows: usize,
    pub batch_bytes: usize,
    pub optimize: bool,
    /// One of our rules that is left out.
    pub without: Option<&'static str>,
    /// Joins as for large tables, whose rows go to partitions by their key.
    pub partitioned_joins: bool,
    pub layout: Layout,
}

/// So many are kept for the next pipeline.
const MOST_SESSIONS: usize = 60;

/// Below these sizes one side of a join is collected whole.
const PARTITIONED_JOINS: &str = "SET datafusion.optimizer.hash_join_single_partition_threshold = 0;
SET datafusion.optimizer.hash_join_single_partition_threshold_rows = 0;
";

impl Way {
    pub fn random(chance: &mut Chance) -> Self {
        let (batch_rows, batch_bytes) =
            *chance.pick(&[(8192, 1 << 20), (1, 1 << 20), (3, 1 << 20), (7, 100), (2, 100)]);
        let layout = Layout { parquet: chance.percent(35), n_files: *chance.pick(&[1, 1, 2, 3, 5]) };
        let optimize = chance.percent(70);
        // There is no device to place operators on.
        let rules: Vec<&str> = OPTIONAL_RULES.into_iter().filter(|rule| *rule != "PlaceOperators").collect();
        Self {
            threads: *chance.pick(&[1, 4]),
            batch_rows,
            batch_bytes,
            optimize,
            without: (optimize && chance.percent(20)).then(|| *chance.pick(&rules)),
            partitioned_joins: chance.percent(30),
            layout,
        }
    }

    fn config(&self) -> Config {
        let count = |n| NonZeroUsize::new(n).unwrap();
        Config {
            threads: count(self.threads),
            batch_rows: count(self.batch_rows),
            batch_bytes: count(self.batch_bytes),
            // With small batches, small splits: every file is cut.
            block_bytes: count(if self.batch_bytes < 1000 { 60 } else { 1 << 20 }),
            optimize: self.optimize,
            disabled_rules: self.without.iter().map(|rule| rule.to_string()).collect(),
            memory_limit_bytes: Some(1 << 30),
            ..Config::default()
        }
    }
}

/// The rows with the names of their columns, or how it failed.
pub type Found = Result<(Vec<String>, Vec<Row>), String>;

/// Sessions are expensive, so that each way keeps its own.
pub struct Runner {
    runtime: tokio::runtime::Runtime,
    sessions: Vec<((Config, bool), Session)>,
}

impl Runner {
    pub fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_stack_size(16 << 20)
            .enable_all()
            .build()
            .unwrap();
        Self { runtime, sessions: vec![] }
    }

    pub fn run(&mut self, tables: &[Table], pipeline: &Pipeline, way: &Way) -> Found {
        let folder = tempfile::tempdir().unwrap();
        let mut text = if way.partitioned_joins { PARTITIONED_JOINS.to_string() } else { String::new() };
        let mut places = vec![];
        for (number, table) in tables.iter().enumerate() {
            let (place, definition) = table.write(folder.path(), &format!("table{number}"), way.layout);
            places.push(place);
            text.push_str(&definition);
        }
        text.push_str(&Places(&places).pipeline(pipeline));
        let settings = (way.config(), way.partitioned_joins);
        let at = self.sessions.iter().position(|(other, _)| *other == settings);
        let at = at.unwrap_or_else(|| {
            if self.sessions.len() == MOST_SESSIONS {
                self.sessions.clear();
            }
            let session = Session::new(settings.0.clone()).unwrap();
            self.sessions.push((settings, session));
            self.sessions.len() - 1
        });
        let session = &mut self.sessions[at].1;
        let run = || {
            self.runtime.block_on(async {
                let all = tokio::time::timeout(Duration::from_secs(30), rows(session, &text));
                all.await.unwrap_or_else(|_| Err("it did not end in 30 seconds".to_string()))
            })
        };
        let found = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default();
            self.sessions.remove(at);
            Err(format!("panic: {text}"))
        });
        found.map_err(|error| error.replace(&folder.path().display().to_string(), ""))
    }
}

async fn rows(session: &mut Session, text: &str) -> Found {
    let source = SourceText::new("differential", text);
    let script = session.parse(&source, Language::Cql).map_err(|error| error.to_string())?;
    let mut rows = vec![];
    let mut names = vec![];
    for index in 0..script.statements.len() {
        let plan = match session.compile(&script, index).await.map_err(|error| error.to_string())? {
            Compiled::Query(plan) => plan,
            _ => continue,
        };
        let mut run = session.execute(&plan).await.map_err(|error| error.to_string())?;
        names = run.schema().fields().iter().map(|field| field.name().clone()).collect();
        while let Some(batch) = run.next().await {
            rows.extend(rows_of(&batch.map_err(|error| error.to_string())?)?);
        }
    }
    Ok((names, rows))
}

fn rows_of(batch: &RecordBatch) -> Result<Vec<Row>, String> {
    let mut rows = vec![vec![]; batch.num_rows()];
    for column in batch.columns() {
        for (row, value) in rows.iter_mut().zip(values_of(column)?) {
            row.push(value);
        }
    }
    Ok(rows)
}

fn values_of(column: &ArrayRef) -> Result<Vec<Value>, String> {
    let n_rows = column.len();
    let to = |kind: &DataType| cast(column, kind).map_err(|error| error.to_string());
    match column.data_type() {
        DataType::Null => Ok(vec![Value::Null; n_rows]),
        DataType::Boolean => {
            let values = column.as_boolean();
            Ok(values.iter().map(|value| value.map_or(Value::Null, Value::Bool)).collect())
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            let texts = to(&DataType::Utf8)?;
            Ok(texts.as_string::<i32>().iter().map(|value| value.map_or(Value::Null, Value::text)).collect())
        }
        DataType::Decimal128(_, 0) => ints(&to(&DataType::Int64)?),
        kind if kind.is_integer() => ints(&to(&DataType::Int64)?),
        other => Err(format!("a column of type {other}")),
    }
}

fn ints(column: &ArrayRef) -> Result<Vec<Value>, String> {
    Ok(column.as_primitive::<Int64Type>().iter().map(|value| value.map_or(Value::Null, Value::Int)).collect())
}
