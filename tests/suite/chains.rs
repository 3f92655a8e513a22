//! What is done to each row alone can be done split by split, in any process, again and again: the same rows each time.
//!
//! `alone.rs` runs scans from their encoded form; here another process plans the queries for itself, and runs each split of
//! each chain (a scan and what looks at its rows one by one) alone and twice, in an order of its own.

use super::harness::{block_on, files, language_of, read, session_for};
use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;
use curator::internals::{FileScanExec, SplitShare};
use curator::{Compiled, Config};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, collect_partitioned, execute_stream};
use datafusion::prelude::{SessionConfig, SessionContext};
use futures::TryStreamExt;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// Where a process of [`run_each_split_of_each_chain`] writes what it found.
const FOLDER_VARIABLE: &str = "CURATOR_TEST_CHAINS";

/// Nodes that look at each row alone.
const ROW_BY_ROW: [&str; 6] =
    ["AnnotateExec", "CooperativeExec", "DeviceExec", "FilterExec", "ProjectionExec", "ToBackendExec"];

type Plan = Arc<dyn ExecutionPlan>;

fn number(n: usize) -> NonZeroUsize {
    NonZeroUsize::new(n).unwrap()
}

fn config() -> Config {
    Config { threads: number(3), block_bytes: number(300), batch_bytes: number(150), ..Config::default() }
}

fn scan_of(chain: &Plan) -> Option<&FileScanExec> {
    match chain.downcast_ref::<FileScanExec>() {
        Some(scan) => Some(scan).filter(|scan| scan.fetch().is_none()),
        None if ROW_BY_ROW.contains(&chain.name()) && chain.fetch().is_none() => match chain.children().as_slice() {
            [input] => scan_of(input),
            _ => None,
        },
        None => None,
    }
}

fn chains(plan: &Plan, found: &mut Vec<Plan>) {
    match scan_of(plan) {
        Some(_) => found.push(Arc::clone(plan)),
        // Its chains wait for a subquery's one value.
        None if plan.name() == "ScalarSubqueryExec" => {}
        None => plan.children().into_iter().for_each(|child| chains(child, found)),
    }
}

/// The chains of all queries of the corpus, each with the file that it is in. Random numbers are others each time.
fn corpus() -> Vec<(PathBuf, Plan)> {
    let mut all = vec![];
    for path in files("tests/corpus", ".cql") {
        let source = read(&path);
        if source.text().contains("random()") || source.text().contains("uuid()") {
            continue;
        }
        let mut session = session_for(&source, config());
        let script = session.parse(&source, language_of(&path)).unwrap();
        for index in 0..script.statements.len() {
            let (Compiled::Query(plan) | Compiled::Explain { plan, .. }) =
                block_on(session.compile(&script, index)).unwrap()
            else {
                continue;
            };
            let mut found = vec![];
            chains(&block_on(session.plan(&plan)).unwrap(), &mut found);
            all.extend(found.into_iter().map(|chain| (path.clone(), chain)));
        }
    }
    all
}

fn context(config: SessionConfig) -> Arc<datafusion::execution::TaskContext> {
    SessionContext::new_with_config(config).task_ctx()
}

/// The rows of one split, read by nobody else.
fn rows_of_split(chain: &Plan, split: usize) -> RecordBatch {
    let config = SessionConfig::new().with_extension(Arc::new(SplitShare::from(split..split + 1)));
    let rows = chain.execute(0, context(config)).unwrap();
    let batches: Vec<RecordBatch> = block_on(rows.try_collect()).unwrap();
    concat_batches(&chain.schema(), &batches).unwrap()
}

fn name(folder: &Path, chain: usize, split: usize, time: &str) -> PathBuf {
    folder.join(format!("{chain}-{split}.{time}"))
}

#[test]
#[ignore = "the other process of the test in this file"]
fn run_each_split_of_each_chain() {
    let Ok(folder) = std::env::var(FOLDER_VARIABLE) else { return };
    let chains = corpus();
    let mut splits: Vec<(usize, usize)> = vec![];
    for (number, (_, chain)) in chains.iter().enumerate() {
        splits.extend((0..scan_of(chain).unwrap().n_splits()).map(|split| (number, split)));
    }
    for time in ["first", "second"] {
        splits.sort_by_key(|split| xxhash_rust::xxh3::xxh3_64(format!("{time} {split:?}").as_bytes()));
        for (number, split) in &splits {
            let rows = rows_of_split(&chains[*number].1, *split);
            let mut writer = StreamWriter::try_new(Vec::new(), &rows.schema()).unwrap();
            writer.write(&rows).unwrap();
            std::fs::write(name(Path::new(&folder), *number, *split, time), writer.into_inner().unwrap()).unwrap();
        }
    }
}

#[test]
fn every_split_of_every_corpus_plan_gives_its_rows_alone_and_again_in_another_process() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "suite::chains::run_each_split_of_each_chain", "--ignored", "--nocapture"]);
    let output = command.env(FOLDER_VARIABLE, folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (mut n_chains, mut n_computing, mut most_splits) = (0, 0, 0);
    for (number, (path, chain)) in corpus().into_iter().enumerate() {
        let (n_splits, schema) = (scan_of(&chain).unwrap().n_splits(), chain.schema());
        let of_split = |split: usize| {
            let read = |time: &str| std::fs::read(name(folder.path(), number, split, time)).unwrap();
            assert!(read("first") == read("second"), "{}: split {split}", path.display());
            StreamReader::try_new(read("first").as_slice(), None).unwrap().next().unwrap().unwrap()
        };
        let alone: Vec<RecordBatch> = (0..n_splits).map(of_split).collect();
        let alone = concat_batches(&schema, &alone).unwrap();
        // All partitions at once take splits as they come; one gives them in order.
        let whole = match chain.output_partitioning().partition_count() {
            1 => block_on(execute_stream(chain.clone(), context(SessionConfig::new())).unwrap().try_collect()).unwrap(),
            _ => block_on(collect_partitioned(chain.clone(), context(SessionConfig::new()))).unwrap().concat(),
        };
        let whole: Vec<RecordBatch> = whole;
        let whole = concat_batches(&schema, &whole).unwrap();
        let lines = |rows: &RecordBatch| {
            let mut lines: Vec<String> = arrow::util::pretty::pretty_format_batches(std::slice::from_ref(rows))
                .unwrap()
                .to_string()
                .lines()
                .map(str::to_string)
                .collect();
            lines.sort();
            lines
        };
        assert_eq!(lines(&alone), lines(&whole), "{}", path.display());
        n_chains += 1;
        n_computing += usize::from(chain.name() != "FileScanExec");
        most_splits = most_splits.max(n_splits);
    }
    assert!(n_chains > 50 && n_computing > 20 && most_splits > 10, "{n_chains} {n_computing} {most_splits}");
}
