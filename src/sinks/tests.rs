//! Sinks as a user meets them: files on disk.
#![allow(clippy::unwrap_used)]

use super::*;
use arrow::array::types::Int32Type;
use arrow::array::*;
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Field, Fields, IntervalUnit, UnionFields, UnionMode};
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;
use tempfile::TempDir;

/// Rows with every kind of column that all of JSON Lines, Parquet and Arrow can hold.
fn rich_rows(n_rows: usize) -> RecordBatch {
    let text = |i: usize| format!("document {i}\n\"quoted\" {}", "wörd, ".repeat(i % 40));
    let some = |i: usize| !i.is_multiple_of(5);
    let rows = || 0..n_rows;
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>(
        rows().map(|i| some(i).then(|| (0..i % 4).map(|j| some(j).then_some(j as i32)).collect::<Vec<_>>())),
    );
    let dictionary: DictionaryArray<Int32Type> = rows().map(|i| some(i).then_some(["en", "de", "fr"][i % 3])).collect();
    let members = Fields::from(vec![Field::new("host", DataType::Utf8View, true)]);
    let host: StringViewArray = rows().map(|i| some(i + 1).then(|| format!("host-{i}.example.org"))).collect();
    let meta = StructArray::new(members, vec![Arc::new(host)], None);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int64Array::from_iter_values(rows().map(|i| i as i64)))),
        ("text", Arc::new(rows().map(|i| some(i).then(|| text(i))).collect::<StringViewArray>())),
        ("score", Arc::new(rows().map(|i| some(i + 2).then_some(i as f64 / 7.0)).collect::<Float64Array>())),
        ("good", Arc::new(rows().map(|i| some(i + 3).then_some(i % 2 == 0)).collect::<BooleanArray>())),
        ("list", Arc::new(list)),
        ("lang", Arc::new(dictionary)),
        ("meta", Arc::new(meta)),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

fn rows_for(format: &str, n_rows: usize) -> RecordBatch {
    let rows = rich_rows(n_rows);
    match format {
        "csv" | "tsv" => rows.project(&[0, 1, 2, 3, 5]).unwrap(),
        "text" => rows.project(&[1]).unwrap(),
        _ => rows,
    }
}

fn spec(location: &Path, options: &[(&str, &str)]) -> SinkSpec {
    let mut spec = SinkSpec::new(location.to_str().unwrap());
    for (name, value) in options {
        spec.options.set(name, value).unwrap();
    }
    spec
}

fn folder_spec(root: &TempDir, options: &[(&str, &str)]) -> SinkSpec {
    spec(&root.path().join("out/"), options)
}

fn write(spec: &SinkSpec, rows: &RecordBatch, batch_rows: usize) -> Result<Vec<WrittenFile>> {
    let mut sink = Sink::create(spec, rows.schema())?;
    for start in (0..rows.num_rows()).step_by(batch_rows) {
        sink.write(&rows.slice(start, batch_rows.min(rows.num_rows() - start)))?;
    }
    sink.finish()
}

/// Every file below a folder, hidden ones too, with its bytes.
fn tree(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = walkdir::WalkDir::new(root).into_iter().map(|entry| entry.unwrap());
    let files = files.filter(|entry| entry.file_type().is_file());
    files
        .map(|entry| {
            let name = entry.path().strip_prefix(root).unwrap().to_string_lossy().into_owned();
            (name, fs::read(entry.path()).unwrap())
        })
        .collect()
}

fn names(root: &Path) -> Vec<String> {
    tree(root).into_keys().collect()
}

fn unpack(name: &str, bytes: &[u8]) -> String {
    let mut text = String::new();
    match name.rsplit_once('.').unwrap().1 {
        "gz" => flate2::read::MultiGzDecoder::new(bytes).read_to_string(&mut text),
        "zst" => zstd::Decoder::new(bytes).unwrap().read_to_string(&mut text),
        "bz2" => bzip2::read::MultiBzDecoder::new(bytes).read_to_string(&mut text),
        "xz" => liblzma::read::XzDecoder::new_multi_decoder(bytes).read_to_string(&mut text),
        _ => (&mut &*bytes).read_to_string(&mut text),
    }
    .unwrap();
    text
}

fn ids(jsonl: &str) -> Vec<i64> {
    let id = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["id"].as_i64().unwrap();
    jsonl.lines().map(id).collect()
}

fn read_parquet(path: &Path) -> RecordBatch {
    let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(fs::File::open(path).unwrap());
    let reader = reader.unwrap();
    let schema = reader.schema().clone();
    let batches: Vec<RecordBatch> = reader.build().unwrap().map(|batch| batch.unwrap()).collect();
    concat_batches(&schema, &batches).unwrap()
}

fn read_arrow(path: &Path) -> RecordBatch {
    let reader = arrow::ipc::reader::FileReader::try_new(fs::File::open(path).unwrap(), None).unwrap();
    let schema = reader.schema();
    let batches: Vec<RecordBatch> = reader.map(|batch| batch.unwrap()).collect();
    concat_batches(&schema, &batches).unwrap()
}

#[test]
fn bytes_do_not_depend_on_the_batches() {
    for (format, compression) in [
        ("jsonl", "none"),
        ("jsonl", "gzip"),
        ("jsonl", "zstd"),
        ("jsonl", "bzip2"),
        ("jsonl", "xz"),
        ("parquet", "zstd"),
        ("parquet", "snappy"),
        ("csv", "zstd"),
        ("tsv", "none"),
        ("arrow", "none"),
        ("arrow", "zstd"),
        ("text", "none"),
    ] {
        let rows = rows_for(format, 801);
        let mut seen = None;
        for batch_rows in [1, 7, 8192] {
            let root = TempDir::new().unwrap();
            // Small files, so that chunks, slices and parts all end several times.
            let small = if compression == "none" { "20kB" } else { "8kB" };
            let options = [("format", format), ("compression", compression), ("max_file_size", small)];
            let written = write(&folder_spec(&root, &options), &rows, batch_rows).unwrap();
            assert!(written.len() > 1, "{format} {compression}: one part only");
            assert_eq!(written.iter().map(|file| file.n_rows).sum::<u64>(), 801);
            let files = tree(root.path());
            for file in &written {
                assert_eq!(file.n_bytes, fs::metadata(&file.path).unwrap().len());
            }
            let same = seen.get_or_insert_with(|| files.clone()) == &files;
            assert!(same, "{format} {compression} differs in batches of {batch_rows}");
        }
    }
}

#[test]
fn compressed_lines_unpack_to_the_plain_ones() {
    let rows = rich_rows(400);
    let mut texts = Vec::new();
    for compression in ["none", "gzip", "zstd", "bzip2", "xz"] {
        let root = TempDir::new().unwrap();
        // Chunks are an eighth of the largest file: every part is several streams, one after the other.
        let options = [("compression", compression), ("max_file_size", "64kB")];
        let written = write(&folder_spec(&root, &options), &rows, 100).unwrap();
        let part = |file: &WrittenFile| unpack(file.path.to_str().unwrap(), &fs::read(&file.path).unwrap());
        texts.push(written.iter().map(part).collect::<String>());
    }
    assert_eq!(ids(&texts[0]), (0..400).collect::<Vec<_>>());
    assert!(texts.iter().all(|text| *text == texts[0]));
}

#[test]
fn column_formats_read_back_equal() {
    let root = TempDir::new().unwrap();
    // Enough rows for a second slice in one case of each; the others differ in compression only.
    for (name, compression, n_rows) in [
        ("a.parquet", "none", 9000),
        ("b.parquet", "snappy", 300),
        ("c.parquet", "zstd", 300),
        ("d.parquet", "gzip", 300),
        ("e.parquet", "lz4", 300),
        ("f.parquet", "brotli", 300),
        ("a.arrow", "none", 9000),
        ("b.arrow", "zstd", 300),
        ("c.arrow", "lz4", 300),
    ] {
        let rows = rich_rows(n_rows);
        let plain = slices::plain_schema(&rows.schema());
        let columns = rows.columns().iter().zip(plain.fields());
        let columns = columns.map(|(column, field)| arrow::compute::cast(column, field.data_type()).unwrap());
        let expected = RecordBatch::try_new(plain.clone(), columns.collect()).unwrap();
        let path = root.path().join(name);
        write(&spec(&path, &[("compression", compression)]), &rows, 333).unwrap();
        let got = if name.ends_with("parquet") { read_parquet(&path) } else { read_arrow(&path) };
        assert!(got == expected, "{name} {compression}");
    }
}

#[test]
fn csv_reads_back_through_another_reader() {
    let rows = rows_for("csv", 50);
    let root = TempDir::new().unwrap();
    let path = root.path().join("x.csv");
    write(&spec(&path, &[]), &rows, 7).unwrap();
    let mut reader = ::csv::Reader::from_path(&path).unwrap();
    assert_eq!(reader.headers().unwrap(), vec!["id", "text", "score", "good", "lang"]);
    let texts: Vec<String> = reader.records().map(|record| record.unwrap()[1].to_string()).collect();
    let expected: Vec<&str> = rows.column(1).as_string_view().iter().map(|text| text.unwrap_or("")).collect();
    assert_eq!(texts, expected);
}

#[test]
fn a_sink_dropped_before_it_is_finished_leaves_nothing() {
    let rows = rich_rows(2000);
    for (location, options) in [
        ("a/b/x.jsonl.zst", &[][..]),
        ("a/x.parquet", &[]),
        ("a/b/", &[("max_file_size", "10kB")]),
        ("a/", &[("format", "arrow"), ("partition_by", "lang,good")]),
    ] {
        let root = TempDir::new().unwrap();
        let mut sink = Sink::create(&spec(&root.path().join(location), options), rows.schema()).unwrap();
        sink.write(&rows).unwrap();
        assert!(root.path().join("a").exists());
        drop(sink);
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0, "{location}");
    }
}

#[test]
fn nothing_has_its_name_before_the_end() {
    let root = TempDir::new().unwrap();
    let path = root.path().join("x.jsonl");
    let mut sink = Sink::create(&spec(&path, &[]), rich_rows(1).schema()).unwrap();
    sink.write(&rich_rows(100)).unwrap();
    assert!(!path.exists());
    assert!(names(root.path()).iter().all(|name| name.starts_with(".x.jsonl.curator-stage/")));
    sink.finish().unwrap();
    assert_eq!(names(root.path()), [".x.jsonl.manifest.json", "x.jsonl"]);
}

#[test]
fn parts_stay_below_the_size_asked_for() {
    for format in ["jsonl", "csv", "parquet", "arrow"] {
        let rows = rows_for(format, 5000);
        let root = TempDir::new().unwrap();
        let options = [("format", format), ("compression", "none"), ("max_file_size", "200kB")];
        let written = write(&folder_spec(&root, &options), &rows, 100).unwrap();
        assert!(written.len() > 2, "{format}");
        for (i, file) in written.iter().enumerate() {
            let name = file.path.file_name().unwrap().to_str().unwrap();
            assert_eq!(name, format!("part-{i:05}.{format}"));
            assert!(file.n_bytes <= 210_000, "{format} {}", file.n_bytes);
        }
    }
}

#[test]
fn every_csv_part_has_the_header() {
    let root = TempDir::new().unwrap();
    let options = [("format", "csv"), ("compression", "gzip"), ("max_file_size", "20kB")];
    let written = write(&folder_spec(&root, &options), &rows_for("csv", 3000), 100).unwrap();
    assert!(written.len() > 1);
    for file in written {
        assert!(unpack("x.gz", &fs::read(&file.path).unwrap()).starts_with("id,text,score,good,lang\n"));
    }
}

#[test]
fn an_output_without_rows_can_be_read() {
    let root = TempDir::new().unwrap();
    let rows = rich_rows(0);
    for name in ["x.jsonl", "x.jsonl.gz", "x.jsonl.zst", "x.jsonl.bz2", "x.jsonl.xz"] {
        let path = root.path().join(name);
        let written = write(&spec(&path, &[]), &rows, 1).unwrap();
        assert_eq!(written[0].n_rows, 0);
        assert_eq!(unpack(name, &fs::read(&path).unwrap()), "");
    }
    write(&spec(&root.path().join("x.parquet"), &[]), &rows, 1).unwrap();
    assert_eq!(read_parquet(&root.path().join("x.parquet")).num_rows(), 0);
    let csv = root.path().join("x.csv");
    write(&spec(&csv, &[]), &rows_for("csv", 0), 1).unwrap();
    assert_eq!(fs::read_to_string(csv).unwrap(), "id,text,score,good,lang\n");
}

#[test]
fn an_existing_output_is_kept_unless_overwrite_is_asked_for() {
    let rows = rich_rows(10);
    let root = TempDir::new().unwrap();
    let file = root.path().join("x.jsonl");
    let overwrite = spec(&file, &[("overwrite", "true")]);
    write(&overwrite, &rows, 5).unwrap();
    assert_eq!(names(root.path()), [".x.jsonl.manifest.json", "x.jsonl"]);
    let problem = spec(&file, &[]).validate(&rows.schema()).unwrap_err();
    assert!(problem.exists && problem.message.contains("overwrite = true"), "{problem:?}");
    assert!(write(&spec(&file, &[]), &rows, 10).is_err());
    write(&overwrite, &rich_rows(3), 10).unwrap();
    assert_eq!(ids(&fs::read_to_string(&file).unwrap()).len(), 3);
    // A copy is younger than its manifest, and is what the manifest says.
    let copied = fs::read(&file).unwrap();
    fs::write(&file, &copied).unwrap();
    write(&overwrite, &rows, 10).unwrap();

    // What was put in its place is not ours.
    fs::write(&file, "old").unwrap();
    let problem = overwrite.validate(&rows.schema()).unwrap_err();
    assert!(problem.message.contains("not as an earlier run wrote it"), "{problem:?}");
    assert!(write(&overwrite, &rows, 10).is_err());
    assert_eq!(fs::read(&file).unwrap(), b"old");
    fs::remove_file(&file).unwrap();
    write(&overwrite, &rows, 10).unwrap();
}

#[test]
fn overwriting_a_folder_replaces_what_the_manifest_lists() {
    let root = TempDir::new().unwrap();
    let out = root.path().join("out");
    write(&folder_spec(&root, &[("partition_by", "lang")]), &rich_rows(100), 10).unwrap();
    fs::write(out.join("_notes.txt"), "mine").unwrap();
    assert!(out.join("lang=en/part-00000.jsonl.zst").exists());

    let problem = folder_spec(&root, &[]).validate(&rich_rows(1).schema()).unwrap_err();
    assert!(problem.exists, "{problem:?}");
    let overwrite = folder_spec(&root, &[("overwrite", "true"), ("format", "csv"), ("max_file_size", "2kB")]);
    let mut sink = Sink::create(&overwrite, rows_for("csv", 1).schema()).unwrap();
    sink.write(&rows_for("csv", 100)).unwrap();
    assert!(out.join("lang=en/part-00000.jsonl.zst").exists(), "old files stay until the new ones are complete");
    let written = sink.finish().unwrap();
    assert!(written.len() > 1);
    let mut expected: Vec<String> = (0..written.len()).map(|i| format!("part-{i:05}.csv")).collect();
    expected.insert(0, "_notes.txt".into());
    expected.insert(0, "_manifest.json".into());
    assert_eq!(names(&out), expected);
    assert!(!out.join("lang=en").exists());

    let manifest: serde_json::Value = serde_json::from_slice(&fs::read(out.join("_manifest.json")).unwrap()).unwrap();
    assert_eq!(manifest["complete"], true);
    assert_eq!(manifest["n_rows"], 100);
    assert_eq!(manifest["files"][1]["path"], "part-00001.csv");
    assert_eq!(manifest["files"][1]["n_bytes"], written[1].n_bytes);
}

#[test]
fn a_folder_with_files_of_others_is_never_touched() {
    let rows = rich_rows(10);
    for (name, text) in [("data.jsonl", "{}"), ("_manifest.json", "{}"), ("_manifest.json", r#"{"files":["../x"]}"#)] {
        let root = TempDir::new().unwrap();
        fs::create_dir(root.path().join("out")).unwrap();
        fs::write(root.path().join("out").join(name), text).unwrap();
        let before = tree(root.path());
        for overwrite in ["true", "false"] {
            let spec = folder_spec(&root, &[("overwrite", overwrite)]);
            let problem = spec.validate(&rows.schema()).unwrap_err();
            assert_eq!(problem.option.is_some(), overwrite == "true");
            assert!(problem.message.contains(name), "{problem:?}");
            assert!(write(&spec, &rows, 10).is_err());
        }
        assert_eq!(tree(root.path()), before);
    }
    // A stranger beside our own output.
    let root = TempDir::new().unwrap();
    write(&folder_spec(&root, &[]), &rows, 10).unwrap();
    fs::write(root.path().join("out/mine.jsonl"), "{}").unwrap();
    let problem = folder_spec(&root, &[("overwrite", "true")]).validate(&rows.schema()).unwrap_err();
    assert!(problem.message.contains("mine.jsonl"), "{problem:?}");
}

#[test]
fn partitions_become_hive_folders_without_their_columns() {
    let root = TempDir::new().unwrap();
    let values = StringArray::from(vec![
        Some("en"),
        None,
        Some("a/b=c %"),
        Some("en"),
        Some(""),
        Some("__HIVE_DEFAULT_PARTITION__"),
    ]);
    let rows = RecordBatch::try_from_iter_with_nullable(vec![
        ("id", Arc::new(Int64Array::from_iter_values(0..6)) as ArrayRef, true),
        ("la ng", Arc::new(values), true),
        ("n", Arc::new(Int32Array::from(vec![1, 1, 1, 1, 1, 1])), true),
    ]);
    let options = [("partition_by", "la ng, n"), ("compression", "none")];
    let written = write(&folder_spec(&root, &options), &rows.unwrap(), 2).unwrap();
    let expected = [
        ("la ng=%5F_HIVE_DEFAULT_PARTITION__/n=1/part-00000.jsonl", "{\"id\":5}\n"),
        ("la ng=/n=1/part-00000.jsonl", "{\"id\":4}\n"),
        ("la ng=__HIVE_DEFAULT_PARTITION__/n=1/part-00000.jsonl", "{\"id\":1}\n"),
        ("la ng=a%2Fb%3Dc %25/n=1/part-00000.jsonl", "{\"id\":2}\n"),
        ("la ng=en/n=1/part-00000.jsonl", "{\"id\":0}\n{\"id\":3}\n"),
    ];
    let mut files = tree(&root.path().join("out"));
    files.remove("_manifest.json").unwrap();
    assert_eq!(written.len(), expected.len());
    let expected = expected.map(|(name, text)| (name.to_string(), text.as_bytes().to_vec()));
    assert_eq!(files, BTreeMap::from(expected));
}

#[test]
fn many_partitions_stay_bounded_and_deterministic() {
    let n_rows = 200;
    let key = Int64Array::from_iter_values((0..n_rows).map(|i| (i * 7919) % 70));
    let rows = RecordBatch::try_from_iter(vec![
        ("id", Arc::new(Int64Array::from_iter_values(0..n_rows)) as ArrayRef),
        ("k", Arc::new(key)),
    ]);
    let rows = rows.unwrap();
    let mut seen = None;
    for batch_rows in [1, 7, 200] {
        let root = TempDir::new().unwrap();
        let options = [("partition_by", "k"), ("compression", "none")];
        let written = write(&folder_spec(&root, &options), &rows, batch_rows).unwrap();
        assert_eq!(written.len(), 70, "one part a folder");
        assert_eq!(written.iter().map(|file| file.n_rows).sum::<u64>(), n_rows as u64);
        let files = tree(root.path());
        assert!(seen.get_or_insert_with(|| files.clone()) == &files, "differs in batches of {batch_rows}");
    }
}

#[test]
fn outputs_that_cannot_work_are_refused_before_the_run() {
    let rows = rich_rows(1);
    let root = TempDir::new().unwrap();
    for (location, options, option, part) in [
        ("x.jsonl", &[("partition_by", "lang")][..], "partition_by", "needs a folder"),
        ("x.jsonl", &[("max_file_size", "1MB")], "max_file_size", "needs a folder"),
        ("out/", &[("partition_by", "long")], "partition_by", "did you mean `lang`?"),
        ("out/", &[("partition_by", "list")], "partition_by", "cannot name a folder"),
        ("out/", &[("partition_by", "lang,lang")], "partition_by", "named twice"),
        ("x.csv", &[], "format", "nested column `list`"),
        ("x.txt", &[], "format", "SELECT text"),
    ] {
        let problem = spec(&root.path().join(location), options).validate(&rows.schema()).unwrap_err();
        assert_eq!(problem.option, Some(option), "{problem:?}");
        assert!(problem.message.contains(part) && !problem.exists, "{problem:?}");
    }
    // Parquet's writer finds these out only when it meets the first value.
    let interval = DataType::Interval(IntervalUnit::MonthDayNano);
    let union = DataType::Union(UnionFields::empty(), UnionMode::Sparse);
    for data_type in [interval, DataType::new_list(union, true), DataType::Struct(Fields::empty())] {
        let schema = Schema::new(vec![Field::new("odd", data_type, true)]);
        let problem = spec(&root.path().join("x.parquet"), &[]).validate(&schema).unwrap_err();
        assert!(problem.message.contains("parquet cannot hold"), "{problem:?}");
    }
    assert_eq!(names(root.path()), Vec::<String>::new());
}

#[test]
fn a_run_killed_while_renaming_can_be_overwritten() {
    let root = TempDir::new().unwrap();
    let out = root.path().join("out");
    write(&folder_spec(&root, &[("compression", "none")]), &rich_rows(10), 10).unwrap();
    // As after the first list of a second run, with one of its two files renamed.
    let listed = fs::read_to_string(out.join("_manifest.json")).unwrap();
    let more = r#""files": [ {"path": "b/part-00000.jsonl", "n_rows": 1, "n_bytes": 1}, {"path": "c", "n_rows": 1, "n_bytes": 1}, "#;
    let listed = listed.replace("\"complete\": true", "\"complete\": false").replace("\"files\": [", more);
    fs::write(out.join("_manifest.json"), listed).unwrap();
    fs::create_dir(out.join("b")).unwrap();
    fs::write(out.join("b/part-00000.jsonl"), "{}").unwrap();
    write(&folder_spec(&root, &[("overwrite", "true"), ("format", "parquet")]), &rich_rows(10), 10).unwrap();
    assert_eq!(names(&out), ["_manifest.json", "part-00000.parquet"]);
}

#[test]
fn a_sink_can_move_to_another_thread() {
    fn assert_send<T: Send>() {}
    assert_send::<Sink>();
}

#[test]
fn devices_are_written_to_and_never_replaced() {
    let written = write(&SinkSpec::new("/dev/null"), &rich_rows(10), 5).unwrap();
    assert_eq!(written[0].n_rows, 10);
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
}

#[test]
fn a_closed_pipe_is_remembered_and_is_no_error() {
    let root = TempDir::new().unwrap();
    let pipe = root.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || drop(fs::File::open(pipe).unwrap())
    });
    let rows = rich_rows(1000);
    let mut sink = Sink::create(&spec(&pipe, &[]), rows.schema()).unwrap();
    reader.join().unwrap();
    assert!(!sink.is_closed());
    for _ in 0..10 {
        sink.write(&rows).unwrap();
    }
    assert!(sink.is_closed());
    sink.finish().unwrap();
}
