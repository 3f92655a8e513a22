//! What holds for every format: partitions, order, compression, folders, standard input, metrics.

use super::*;

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
fn files_read_by_several_threads_come_in_order_with_the_same_rejects() {
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(numbered_lines(4000).as_bytes()).unwrap();
    let mut cut_off = gz.finish().unwrap();
    cut_off.truncate(cut_off.len() / 2);
    let (short, long) = (numbered_lines(50) + "broken\n", numbered_lines(900));
    let files: [(&str, &[u8]); 6] = [
        ("a.jsonl", long.as_bytes()),
        ("b.jsonl.gz", &cut_off),
        ("c.jsonl", short.as_bytes()),
        ("d.jsonl", b""),
        ("e.jsonl", long.as_bytes()),
        ("f.jsonl", short.as_bytes()),
    ];
    let read = |n_partitions: usize, sample_bytes: usize| {
        let mut bench = Bench::new(&files).batch_bytes(700);
        bench.config.sample_bytes = sample_bytes;
        bench.n_partitions = n_partitions;
        bench.extra.position = true;
        let outcome = bench.scan("");
        let mut rows: Vec<(u64, String)> = Vec::new();
        for partition in outcome.batches.iter().flatten() {
            let positions = partition.column_by_name("_seq").unwrap().as_primitive::<UInt64Type>();
            let texts = partition.column_by_name("text").unwrap().as_string::<i32>();
            rows.extend(positions.values().iter().copied().zip(texts.iter().map(|text| text.unwrap().to_string())));
        }
        for partition in &outcome.batches {
            let firsts = partition
                .iter()
                .map(|batch| batch.column_by_name("_seq").unwrap().as_primitive::<UInt64Type>().value(0));
            assert!(firsts.is_sorted());
        }
        rows.sort();
        (rows, outcome.reject_reasons())
    };
    let one = read(1, 64 << 20);
    assert_eq!(one.1.len(), 3, "{:?}", one.1);
    for (n_partitions, sample_bytes) in [(8, 64 << 20), (8, 600), (1, 600)] {
        assert!(read(n_partitions, sample_bytes) == one, "{n_partitions} partitions, {sample_bytes} bytes sampled");
    }
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
fn a_limit_stops_the_scan_and_the_plan_can_run_again() {
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
