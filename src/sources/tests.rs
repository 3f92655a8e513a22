//! The whole way: files on disk, through a scan, to rows and rejects.

#![allow(clippy::unwrap_used, clippy::panic)]

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
            Ok(Outcome { batches, rejects: log.finish()?, columns })
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

const MESS: &[u8] = b"\xef\xbb\xbf{\"id\":1,\"text\":\"bom\",\"keep\":\"a\"}\r\n\
\r\n\
   \n\
{\"id\":2,\"text\":\"caf\xff\",\"keep\":\"b\"}\n\
{\"id\":3,\"text\":\"\\ud800\",\"keep\":\"c\"}\n\
[1,2]\n\
{\"id\":4,\"keep\":\"d\",\"keep\":\"last wins\"}\n\
{\"id\":null,\"text\":null,\"keep\":\"e\"} \n\
{\"id\":5,\"text\":\"x\"} trailing\n\
{\"id\":6,\"text\":\"\\u00e9\\n\\ud83d\\ude00\",\"keep\":\"f\"}\n\
{\"id\":7,\"text\":\"cut o";

#[test]
fn each_mess_gives_the_right_rows_and_rejects() {
    for batch_bytes in [1, 64, 1 << 20] {
        for n_partitions in [1, 4] {
            let mut bench = Bench::new(&[("mess.jsonl", MESS)]).batch_bytes(batch_bytes);
            bench.n_partitions = n_partitions;
            bench.extra = ExtraColumns { file: true, row: true, position: true };
            let outcome = bench.scan("mess.jsonl");
            let mut rows: Vec<_> = outcome
                .column("_row")
                .into_iter()
                .zip(outcome.column("id"))
                .zip(outcome.column("text"))
                .zip(outcome.column("keep"))
                .map(|(((row, id), text), keep)| (row.parse::<u64>().unwrap(), id, text, keep))
                .collect();
            rows.sort();
            let expected = [
                (1, "1", "bom", "a"),
                (7, "4", "NULL", "last wins"),
                (8, "NULL", "NULL", "e"),
                (10, "6", "é\n😀", "f"),
            ];
            assert_eq!(rows, expected.map(|(row, id, text, keep)| (row, id.into(), text.into(), keep.into())));
            assert_eq!(
                outcome.reject_reasons(),
                [
                    "mess.jsonl:4: not UTF-8: byte 20 of the line is invalid",
                    "mess.jsonl:5: `\\ud800` at byte 17 is half of a surrogate pair, not a character",
                    "mess.jsonl:6: the line is an array, not a JSON object",
                    "mess.jsonl:9: there is more on the line after the JSON object",
                    "mess.jsonl:11: the line ends inside a string",
                ]
            );
            assert_eq!(outcome.rejects.n_rejects, 5);
            // The whole input was seen, so there is no column for surprises.
            assert_eq!(outcome.columns, ["id", "text", "keep", "_file", "_row", "_seq"]);
        }
    }
}

#[test]
fn rejects_do_not_depend_on_the_columns_that_are_read() {
    let bench = Bench::new(&[("mess.jsonl", MESS)]);
    for columns in [&[][..], &["keep"], &["id"]] {
        let outcome = bench.scan_columns("mess.jsonl", Some(columns));
        assert_eq!((outcome.n_rows(), outcome.rejects.n_rejects), (4, 5), "{columns:?}");
        assert_eq!(outcome.columns, columns);
    }
}

#[test]
fn rejects_are_written_with_place_and_bytes() {
    let bench = Bench::new(&[("mess.jsonl", MESS)]);
    let log = Arc::new(RejectLog::new(Some(bench.folder.path().join("rejects")), false));
    bench.try_scan(bench.table("mess.jsonl"), None, log).unwrap();
    let text = fs::read_to_string(bench.folder.path().join("rejects/rejects.jsonl")).unwrap();
    let rejects: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rejects.len(), 5);
    for reject in rejects {
        let start = reject["byte_offset"].as_u64().unwrap() as usize;
        let raw = MESS[start..].split(|byte| *byte == b'\n').next().unwrap();
        assert_eq!(reject["raw"], String::from_utf8_lossy(raw).into_owned());
    }
}

#[test]
fn strict_runs_stop_at_the_first_reject() {
    let bench = Bench::new(&[("mess.jsonl", MESS)]);
    let failed = bench.try_scan(bench.table("mess.jsonl"), None, Arc::new(RejectLog::new(None, true)));
    let message = failed.err().unwrap().to_string();
    assert!(message.contains("mess.jsonl:4: not UTF-8"), "{message}");
}

#[test]
fn conflicting_types_become_text_as_written() {
    let lines = br#"{"a":"x","b":1,"c":{"k":1},"d":[1,"x"],"e":1,"big":18446744073709551615,"huge":1e999}
{"a":1.50,"b":2.5,"c":"plain","d":[],"e":{"n": [1, 2]},"big":3,"huge":123456789012345678901234567890}
"#;
    let outcome = Bench::new(&[("a.jsonl", lines)]).scan("a.jsonl");
    assert_eq!(outcome.column("a"), ["x", "1.50"]);
    assert_eq!(outcome.column("b"), ["1.0", "2.5"]);
    assert_eq!(outcome.column("c"), ["{\"k\":1}", "plain"]);
    assert_eq!(outcome.column("d"), ["[1, x]", "[]"]);
    assert_eq!(outcome.column("e"), ["1", "{\"n\": [1, 2]}"]);
    assert_eq!(outcome.column("big"), ["18446744073709551615", "3"]);
    assert_eq!(outcome.column("huge"), ["1e999", "123456789012345678901234567890"]);
}

#[test]
fn what_the_sample_did_not_show_goes_to_extra() {
    let mut bench = Bench::new(&[(
        "a.jsonl",
        br#"{"id":1,"meta":{"u":"x"},"tags":[1]}
{"id":"two","meta":{"u":"y","new":7},"tags":[1,"x"],"note":"hi"}
{"id":3,"meta":5,"tags":[2,3]}
"#,
    )]);
    bench.config.sample_bytes = 20;
    let outcome = bench.scan("a.jsonl");
    assert_eq!(outcome.columns, ["id", "meta", "tags", "_extra"]);
    assert_eq!(outcome.column("id"), ["1", "NULL", "3"]);
    assert_eq!(outcome.column("meta"), ["{u: x}", "{u: y}", "NULL"]);
    assert_eq!(outcome.column("tags"), ["[1]", "NULL", "[2, 3]"]);
    let extra = outcome.column("_extra");
    assert_eq!(extra[1], r#"{"id":"two","meta":{"new":7},"tags":[1,"x"],"note":"hi"}"#);
    assert_eq!((extra[0].as_str(), extra[2].as_str()), ("NULL", "{\"meta\":5}"));
    assert_eq!(outcome.rejects.n_rejects, 0);
    // Misfits of columns that are not read are in `_extra` too.
    assert_eq!(bench.scan_columns("a.jsonl", Some(&["_extra"])).column("_extra"), extra);
}

#[test]
fn declared_columns_are_taken_and_misfits_rejected_whatever_is_read() {
    let lines = b"{\"id\":1,\"text\":7,\"more\":1}\n{\"id\":\"x\",\"text\":\"t\"}\n{\"text\":\"u\"}\n";
    let bench = Bench::new(&[("a.jsonl", lines)]).with("columns", "id BIGINT, text VARCHAR, score DOUBLE");
    let outcome = bench.scan("a.jsonl");
    assert_eq!(outcome.column("text"), ["7", "u"]);
    assert_eq!(outcome.column("score"), ["NULL", "NULL"]);
    assert_eq!(outcome.reject_reasons(), ["a.jsonl:2: field `id`: `\"x\"` does not fit the column's type"]);
    assert_eq!(bench.scan_columns("a.jsonl", Some(&["text"])).column("text"), ["7", "u"]);
}

fn numbered_lines(n_lines: usize) -> String {
    (0..n_lines).map(|i| format!("{{\"id\":{i},\"text\":\"{}\"}}\n", "w ".repeat(i % 50))).collect()
}

#[test]
fn partitions_share_the_rows_and_each_is_in_order() {
    let zst: Vec<u8> =
        numbered_lines(1000).as_bytes().chunks(5000).flat_map(|part| zstd::encode_all(part, 1).unwrap()).collect();
    let text = numbered_lines(700);
    let mut seen = Vec::new();
    for n_partitions in [1, 4] {
        let mut bench = Bench::new(&[("a.jsonl.zst", &zst), ("b.jsonl", text.as_bytes())]).batch_bytes(2000);
        bench.n_partitions = n_partitions;
        bench.batch_rows = 7;
        bench.extra = ExtraColumns { file: false, row: true, position: true };
        let outcome = bench.scan("");
        assert_eq!(outcome.batches.len(), n_partitions);
        let mut all: Vec<u64> = Vec::new();
        for partition in &outcome.batches {
            let positions: Vec<u64> = partition
                .iter()
                .flat_map(|batch| batch.column_by_name("_seq").unwrap().as_primitive::<UInt64Type>().values().to_vec())
                .collect();
            assert!(positions.is_sorted_by(|a, b| a < b));
            all.extend(positions);
        }
        assert!(outcome.all().all(|batch| batch.num_rows() <= 7));
        for batch in outcome.all() {
            let rows = batch.column_by_name("_row").unwrap().as_primitive::<Int64Type>().clone();
            let ids = batch.column_by_name("id").unwrap().as_primitive::<Int64Type>().clone();
            assert!(rows.values().iter().zip(ids.values()).all(|(row, id)| *row == id + 1));
        }
        all.sort_unstable();
        seen.push(all);
    }
    let expected: Vec<u64> = (0..1000).chain((0..700).map(|row| 1 << 40 | row)).collect();
    assert_eq!(seen, [expected.clone(), expected]);
}

#[test]
fn the_plan_says_what_it_reads_and_in_what_order() {
    let mut bench = Bench::new(&[("a.jsonl", b"{\"id\":1,\"text\":\"x\"}\n")]);
    bench.extra.position = true;
    let table = bench.table("a.jsonl");
    let plan = FileScanExec::try_new(table.clone(), vec![1, 2], 1, None).unwrap();
    let shown = datafusion::physical_plan::displayable(&plan).indent(false).to_string();
    assert!(shown.contains("a.jsonl' format=jsonl files=1 columns=[text, _seq]"), "{shown}");
    assert!(plan.properties().output_ordering().is_some());
    let without = FileScanExec::try_new(table, vec![1], 1, None).unwrap();
    assert!(without.properties().output_ordering().is_none());
}

#[test]
fn cut_off_files_keep_their_rows_and_the_next_file_is_read() {
    let text = numbered_lines(5000);
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(text.as_bytes()).unwrap();
    let mut packed = gz.finish().unwrap();
    packed.truncate(packed.len() / 2);
    let bench = Bench::new(&[("a.jsonl.gz", &packed), ("b.jsonl", b"{\"id\":-1,\"text\":\"z\"}\n")]);
    let outcome = bench.scan("*");
    let ids: Vec<i64> = outcome.column("id").iter().map(|id| id.parse().unwrap()).collect();
    assert!(ids.len() > 500, "{}", ids.len());
    assert_eq!(ids[..ids.len() - 1], (0..ids.len() as i64 - 1).collect::<Vec<_>>());
    assert_eq!(ids.last(), Some(&-1));
    assert_eq!(outcome.rejects.n_rejects, 1);
    assert!(outcome.rejects.first[0].contains("cannot read the file from here on"), "{:?}", outcome.rejects.first);
}

#[test]
fn a_line_of_50_megabytes_is_a_row() {
    let n_bytes = 50 << 20;
    let line = format!("{{\"id\":1,\"text\":\"{}\"}}\n{{\"id\":2,\"text\":\"y\"}}\n", "x".repeat(n_bytes));
    let mut bench = Bench::new(&[("a.jsonl", line.as_bytes())]);
    bench.config.sample_bytes = 1000;
    let outcome = bench.scan_columns("a.jsonl", Some(&["id", "text"]));
    let lengths: Vec<usize> = outcome.column("text").iter().map(String::len).collect();
    assert_eq!(lengths, [n_bytes, 1]);
}

#[test]
fn nesting_to_the_limit_is_read_and_deeper_is_rejected() {
    let nested = |depth: usize| format!("{{\"a\":{}1{}}}\n", "[".repeat(depth), "]".repeat(depth));
    let lines = format!("{}{}", nested(255), nested(100_000));
    let outcome = Bench::new(&[("a.jsonl", lines.as_bytes())]).scan("a.jsonl");
    assert_eq!(outcome.n_rows(), 1);
    assert_eq!(outcome.reject_reasons(), ["a.jsonl:2: nested more than 256 levels deep"]);
}

#[test]
fn hive_folders_are_columns_unless_the_file_has_them() {
    let bench =
        Bench::new(&[("lang=en/year=2023/a.jsonl", b"{\"id\":1}\n"), ("lang=de/year=2024/b.jsonl", b"{\"id\":2}\n")]);
    let outcome = bench.scan("");
    assert_eq!(outcome.columns, ["id", "lang", "year"]);
    assert_eq!(outcome.column("lang"), ["de", "en"]);
    assert_eq!(bench.table("").schema().field(2).data_type(), &DataType::Int64);
    let own = Bench::new(&[("lang=en/a.jsonl", b"{\"lang\":\"fr\"}\n")]).scan("");
    assert_eq!(own.column("lang"), ["fr"]);
}

#[test]
fn json_arrays_and_pretty_objects_are_read() {
    let bench = Bench::new(&[("a.json", b"[\n {\"id\": 1,\n \"t\": \"a,b\"},\n {\"id\": 2}\n]\n")]);
    assert_eq!(bench.scan("a.json").column("id"), ["1", "2"]);
}

#[test]
fn text_is_a_document_a_file_or_a_line() {
    let files: &[(&str, &[u8])] = &[("a.txt", b"one\ntwo\n"), ("b.txt", b"\xff"), ("c.txt", b"")];
    let mut bench = Bench::new(files);
    bench.extra.file = true;
    let outcome = bench.scan("");
    assert_eq!(outcome.column("text"), ["one\ntwo\n", ""]);
    assert_eq!(outcome.rejects.n_rejects, 1);
    let outcome = Bench::new(files).with("unit", "line").scan("");
    assert_eq!(outcome.column("text"), ["one", "two"]);
    assert_eq!(outcome.rejects.n_rejects, 1);
}

#[test]
fn csv_takes_types_quotes_and_rejects_broken_records() {
    let text = b"id,name,score,ok\r\n1,\"a, \"\"b\"\"\nc\",1.5,true\r\n2,,,\r\n3,x\r\n4,\xff,1,false\r\n5,z,2,true\r\n";
    let mut bench = Bench::new(&[("a.csv", text)]);
    bench.extra.row = true;
    let outcome = bench.scan("a.csv");
    assert_eq!(outcome.column("id"), ["1", "2", "5"]);
    assert_eq!(outcome.column("name"), ["a, \"b\"\nc", "", "z"]);
    assert_eq!(outcome.column("score"), ["1.5", "NULL", "2.0"]);
    assert_eq!(outcome.column("ok"), ["true", "NULL", "true"]);
    assert_eq!(outcome.column("_row"), ["2", "4", "7"]);
    let reasons = outcome.reject_reasons();
    assert_eq!(reasons[0], "a.csv:5: the record has 2 fields, the file 4");
    assert!(reasons[1].starts_with("a.csv:6: not UTF-8"), "{reasons:?}");
    let tsv = Bench::new(&[("a.tsv", b"x\ty\n007\t2\n")]).scan("a.tsv");
    assert_eq!((tsv.column("x"), tsv.column("y")), (vec!["007".to_string()], vec!["2".to_string()]));
    let bare = Bench::new(&[("a.csv", b"1;2\n")]).with("header", "false").with("delimiter", ";").scan("a.csv");
    assert_eq!(bare.columns, ["column_1", "column_2"]);
}

fn batch(columns: Vec<(&str, arrow::array::ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter(columns).unwrap()
}

fn parquet_bytes(batch: &RecordBatch, group_rows: usize) -> Vec<u8> {
    let properties =
        ::parquet::file::properties::WriterProperties::builder().set_max_row_group_row_count(Some(group_rows)).build();
    let mut bytes = Vec::new();
    let mut writer = ::parquet::arrow::ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}

#[test]
fn parquet_files_of_different_columns_are_one_table_and_broken_ones_are_rejects() {
    use arrow::array::{Int64Array, StringArray, StringViewArray};
    let first = batch(vec![
        ("id", Arc::new(Int64Array::from_iter_values(0..10))),
        ("text", Arc::new(StringViewArray::from_iter_values((0..10).map(|i| format!("t{i}"))))),
    ]);
    let second = batch(vec![
        ("text", Arc::new(StringArray::from_iter_values(["u"]))),
        ("more", Arc::new(Int64Array::from_iter_values([7]))),
    ]);
    let first = parquet_bytes(&first, 3);
    let broken = first[..first.len() / 2].to_vec();
    let mut bench =
        Bench::new(&[("a.parquet", &first), ("b.parquet", &parquet_bytes(&second, 3)), ("c.parquet", &broken)]);
    bench.extra.row = true;
    let outcome = bench.scan("");
    assert_eq!(outcome.columns, ["id", "text", "more", "_row"]);
    assert_eq!(outcome.n_rows(), 11);
    assert_eq!(outcome.column("text")[10], "u");
    assert_eq!(outcome.column("id")[10], "NULL");
    assert_eq!(outcome.column("more")[9..], ["NULL", "7"]);
    assert_eq!(outcome.column("_row")[8..], ["9", "10", "1"]);
    assert_eq!(bench.table("").schema().field(1).data_type(), &DataType::Utf8);
    assert_eq!(outcome.rejects.n_rejects, 1);
    assert!(bench.scan_columns("", Some(&["more", "id"])).column("id")[3] == "3");

    let other = batch(vec![("id", Arc::new(StringArray::from_iter_values(["x"])))]);
    let bench = Bench::new(&[("a.parquet", &first), ("b.parquet", &parquet_bytes(&other, 3))]);
    let message = open(&bench.spec(""), &bench.config).unwrap_err().to_string();
    assert!(message.contains("a.parquet") && message.contains("b.parquet"), "{message}");
}

#[test]
fn row_groups_that_cannot_match_are_skipped_and_counted() {
    use arrow::array::{Int64Array, StringViewArray};
    let rows = batch(vec![
        ("id", Arc::new(Int64Array::from_iter_values(0..100))),
        ("text", Arc::new(StringViewArray::from_iter_values((0..100).map(|i| format!("t{i:03}"))))),
    ]);
    let bench = Bench::new(&[("a.parquet", &parquet_bytes(&rows, 10))]);
    for (filter, n_expected, n_pruned) in
        [("id >= 95", 5, 90), ("text = 't042'", 1, 90), ("id < 5 AND length(text) = 4", 5, 90), ("id % 2 = 0", 50, 0)]
    {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let context = SessionContext::new();
            context.register_table("t", Arc::new(bench.table("a.parquet"))).unwrap();
            let frame = context.sql(&format!("SELECT id FROM t WHERE {filter}")).await.unwrap();
            let plan = frame.create_physical_plan().await.unwrap();
            let batches = datafusion::physical_plan::collect(plan.clone(), context.task_ctx()).await.unwrap();
            assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), n_expected, "{filter}");
            assert_eq!(scan_metric(plan.as_ref(), "pruned_rows"), n_pruned, "{filter}");
        });
    }
}

/// The sum of a counter over the scans of a plan.
fn scan_metric(plan: &dyn ExecutionPlan, name: &str) -> usize {
    let own = plan.downcast_ref::<FileScanExec>().and_then(ExecutionPlan::metrics);
    let own = own.and_then(|metrics| metrics.sum_by_name(name)).map_or(0, |value| value.as_usize());
    own + plan.children().into_iter().map(|child| scan_metric(child.as_ref(), name)).sum::<usize>()
}

#[test]
fn metrics_count_rows_bytes_and_rejects() {
    let text = numbered_lines(100) + "broken\n";
    let packed = zstd::encode_all(text.as_bytes(), 1).unwrap();
    let bench = Bench::new(&[("a.jsonl.zst", &packed)]);
    let plan = FileScanExec::try_new(bench.table("a.jsonl.zst"), vec![0], 1, None).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let stream = plan.execute(0, SessionContext::new().task_ctx()).unwrap();
    runtime.block_on(datafusion::physical_plan::common::collect(stream)).unwrap();
    assert_eq!(plan.metrics().unwrap().output_rows(), Some(100));
    assert_eq!(scan_metric(&plan, "bytes_scanned"), packed.len());
    assert_eq!(scan_metric(&plan, "rejected_rows"), 1);
}

#[test]
fn arrow_files_and_streams_are_read() {
    use arrow::array::{Int64Array, LargeStringArray};
    let rows = batch(vec![
        ("id", Arc::new(Int64Array::from_iter_values(0..100))),
        ("text", Arc::new(LargeStringArray::from_iter_values((0..100).map(|i| format!("t{i}"))))),
    ]);
    let mut file = arrow::ipc::writer::FileWriter::try_new(Vec::new(), &rows.schema()).unwrap();
    file.write(&rows).unwrap();
    let file = file.into_inner().unwrap();
    let mut stream = arrow::ipc::writer::StreamWriter::try_new(Vec::new(), &rows.schema()).unwrap();
    stream.write(&rows).unwrap();
    let stream = stream.into_inner().unwrap();
    let mut bench = Bench::new(&[("a.arrow", &file), ("b.arrow", &stream), ("c.arrow", &file[..40])]);
    bench.batch_rows = 9;
    let outcome = bench.scan("");
    assert_eq!((outcome.n_rows(), outcome.rejects.n_rejects), (200, 1));
    assert_eq!(outcome.column("text")[199], "t99");
}

#[test]
fn standard_input_is_sampled_and_streamed_once() {
    let bench = Bench::new(&[]);
    let text = numbered_lines(300);
    let config = Config { sample_bytes: 500, ..Config::default() };
    let packed = zstd::encode_all(text.as_bytes(), 1).unwrap();
    let table = open_stream(&SourceSpec::new("-"), &config, Box::new(Cursor::new(packed))).unwrap();
    let log = || Arc::new(RejectLog::new(None, false));
    let outcome = bench.try_scan(table.clone(), Some(&["id"]), log()).unwrap();
    assert_eq!(outcome.column("id"), (0..300).map(|id| id.to_string()).collect::<Vec<_>>());
    let message = bench.try_scan(table, None, log()).err().unwrap().to_string();
    assert!(message.contains("only once"), "{message}");
}

#[test]
fn a_limit_stops_the_scan_and_a_dropped_scan_ends_its_thread() {
    let text = numbered_lines(20_000);
    let bench = Bench::new(&[("a.jsonl", text.as_bytes())]).batch_bytes(1000);
    let plan = FileScanExec::try_new(bench.table("a.jsonl"), vec![0], 1, Some(10)).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let context = SessionContext::new();
    let stream = plan.execute(0, context.task_ctx()).unwrap();
    let batches = runtime.block_on(datafusion::physical_plan::common::collect(stream)).unwrap();
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 10);
    // The same plan can run again, from the start.
    let stream = plan.execute(0, context.task_ctx()).unwrap();
    let batches = runtime.block_on(datafusion::physical_plan::common::collect(stream)).unwrap();
    assert_eq!(batches[0].column(0).as_primitive::<Int64Type>().value(0), 0);
}

mod round_trip {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Map, Value};

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-1e6..1e6f64).prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-c]{1,2}", inner, 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
            ]
        })
    }

    /// Whether a column's value says the same as the JSON it came from.
    fn same(column: &dyn Array, row: usize, json: &Value) -> bool {
        match (column.data_type(), json) {
            (_, Value::Null) => column.is_null(row),
            (DataType::Utf8, Value::String(text)) => column.as_string::<i32>().value(row) == text,
            (DataType::Utf8, other) => serde_json::to_string(other).unwrap() == column.as_string::<i32>().value(row),
            (DataType::Struct(_), Value::Object(fields)) => {
                fields.iter().all(|(name, value)| same(column.as_struct().column_by_name(name).unwrap(), row, value))
            }
            (DataType::List(_), Value::Array(items)) => {
                let list = column.as_list::<i32>().value(row);
                list.len() == items.len() && items.iter().enumerate().all(|(i, item)| same(&list, i, item))
            }
            (DataType::Float64, Value::Number(number)) => {
                column.as_primitive::<arrow::datatypes::Float64Type>().value(row) == number.as_f64().unwrap()
            }
            _ => serde_json::to_string(json).unwrap() == array_value_to_string(column, row).unwrap(),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_field_of_random_objects_comes_back(
            rows in prop::collection::vec(prop::collection::btree_map("[a-d]{1,2}", value(), 0..5), 1..8)
        ) {
            let text: String = rows.iter().map(|row| format!("{}\n", serde_json::to_string(row).unwrap())).collect();
            let outcome = Bench::new(&[("a.jsonl", text.as_bytes())]).scan("a.jsonl");
            prop_assert_eq!(outcome.n_rows(), rows.len());
            let batch = &outcome.batches[0][0];
            for (index, row) in rows.iter().enumerate() {
                for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
                    let json = row.get(field.name()).unwrap_or(&Value::Null);
                    prop_assert!(same(column, index, json), "{} of {:?}", field.name(), row);
                }
            }
        }
    }
}
