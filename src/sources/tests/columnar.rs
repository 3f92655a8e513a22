//! Parquet and Arrow files.

use super::*;
use arrow::datatypes::Field;

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
fn row_groups_with_nan_are_read_whatever_their_statistics_say() {
    use arrow::array::{Float32Array, Float64Array, Int64Array};
    // Each group of three has one value that is no number: the least and the greatest of the others are 0 and 1.
    let odd = [f64::NAN, -f64::NAN, f64::NAN];
    let values: Vec<f64> = odd.iter().flat_map(|odd| [0.5, *odd, 1.0]).collect();
    let rows = batch(vec![
        ("id", Arc::new(Int64Array::from_iter_values(0..9))),
        ("x", Arc::new(Float64Array::from(values.clone()))),
        ("y", Arc::new(Float32Array::from_iter_values(values.iter().map(|value| *value as f32)))),
    ]);
    let bench = Bench::new(&[("a.parquet", &parquet_bytes(&rows, 3))]);
    for filter in [
        "x > 5",
        "y > 5",
        "5 < x",
        "x >= 5",
        "x < -5",
        "y <= -5",
        "x <> 0.5",
        "NOT (x = 0.5)",
        "NOT (x BETWEEN 0 AND 1)",
        "x NOT IN (0.5, 1.0)",
        "x = CAST('NaN' AS DOUBLE)",
        "CAST(y AS DOUBLE) > 5",
        "x > 5 OR id > 100",
        "x IS NOT NULL",
        "x IS NULL",
        "x BETWEEN 5 AND CAST('NaN' AS DOUBLE)",
    ] {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let read = |table: Arc<dyn datafusion::catalog::TableProvider>| {
            runtime.block_on(async {
                let context = SessionContext::new();
                context.register_table("t", table).unwrap();
                let frame = context.sql(&format!("SELECT id FROM t WHERE {filter} ORDER BY id")).await.unwrap();
                frame.collect().await.unwrap()
            })
        };
        let in_memory = datafusion::datasource::MemTable::try_new(rows.schema(), vec![vec![rows.clone()]]).unwrap();
        let ids = |batches: Vec<RecordBatch>| -> Vec<i64> {
            batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec()).collect()
        };
        assert_eq!(ids(read(Arc::new(bench.table("a.parquet")))), ids(read(Arc::new(in_memory))), "{filter}");
    }
}

/// Written by one column each.
fn shards(arrays: &[arrow::array::ArrayRef]) -> Bench {
    let files: Vec<(String, Vec<u8>)> = arrays
        .iter()
        .enumerate()
        .map(|(at, array)| {
            let schema = arrow::datatypes::Schema::new(vec![Field::new("v", array.data_type().clone(), true)]);
            let batch = RecordBatch::try_new(Arc::new(schema), vec![array.clone()]).unwrap();
            (format!("{at}.parquet"), parquet_bytes(&batch, 100))
        })
        .collect();
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    Bench::new(&files)
}

#[test]
fn shards_of_different_types_are_read_as_the_type_that_holds_all() {
    use arrow::array::*;
    let struct_of = |columns: Vec<(&str, ArrayRef)>| -> ArrayRef { Arc::new(StructArray::try_from(columns).unwrap()) };
    let list_of = |items: ArrayRef| -> ArrayRef {
        let item = Arc::new(Field::new("element", items.data_type().clone(), true));
        let offsets = arrow::buffer::OffsetBuffer::from_lengths([items.len()]);
        Arc::new(ListArray::new(item, offsets, items, None))
    };
    let decimal = |value: i128, precision: u8, scale: i8| -> ArrayRef {
        Arc::new(Decimal128Array::from(vec![value]).with_precision_and_scale(precision, scale).unwrap())
    };
    let int32 = |value: i32| -> ArrayRef { Arc::new(Int32Array::from(vec![value])) };
    let int64 = |value: i64| -> ArrayRef { Arc::new(Int64Array::from(vec![value])) };
    let text = |value: &str| -> ArrayRef { Arc::new(StringArray::from(vec![value])) };
    let dictionary: DictionaryArray<arrow::datatypes::Int32Type> = ["x"].into_iter().collect();
    for (arrays, expected_type, expected) in [
        (vec![int32(1), int64(i64::MAX)], "Int64", &["1", "9223372036854775807"][..]),
        (vec![int64(2), int32(-1), Arc::new(Int8Array::from(vec![3]))], "Int64", &["2", "-1", "3"]),
        (vec![int32(-1), Arc::new(UInt32Array::from(vec![u32::MAX]))], "Int64", &["-1", "4294967295"]),
        (
            vec![int64(-1), Arc::new(UInt64Array::from(vec![u64::MAX]))],
            "Decimal128(20, 0)",
            &["-1", "18446744073709551615"],
        ),
        (
            vec![Arc::new(Float32Array::from(vec![0.5])), Arc::new(Float64Array::from(vec![0.1]))],
            "Float64",
            &["0.5", "0.1"],
        ),
        (vec![int32(7), Arc::new(Float64Array::from(vec![0.1]))], "Float64", &["7.0", "0.1"]),
        (
            vec![
                Arc::new(TimestampMillisecondArray::from(vec![1])),
                Arc::new(TimestampMicrosecondArray::from(vec![2])),
            ],
            "Timestamp(µs)",
            &["1970-01-01T00:00:00.001", "1970-01-01T00:00:00.000002"],
        ),
        (
            vec![
                Arc::new(TimestampNanosecondArray::from(vec![1]).with_timezone("UTC")),
                Arc::new(TimestampMillisecondArray::from(vec![2]).with_timezone("+00:00")),
            ],
            "Timestamp(ns, \"UTC\")",
            &["1970-01-01T00:00:00.000000001Z", "1970-01-01T00:00:00.002Z"],
        ),
        (
            vec![Arc::new(Date32Array::from(vec![1])), Arc::new(TimestampMillisecondArray::from(vec![2]))],
            "Timestamp(ms)",
            &["1970-01-02T00:00:00", "1970-01-01T00:00:00.002"],
        ),
        (
            vec![Arc::new(Time32MillisecondArray::from(vec![1])), Arc::new(Time64NanosecondArray::from(vec![2]))],
            "Time64(ns)",
            &["00:00:00.001", "00:00:00.000000002"],
        ),
        (vec![decimal(105, 5, 2), decimal(12_345, 7, 4)], "Decimal128(7, 4)", &["1.0500", "1.2345"]),
        (vec![decimal(105, 5, 2), int64(i64::MIN)], "Decimal128(21, 2)", &["1.05", "-9223372036854775808.00"]),
        (vec![decimal(1, 38, 0), decimal(1, 38, 10)], "Decimal256(48, 10)", &["1.0000000000", "0.0000000001"]),
        (vec![text("a"), Arc::new(LargeStringArray::from(vec!["b"])), Arc::new(dictionary)], "Utf8", &["a", "b", "x"]),
        (
            vec![
                Arc::new(BinaryArray::from_vec(vec![b"ab"])),
                Arc::new(FixedSizeBinaryArray::try_from_iter([[1, 2, 3]].into_iter()).unwrap()),
            ],
            "Binary",
            &["6162", "010203"],
        ),
        (vec![Arc::new(NullArray::new(1)), text("a")], "Utf8", &["NULL", "a"]),
        (vec![list_of(int32(1)), list_of(int64(2))], "List(Int64, field: 'element')", &["[1]", "[2]"]),
        (
            // By name, whatever their order; a field that a file does not have is null there.
            vec![
                struct_of(vec![("a", int32(1)), ("b", text("x"))]),
                struct_of(vec![("b", text("y")), ("c", int64(3)), ("a", int64(2))]),
            ],
            "Struct(\"a\": Int64, \"b\": Utf8, \"c\": Int64)",
            &["{a: 1, b: x, c: }", "{a: 2, b: y, c: 3}"],
        ),
        (
            vec![
                list_of(struct_of(vec![("a", int32(1)), ("b", int32(2))])),
                list_of(struct_of(vec![("b", int64(3)), ("a", int64(4))])),
            ],
            "List(Struct(\"a\": Int64, \"b\": Int64), field: 'element')",
            &["[{a: 1, b: 2}]", "[{a: 4, b: 3}]"],
        ),
    ] {
        let bench = shards(&arrays);
        let outcome = bench.scan("");
        assert_eq!(outcome.column("v"), expected, "{expected_type}");
        assert_eq!(bench.table("").schema().field(0).data_type().to_string(), expected_type);
        assert_eq!(outcome.rejects.n_rejects, 0);
    }
}

#[test]
fn shards_that_no_type_holds_are_refused_and_values_that_do_not_fit_are_rejects() {
    use arrow::array::*;
    let int64 = || -> ArrayRef { Arc::new(Int64Array::from(vec![1])) };
    let utc: ArrayRef = Arc::new(TimestampSecondArray::from(vec![1]).with_timezone("UTC"));
    for arrays in [
        [int64(), Arc::new(Float64Array::from(vec![0.5]))],
        [int64(), Arc::new(StringArray::from(vec!["x"]))],
        [int64(), Arc::new(BooleanArray::from(vec![true]))],
        [Arc::new(StringArray::from(vec!["x"])), Arc::new(BinaryArray::from_vec(vec![b"\xff"]))],
        [Arc::new(TimestampSecondArray::from(vec![1])), utc],
    ] {
        let bench = shards(&arrays);
        let message = open(&bench.spec(""), &bench.config).unwrap_err().to_string();
        assert!(message.contains("column `v` is") && message.contains("1.parquet"), "{message}");
    }
    // The year 3000 is too far away for nanoseconds: not null without a word.
    let far: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![32_503_680_000_000]));
    let outcome = shards(&[far, Arc::new(TimestampNanosecondArray::from(vec![1]))]).scan("");
    assert_eq!((outcome.n_rows(), outcome.rejects.n_rejects), (1, 1));
    assert!(outcome.rejects.first[0].contains("column `v`"), "{:?}", outcome.rejects.first);
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
