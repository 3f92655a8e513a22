//! Files with wrong bytes in them: what stands before is read, what does not is named, other files are untouched.

use super::*;
use arrow::array::{ArrayRef, DictionaryArray, Int64Array, StringArray};
use arrow::datatypes::Int32Type;
use arrow::ipc::CompressionType;
use arrow::ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};

/// Five rows of every kind of column that is laid out in its own way.
fn rows(start: i64) -> RecordBatch {
    let texts: Vec<String> = (start..start + 5).map(|n| format!("text {n}")).collect();
    let kinds: DictionaryArray<Int32Type> = ["a", "b", "a", "b", "a"].into_iter().collect();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int64Array::from_iter_values(start..start + 5))),
        ("text", Arc::new(StringArray::from(texts))),
        ("kind", Arc::new(kinds)),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn arrow_file(codec: Option<CompressionType>) -> Vec<u8> {
    let options = IpcWriteOptions::default().try_with_compression(codec).unwrap();
    let mut writer = FileWriter::try_new_with_options(Vec::new(), &rows(0).schema(), options).unwrap();
    for start in [0, 5, 10] {
        writer.write(&rows(start)).unwrap();
    }
    writer.into_inner().unwrap()
}

fn arrow_stream() -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), &rows(0).schema()).unwrap();
    for start in [0, 5, 10] {
        writer.write(&rows(start)).unwrap();
    }
    writer.into_inner().unwrap()
}

fn parquet_file() -> Vec<u8> {
    let properties =
        ::parquet::file::properties::WriterProperties::builder().set_max_row_group_row_count(Some(5)).build();
    let mut bytes = Vec::new();
    let mut writer = ::parquet::arrow::ArrowWriter::try_new(&mut bytes, rows(0).schema(), Some(properties)).unwrap();
    for start in [0, 5, 10] {
        writer.write(&rows(start)).unwrap();
    }
    writer.close().unwrap();
    bytes
}

/// Reads a file of wrong bytes between two good ones. The columns may be wrong with it, so they can fail to be one table.
fn read_among_good(name: &str, good: &[u8], bad: &[u8]) {
    let names = ["a", "b", "c"].map(|file| format!("{file}.{name}"));
    let bench = Bench::new(&[(&names[0], good), (&names[1], bad), (&names[2], good)]);
    let Ok(table) = open(&bench.spec(""), &bench.config) else { return };
    let outcome = bench.try_scan(table, None, Arc::new(RejectLog::new(None, false))).unwrap();
    assert!(outcome.n_rows() >= 30, "{} rows", outcome.n_rows());
    if outcome.n_rows() < 45 {
        assert!(outcome.rejects.n_rejects > 0, "{} rows, and nothing was named", outcome.n_rows());
    }
}

/// Each byte of a file, or every `step`th, changed to something that is often wrong: a sign, the greatest, the least.
fn each_byte_changed(name: &str, good: &[u8], step: usize) {
    for at in (0..good.len()).step_by(step) {
        for change in [0x80, 0x01, good[at]] {
            let mut bad = good.to_vec();
            bad[at] ^= change;
            read_among_good(name, good, &bad);
        }
    }
}

#[test]
fn wrong_bytes_in_an_arrow_file_are_rejects_from_where_they_are() {
    for codec in [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)] {
        each_byte_changed("arrow", &arrow_file(codec), 61);
    }
    each_byte_changed("arrow", &arrow_stream(), 67);
}

#[test]
fn wrong_bytes_in_a_parquet_file_are_rejects_from_where_they_are() {
    each_byte_changed("parquet", &parquet_file(), 53);
}

#[test]
fn batches_before_a_broken_one_are_read() {
    for (good, is_stream) in [(arrow_file(None), false), (arrow_stream(), true)] {
        let mut bad = good.clone();
        // The text of the last batch: no longer UTF-8.
        let at = memchr::memmem::rfind(&bad, b"text 12").unwrap();
        bad[at] = 0xff;
        let bench = Bench::new(&[("a.arrow", &bad)]);
        let outcome = bench.scan("");
        assert_eq!((outcome.n_rows(), outcome.rejects.n_rejects), (10, 1), "stream: {is_stream}");
        assert!(outcome.reject_reasons()[0].starts_with("a.arrow:11: cannot read the file from here on"));
    }
}

#[test]
fn lengths_that_the_file_cannot_hold_set_no_memory_aside() {
    // The length of the last batch in the footer, and the length that a packed buffer is said to have unpacked.
    let good = arrow_file(Some(CompressionType::ZSTD));
    let frame = memchr::memmem::find(&good, &[0x28, 0xb5, 0x2f, 0xfd]).unwrap();
    for huge in [i64::MAX, 1 << 46, -2] {
        let mut bad = good.clone();
        bad[frame - 8..frame].copy_from_slice(&huge.to_le_bytes());
        let bench = Bench::new(&[("a.arrow", &bad), ("b.arrow", &good)]);
        let outcome = bench.scan("");
        assert_eq!((outcome.n_rows(), outcome.rejects.n_rejects), (15, 1), "{huge}");
    }
    let cut_off = &arrow_stream()[..600];
    let outcome = Bench::new(&[("a.arrow", cut_off), ("b.arrow", &good)]).scan("");
    assert_eq!(outcome.rejects.n_rejects, 1);
}

#[test]
fn packed_arrow_files_of_both_kinds_are_read() {
    let pack = |bytes: Vec<u8>| zstd::encode_all(bytes.as_slice(), 1).unwrap();
    let bench = Bench::new(&[("a.arrow.zst", &pack(arrow_file(None))), ("b.arrow.zst", &pack(arrow_stream()))]);
    let outcome = bench.scan("");
    assert_eq!((outcome.n_rows(), outcome.rejects.n_rejects), (30, 0));
    assert_eq!(outcome.column("kind")[14], "a");
}

#[test]
fn a_row_group_that_says_it_has_other_rows_than_its_columns_is_a_reject() {
    let good = parquet_file();
    let bench = Bench::new(&[("a.parquet", &good)]);
    assert_eq!(bench.scan("").n_rows(), 15);
    // Rows are counted without reading a column: then nothing but the footer says how many there are.
    let outcome = bench.scan_columns("", Some(&[]));
    assert_eq!(outcome.n_rows(), 15);
}

#[test]
fn a_quote_that_is_never_closed_is_a_reject_of_its_own() {
    let text = "id,text\n1,\"good\"\n2,\"never closed\n3,three\n4,four\n";
    for n_partitions in [1, 3] {
        let mut bench = Bench::new(&[("a.csv", text.as_bytes()), ("b.csv", b"id,text\n5,five\n")]);
        bench.n_partitions = n_partitions;
        for blocksize in ["10", "1MB"] {
            bench.options.set("blocksize", blocksize).unwrap();
            let outcome = bench.scan("");
            let mut ids = outcome.column("id");
            ids.sort();
            assert_eq!(ids, ["1", "5"], "{blocksize}");
            let reasons = outcome.reject_reasons();
            assert_eq!(reasons.len(), 1, "{reasons:?}");
            assert!(
                reasons[0].starts_with("a.csv:3: a quote is opened in this record and never closed"),
                "{reasons:?}"
            );
        }
    }
    // The next quote closes it: what it swallowed is named as one.
    let swallowed = Bench::new(&[("a.csv", b"id,text\n1,\"open\n2,\"two\"\n3,three\n4,\"a\nb\"\n5,\"e\"f\n")]).scan("");
    assert_eq!(swallowed.column("id"), ["3", "4", "5"]);
    assert!(
        swallowed.reject_reasons()[0].starts_with("a.csv:2: a quote is opened in this record, and closed 2 lines on")
    );
    // Two quotes are one: this field is closed.
    let closed = Bench::new(&[("a.csv", b"id,text\n1,\"a \"\"b\"\"\"\n2,\"\"\n")]).scan("");
    assert_eq!((closed.n_rows(), closed.rejects.n_rejects), (2, 0));
}

#[test]
fn lines_before_garbage_behind_a_packed_file_are_read() {
    let text = numbered_lines(20_000);
    for (name, packed) in [("a.jsonl.gz", gzip(&text)), ("a.jsonl.xz", xz(&text)), ("a.jsonl.bz2", bzip2(&text))] {
        let bytes = [packed, b"garbage, and no second part of it".to_vec()].concat();
        let outcome = Bench::new(&[(name, &bytes)]).scan("");
        assert_eq!((outcome.n_rows(), outcome.rejects.n_rejects), (20_000, 1), "{name}");
    }
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn xz(text: &str) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn bzip2(text: &str) -> Vec<u8> {
    let mut encoder = ::bzip2::write::BzEncoder::new(Vec::new(), ::bzip2::Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_file_that_shrinks_grows_or_goes_while_it_is_read_is_named() {
    let text = numbered_lines(1000);
    let bench = Bench::new(&[("a.jsonl", text.as_bytes()), ("b.jsonl", text.as_bytes()), ("c.jsonl", text.as_bytes())]);
    let table = bench.table("");
    let lines = |n_lines: usize| text.lines().take(n_lines).map(|line| format!("{line}\n")).collect::<String>();
    fs::write(bench.folder.path().join("a.jsonl"), lines(600)).unwrap();
    fs::write(bench.folder.path().join("b.jsonl"), text.repeat(2)).unwrap();
    fs::remove_file(bench.folder.path().join("c.jsonl")).unwrap();
    let outcome = bench.try_scan(table, None, Arc::new(RejectLog::new(None, false))).unwrap();
    assert_eq!(outcome.n_rows(), 600 + 2000);
    let reasons = outcome.reject_reasons();
    assert_eq!(reasons.len(), 3, "{reasons:?}");
    assert!(reasons[0].starts_with("a.jsonl:601: the file has changed"), "{reasons:?}");
    assert!(reasons[1].starts_with("b.jsonl:2001: the file has changed"), "{reasons:?}");
    assert!(reasons[2].starts_with("c.jsonl:1: cannot read the file"), "{reasons:?}");
}

#[test]
fn a_pipe_is_read_once_and_names_need_not_be_text() {
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().unwrap();
    let name = std::ffi::OsStr::from_bytes(b"b\xff.jsonl");
    fs::write(folder.path().join(name), "{\"id\":1}\n").unwrap();
    let mut bench = Bench::new(&[]);
    bench.folder = folder;
    bench.extra.file = true;
    let outcome = bench.scan("*.jsonl");
    assert!(outcome.column("_file")[0].ends_with("b\\xff.jsonl"));

    let pipe = bench.folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let writing = {
        let pipe = pipe.clone();
        std::thread::spawn(move || fs::write(pipe, numbered_lines(5000)).unwrap())
    };
    let outcome = bench.scan("pipe");
    writing.join().unwrap();
    assert_eq!((outcome.n_rows(), outcome.rejects.n_rejects), (5000, 0));
}
