//! CSV, text, Parquet and Arrow files.

use super::*;

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
