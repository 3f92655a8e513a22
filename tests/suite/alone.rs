//! Every partition of every scan runs alone, in another process, from its encoded form: each row once, the same bytes each time.

use super::harness::{block_on, files, language_of, read, session_for};
use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray};
use arrow::compute::concat_batches;
use arrow::datatypes::UInt64Type;
use arrow::ipc::writer::FileWriter;
use arrow::util::display::array_value_to_string;
use curator::Config;
use curator::diag::SourceText;
use curator::internals::{FileScanExec, Location, Outbox, RejectLog, RejectsFolder, RunFacts};
use curator::{Compiled, Language, Session};
use datafusion::physical_plan::{ExecutionPlan, collect_partitioned};
use datafusion::prelude::{SessionConfig, SessionContext};
use parquet::arrow::ArrowWriter;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use tempfile::TempDir;

/// Where a process of [`run_what_the_other_process_left`] finds its work.
const FOLDER_VARIABLE: &str = "CURATOR_TEST_SCANS";

fn number(n: usize) -> NonZeroUsize {
    NonZeroUsize::new(n).unwrap()
}

/// Small splits and batches, so that little data makes many of both.
fn config() -> Config {
    Config { threads: number(3), block_bytes: number(300), batch_bytes: number(150), ..Config::default() }
}

fn scans(plan: &Arc<dyn ExecutionPlan>, found: &mut Vec<Arc<dyn ExecutionPlan>>) {
    if plan.is::<FileScanExec>() {
        found.push(plan.clone());
    }
    plan.children().into_iter().for_each(|child| scans(child, found));
}

/// The scans of all queries in a text.
async fn scans_of(session: &mut Session, source: &SourceText, language: Language) -> Vec<Arc<dyn ExecutionPlan>> {
    let script = session.parse(source, language).unwrap();
    let mut found = Vec::new();
    for index in 0..script.statements.len() {
        match session.compile(&script, index).await.unwrap() {
            Compiled::Done => {}
            Compiled::Query(plan) | Compiled::Explain { plan, .. } => {
                scans(&session.plan(&plan).await.unwrap(), &mut found);
            }
        }
    }
    found
}

/// What a scan gives: its rows, and what it sets aside as `rejects.jsonl` has it.
struct Given {
    rows: RecordBatch,
    rejects: Vec<String>,
}

async fn execute(scan: Arc<dyn ExecutionPlan>) -> Given {
    let folder = TempDir::new().unwrap();
    let outbox = Outbox::new("test");
    let claim = outbox.claim(&Location::folder(folder.path())).unwrap();
    let log = Arc::new(RejectLog::new(Some(RejectsFolder::open(claim, false).unwrap()), false));
    let context = SessionContext::new_with_config(SessionConfig::new().with_extension(log.clone()));
    let schema = scan.schema();
    let batches = collect_partitioned(scan, context.task_ctx()).await.unwrap();
    let rows = concat_batches(&schema, batches.iter().flatten()).unwrap();
    if let Some(staged) = log.stage().unwrap() {
        staged.prepare(&RunFacts::default()).unwrap();
    }
    outbox.commit().unwrap();
    let rejects = std::fs::read_to_string(folder.path().join("rejects.jsonl")).unwrap_or_default();
    Given { rows, rejects: rejects.lines().map(String::from).collect() }
}

fn ipc(rows: &RecordBatch) -> Vec<u8> {
    let mut writer = arrow::ipc::writer::StreamWriter::try_new(Vec::new(), &rows.schema()).unwrap();
    writer.write(rows).unwrap();
    writer.into_inner().unwrap()
}

fn texts(rows: &RecordBatch) -> Vec<String> {
    let row =
        |row| rows.columns().iter().map(|column| array_value_to_string(column, row).unwrap() + "\u{1f}").collect();
    (0..rows.num_rows()).map(row).collect()
}

/// Runs each `*.scan` of the folder that the environment names, twice, in an order of its own.
#[test]
#[ignore = "the other process of the tests in this file"]
fn run_what_the_other_process_left() {
    let Ok(folder) = std::env::var(FOLDER_VARIABLE) else { return };
    let mut scans: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    scans.retain(|path| path.extension().is_some_and(|ending| ending == "scan"));
    for time in ["first", "second"] {
        // The names are numbers; their hashes are an order as good as any.
        scans.sort_by_key(|path| xxhash_rust::xxh3::xxh3_64(format!("{time} {}", path.display()).as_bytes()));
        for path in &scans {
            let scan = FileScanExec::decode(&std::fs::read(path).unwrap()).unwrap();
            let given = block_on(execute(Arc::new(scan)));
            std::fs::write(path.with_extension(format!("{time}.rows")), ipc(&given.rows)).unwrap();
            std::fs::write(path.with_extension(format!("{time}.rejects")), given.rejects.join("\n")).unwrap();
        }
    }
}

/// What the partitions of scans give in another process: for each scan, those of its partitions, in order.
fn run_elsewhere(scans: &[Vec<Vec<u8>>]) -> Vec<Vec<Given>> {
    let folder = TempDir::new().unwrap();
    let path = |scan: usize, partition: usize, ending: &str| folder.path().join(format!("{scan}-{partition}.{ending}"));
    for (scan, partitions) in scans.iter().enumerate() {
        for (partition, bytes) in partitions.iter().enumerate() {
            std::fs::write(path(scan, partition, "scan"), bytes).unwrap();
        }
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "suite::alone::run_what_the_other_process_left", "--ignored", "--nocapture"]);
    // Another folder: what is encoded does not depend on it.
    let output = command.current_dir(folder.path()).env(FOLDER_VARIABLE, folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let given = |scan: usize, partition: usize| {
        let read = |ending: &str| std::fs::read(path(scan, partition, ending)).unwrap();
        assert!(read("first.rows") == read("second.rows"), "scan {scan}, partition {partition}");
        assert!(read("first.rejects") == read("second.rejects"), "scan {scan}, partition {partition}");
        let rows = read("first.rows");
        let mut reader = arrow::ipc::reader::StreamReader::try_new(rows.as_slice(), None).unwrap();
        let rejects = String::from_utf8(read("first.rejects")).unwrap();
        Given { rows: reader.next().unwrap().unwrap(), rejects: rejects.lines().map(String::from).collect() }
    };
    let all = scans.iter().enumerate();
    all.map(|(scan, partitions)| (0..partitions.len()).map(|partition| given(scan, partition)).collect()).collect()
}

fn encoded(scan: &Arc<dyn ExecutionPlan>) -> Vec<Vec<u8>> {
    let scan = scan.downcast_ref::<FileScanExec>().unwrap();
    let n_partitions = scan.properties().partitioning.partition_count();
    (0..n_partitions).map(|partition| scan.encode_partition(partition).unwrap()).collect()
}

/// Compares what partitions gave alone with what the whole scan gives here.
fn check(name: &str, scan: &Arc<dyn ExecutionPlan>, alone: &[Given]) {
    // With a limit, how many rows partitions give together depends on which splits they take.
    let fetch = scan.fetch();
    let unlimited = scan.with_fetch(None).unwrap();
    let whole = block_on(execute(unlimited));
    let union = concat_batches(&scan.schema(), alone.iter().map(|given| &given.rows)).unwrap();
    let (mut expected, mut found) = (texts(&whole.rows), texts(&union));
    if let Some(positions) = union.column_by_name("_seq") {
        let positions = positions.as_primitive::<UInt64Type>().values();
        assert!(positions.is_sorted_by(|a, b| a < b), "{name}: {positions:?}");
    }
    expected.sort();
    found.sort();
    match fetch {
        None => assert_eq!(found, expected, "{name}"),
        Some(fetch) => {
            assert!(alone.iter().all(|given| given.rows.num_rows() <= fetch), "{name}");
            assert!(found.len() >= fetch.min(expected.len()), "{name}");
            assert!(found.iter().all(|row| expected.contains(row)), "{name}");
        }
    }
    let mut rejects: Vec<&String> = alone.iter().flat_map(|given| &given.rejects).collect();
    let mut expected: Vec<&String> = whole.rejects.iter().collect();
    rejects.sort();
    expected.sort();
    if fetch.is_none() {
        assert_eq!(rejects, expected, "{name}");
    }
}

/// Encodes the scans of each query, runs them elsewhere, and compares. Gives the number of splits of each scan.
fn check_all(queries: Vec<(String, Vec<Arc<dyn ExecutionPlan>>)>) -> Vec<usize> {
    let named: Vec<(&str, &Arc<dyn ExecutionPlan>)> =
        queries.iter().flat_map(|(name, scans)| scans.iter().map(|scan| (name.as_str(), scan))).collect();
    let alone = run_elsewhere(&named.iter().map(|(_, scan)| encoded(scan)).collect::<Vec<_>>());
    named.iter().zip(&alone).for_each(|((name, scan), alone)| check(name, scan, alone));
    named.iter().map(|(_, scan)| scan.downcast_ref::<FileScanExec>().unwrap().n_splits()).collect()
}

#[test]
fn every_partition_of_every_corpus_plan_gives_its_rows_alone_and_again() {
    let plan = |path: &Path| {
        let source = read(path);
        let mut session = session_for(&source, config());
        (path.display().to_string(), block_on(scans_of(&mut session, &source, language_of(path))))
    };
    let queries: Vec<_> = files("tests/corpus", ".cql").iter().map(|path| plan(path)).collect();
    let n_splits = check_all(queries);
    assert!(n_splits.len() > 60 && n_splits.iter().any(|n_splits| *n_splits > 10), "{n_splits:?}");
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// A member that tells its size in its header.
fn bgzf_member(text: &[u8]) -> Vec<u8> {
    let header = flate2::GzBuilder::new().extra([b'B', b'C', 2, 0, 0, 0]);
    let mut encoder = header.write(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    let mut bytes = encoder.finish().unwrap();
    let size = (bytes.len() - 1) as u16;
    bytes[16..18].copy_from_slice(&size.to_le_bytes());
    bytes
}

/// A Parquet file of several row groups, and an Arrow file of several batches.
fn write_columns(root: &Path) {
    let create = |name: &str| std::fs::File::create(root.join(name)).unwrap();
    let batch = |first: i64| {
        let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(first..first + 10));
        let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..10).map(|n| "text ".repeat(n))));
        let days: ArrayRef = Arc::new(TimestampMicrosecondArray::from_iter_values(0..10).with_timezone("UTC"));
        RecordBatch::try_from_iter([("id", ids), ("text", texts), ("day", days)]).unwrap()
    };
    let batches: Vec<RecordBatch> = (0..12).map(|n| batch(n * 10)).collect();
    let mut groups = ArrowWriter::try_new(create("groups.parquet"), batches[0].schema(), None).unwrap();
    let mut ipc = FileWriter::try_new(create("batches.arrow"), &batches[0].schema()).unwrap();
    for batch in &batches {
        groups.write(batch).unwrap();
        groups.flush().unwrap();
        ipc.write(batch).unwrap();
    }
    groups.close().unwrap();
    ipc.finish().unwrap();
}

/// Files of every kind below a folder.
fn write_sources(root: &Path) {
    let lines: String = (0..120)
        .map(|id| match id % 40 {
            39 => "{\"id\": broken\n".to_string(),
            _ => format!("{{\"id\":{id},\"text\":\"{}\",\"tags\":[\"a\",\"é\"]}}\r\n", "w ".repeat(id % 9)),
        })
        .collect();
    let write = |name: &str, bytes: &[u8]| {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    };
    let lines = lines.as_bytes();
    let bom = b"\xef\xbb\xbf".as_slice();
    write("plain.jsonl", &[bom, lines].concat());
    write("one.jsonl.gz", &gzip(lines));
    write("members.jsonl.gz", &lines.chunks(900).flat_map(gzip).collect::<Vec<u8>>());
    write("bgzf.jsonl.gz", &lines.chunks(700).flat_map(bgzf_member).collect::<Vec<u8>>());
    write(
        "frames.jsonl.zst",
        &lines.chunks(500).flat_map(|part| zstd::bulk::compress(part, 1).unwrap()).collect::<Vec<u8>>(),
    );
    write("array.json", b"[\n{\"a\": 1,\n \"b\": [2]},\n{\"a\": null}\n]\n");
    let records: String = (0..60)
        .map(|id| match id % 20 {
            7 => format!("{id},too,many,fields\n"),
            _ => format!("{id},\"line one\nline \"\"two\"\", {}\n\",{}\n", "x".repeat(id), id % 3 == 0),
        })
        .collect();
    write("records.csv", &[bom, b"id,text,flag\n", records.as_bytes()].concat());
    write("records.csv.gz", &gzip(("id,text,flag\n".to_string() + &records).as_bytes()));
    write("records.tsv", (0..50).map(|id| format!("{id}\ttab {id}\n")).collect::<String>().as_bytes());
    write("text/a.txt", "one line\nand more\n".repeat(40).as_bytes());
    write("text/b.txt", b"not UTF-8: \xff\nbut this is\n");
    write("text/c.txt", b"");
    for (number, lang) in ["de", "en", "fr"].iter().enumerate() {
        let lines = (0..20).map(|id| format!("{{\"id\":{id},\"n\":{number}}}\n")).collect::<String>();
        write(&format!("hive/lang={lang}/year={}/part.jsonl", 2020 + number), lines.as_bytes());
        write(&format!("hive/lang={lang}/year={}/small.jsonl", 2020 + number), b"{\"id\":-1}\n");
    }
    write_columns(root);
}

#[test]
fn every_format_gives_its_rows_places_and_rejects_alone_and_again() {
    let folder = TempDir::new().unwrap();
    write_sources(folder.path());
    let at = |name: &str| folder.path().join(name).display().to_string();
    let mut queries = Vec::new();
    for (location, options, is_cut) in [
        ("plain.jsonl", "", true),
        ("plain.jsonl", "columns = 'id BIGINT, text VARCHAR'", true),
        ("one.jsonl.gz", "", false),
        ("members.jsonl.gz", "", false),
        ("bgzf.jsonl.gz", "", true),
        ("frames.jsonl.zst", "", true),
        ("array.json", "", false),
        ("records.csv", "", true),
        ("records.csv", "header = 'false'", true),
        ("records.csv.gz", "", false),
        ("records.tsv", "", true),
        ("text/", "", true),
        ("text/", "unit = 'line'", true),
        ("hive/", "", true),
        ("hive/", "files_per_partition = '1'", true),
        ("hive/*/*/part.jsonl", "", true),
        ("*.jsonl*", "", true),
        ("groups.parquet", "", true),
        ("batches.arrow", "", true),
    ] {
        let with = if options.is_empty() { String::new() } else { format!(" WITH ({options})") };
        let source = format!("FROM '{}'{with} |> SELECT *, _file, _row", at(location));
        for (name, threads) in [("3", 3), ("40", 40)] {
            let text = SourceText::new(format!("{location} {options} {name}"), source.clone());
            let mut session = Session::new(Config { threads: number(threads), ..config() }).unwrap();
            let scans = block_on(scans_of(&mut session, &text, Language::Cql));
            assert_eq!(scans.len(), 1);
            let n_splits = scans[0].downcast_ref::<FileScanExec>().unwrap().n_splits();
            assert_eq!(n_splits > 1, is_cut, "{location} {options}: {n_splits} splits");
            queries.push((text.name().to_string(), scans));
        }
    }
    let filtered = format!("FROM '{}' |> WHERE id > 70 AND text <> 'x' |> SELECT id", at("groups.parquet"));
    let mut session = Session::new(config()).unwrap();
    let text = SourceText::new("filtered", filtered);
    queries.push(("filtered".into(), block_on(scans_of(&mut session, &text, Language::Cql))));
    check_all(queries);
}

/// The scan of a query that has one.
fn one_scan(query: &str) -> Arc<dyn ExecutionPlan> {
    let mut session = Session::new(config()).unwrap();
    let scans = block_on(scans_of(&mut session, &SourceText::new("query", query), Language::Cql));
    scans.into_iter().next().unwrap()
}

#[test]
fn a_partition_reads_its_own_files_alone_and_says_which_one_has_changed() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    for name in ["a.jsonl", "b.jsonl", "c.jsonl"] {
        std::fs::write(path(name), format!("{{\"from\":\"{name}\"}}\n").repeat(15)).unwrap();
    }
    let partitions = encoded(&one_scan(&format!("FROM '{}' |> SELECT \"from\"", folder.path().display())));
    assert_eq!(partitions.len(), 3);
    std::fs::remove_file(path("a.jsonl")).unwrap();
    std::fs::write(path("d.jsonl"), "{\"from\":1}\n").unwrap();
    let refusal = |bytes: &[u8]| FileScanExec::decode(bytes).unwrap_err().to_string();
    assert!(refusal(&partitions[0]).contains("a.jsonl"));
    let second = block_on(execute(Arc::new(FileScanExec::decode(&partitions[1]).unwrap())));
    let rows = texts(&second.rows);
    assert!(rows.len() == 15 && rows.iter().all(|row| row.starts_with("b.jsonl\u{1f}")), "{rows:?}");
    std::fs::write(path("c.jsonl"), "{}\n").unwrap();
    assert!(refusal(&partitions[2]).contains("has 3 bytes, and had 285"), "{}", refusal(&partitions[2]));
    std::fs::File::open(path("b.jsonl")).unwrap().set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    assert!(refusal(&partitions[1]).contains("was written after"), "{}", refusal(&partitions[1]));
}

#[test]
fn what_is_no_encoded_scan_of_this_version_is_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.jsonl");
    std::fs::write(&path, "{\"id\":1}\n").unwrap();
    let bytes = encoded(&one_scan(&format!("FROM '{}'", path.display()))).swap_remove(0);
    let text = String::from_utf8(bytes).unwrap();
    assert!(FileScanExec::decode(text.as_bytes()).is_ok());
    for (changed, says) in [
        (text.replacen("\"version\":1", "\"version\":7", 1), "encoded in version 7"),
        (text.replace("\"file\":0", "\"file\":9"), "is not whole"),
        (text[..text.len() / 2].to_string(), "not an encoded scan"),
    ] {
        let refusal = FileScanExec::decode(changed.as_bytes()).unwrap_err().to_string();
        assert!(refusal.contains(says), "{refusal}");
    }
}
