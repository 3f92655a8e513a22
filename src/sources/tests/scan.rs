//! What holds for every format: partitions, order, compression, folders, standard input, metrics.

use super::*;
use futures::StreamExt;

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
        bench.extra = ExtraColumns { file: false, row: true, position: true, line: false };
        let outcome = bench.scan("");
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
fn all_partitions_have_work_where_files_are_few_and_cannot_be_cut() {
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(numbered_lines(4000).as_bytes()).unwrap();
    let packed = gz.finish().unwrap();
    let mut bench = Bench::new(&[("a.jsonl.gz", &packed), ("b.jsonl.gz", &packed), ("c.jsonl.gz", &packed)]);
    bench = bench.batch_bytes(700);
    bench.config.block_bytes = NonZeroUsize::new(1000).unwrap();
    bench.n_partitions = 5;
    assert_eq!(bench.scan("").batches.len(), 5);
    let table = bench.table("");
    let plan = FileScanExec::try_new(table, vec![0], 5, None).unwrap();
    let context = SessionContext::new();
    let mut streams: Vec<_> = (0..5).map(|number| plan.execute(number, context.task_ctx()).unwrap()).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    // The first three begin a file each; the others help them.
    let has_rows = streams.iter_mut().map(|stream| runtime.block_on(stream.next()).is_some());
    assert_eq!(has_rows.collect::<Vec<_>>(), [true; 5]);
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
    let odd = Bench::new(&[
        ("ok=true/a%3Db=x/a.jsonl", b"{\"id\":1}\n"),
        ("ok=__HIVE_DEFAULT_PARTITION__/a%3Db=y/a.jsonl", b"{\"id\":2}\n"),
    ]);
    assert_eq!(odd.table("").schema().field(1).data_type(), &DataType::Boolean);
    assert_eq!(odd.scan("").column("ok"), ["NULL", "true"]);
    assert_eq!(odd.scan("").column("a=b"), ["y", "x"]);
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

#[test]
fn a_partition_that_starts_after_the_others_were_dropped_gives_the_rows_that_nobody_took() {
    let text = numbered_lines(2000);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let context = SessionContext::new();
    // One split that all partitions decode, and one for each partition and more.
    for block_bytes in [1 << 20, 10_000] {
        let mut bench = Bench::new(&[("a.jsonl", text.as_bytes())]).batch_bytes(1000);
        bench.config.block_bytes = NonZeroUsize::new(block_bytes).unwrap();
        bench.n_partitions = 3;
        for n_batches in [0, 1, 5, usize::MAX] {
            let plan = FileScanExec::try_new(bench.table("a.jsonl"), vec![0], bench.n_partitions, None).unwrap();
            let mut first = plan.execute(0, context.task_ctx()).unwrap();
            let taken = runtime.block_on(async {
                let mut taken = Vec::new();
                while taken.len() < n_batches
                    && let Some(batch) = first.next().await
                {
                    taken.push(batch.unwrap());
                }
                taken
            });
            drop(first);
            let late = (1..bench.n_partitions).map(|partition| {
                let stream = plan.execute(partition, context.task_ctx()).unwrap();
                runtime.block_on(datafusion::physical_plan::common::collect(stream)).unwrap()
            });
            let mut ids: Vec<i64> = taken
                .into_iter()
                .chain(late.flatten())
                .flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec())
                .collect();
            // A block is decoded to one batch here, so a partition dropped between two takes nothing with it.
            ids.sort_unstable();
            assert_eq!(ids, (0..2000).collect::<Vec<i64>>(), "{n_batches} batches taken first");
        }
    }
}

#[test]
fn splits_are_the_same_rows_whatever_the_threads_and_wherever_files_are_cut() {
    let text = "\u{feff}".to_string() + &numbered_lines(900) + "broken\n" + &numbered_lines(40);
    let frames: Vec<u8> =
        text.as_bytes().chunks(3000).flat_map(|part| zstd::bulk::compress(part, 1).unwrap()).collect();
    let small = numbered_lines(20);
    let files: [(&str, &[u8]); 5] = [
        ("a.jsonl", text.as_bytes()),
        ("b.jsonl.zst", &frames),
        ("c.jsonl", small.as_bytes()),
        ("d.jsonl", b""),
        ("e.jsonl", small.trim_end().as_bytes()),
    ];
    let read = |n_partitions: usize, block_bytes: usize, max_files: usize| {
        let mut bench = Bench::new(&files).batch_bytes(700);
        bench.config.block_bytes = NonZeroUsize::new(block_bytes).unwrap();
        bench.config.max_files = NonZeroUsize::new(max_files);
        bench.n_partitions = n_partitions;
        bench.extra = ExtraColumns { file: true, row: true, position: true, line: false };
        let outcome = bench.scan("");
        let mut rows = Vec::new();
        for partition in &outcome.batches {
            let mut last = None;
            for batch in partition {
                let positions = batch.column_by_name("_seq").unwrap().as_primitive::<UInt64Type>();
                let files = batch.column_by_name("_file").unwrap().as_string::<i32>();
                let lines = batch.column_by_name("_row").unwrap().as_primitive::<Int64Type>();
                let ids = batch.column_by_name("id").unwrap().as_primitive::<Int64Type>();
                for row in 0..batch.num_rows() {
                    assert!(last < Some(positions.value(row)), "ascending in each partition");
                    last = Some(positions.value(row));
                    let name = files.value(row).rsplit_once('/').unwrap().1.to_string();
                    rows.push((positions.value(row), name, lines.value(row), ids.value(row)));
                }
            }
        }
        rows.sort();
        let rows: Vec<_> = rows.into_iter().map(|(_, file, line, id)| (file, line, id)).collect();
        let mut rejects = outcome.reject_reasons();
        rejects.sort();
        (rows, rejects)
    };
    let whole = read(1, 1 << 30, 0);
    assert_eq!(whole.0.len(), 2 * 940 + 40);
    assert_eq!(whole.1.len(), 2, "{:?}", whole.1);
    for (n_partitions, block_bytes, max_files) in
        [(1, 100, 0), (4, 100, 1), (4, 2500, 0), (2, 9000, 1), (16, 9000, 0), (3, 1 << 30, 1)]
    {
        let cut = read(n_partitions, block_bytes, max_files);
        assert!(cut == whole, "{n_partitions} partitions, blocks of {block_bytes}, {max_files} files: {:?}", cut.1);
    }
}

#[test]
fn reading_ends_with_the_plan_whose_last_partition_never_starts() {
    let text = numbered_lines(20_000);
    let bench = Bench::new(&[("a.jsonl", text.as_bytes())]).batch_bytes(1000);
    let plan = FileScanExec::try_new(bench.table("a.jsonl"), vec![0], 2, None).unwrap();
    let mut first = plan.execute(0, SessionContext::new().task_ctx()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(first.next()).unwrap().unwrap();
    drop(first);
    let reading = plan.readings().pop().unwrap();
    assert!(reading.upgrade().is_some(), "the thread reads on for partition 1");
    drop(plan);
    let patience = std::time::Instant::now();
    while reading.upgrade().is_some() {
        assert!(patience.elapsed().as_secs() < 60, "a thread reads on for nobody");
        std::thread::yield_now();
    }
}

#[test]
fn a_csv_file_is_the_same_wherever_it_is_cut() {
    let mut text = "\u{feff}id,\"te\nxt\",n\r\n".to_string();
    for id in 0..300 {
        match id % 7 {
            0 => text += &format!("{id},\"line one\nline \"\"two\"\"\r\n,three\",{id}\r\n"),
            1 => text += &format!("{id},plain \"quotes\" inside,{id}\n"),
            2 => text += &format!("{id},\"\",\n"),
            3 => text += &format!("{id},too,many,fields\n\n"),
            _ => text += &format!("{id},{},{id}\n", "x".repeat(id % 40)),
        }
    }
    let read = |n_partitions: usize, block_bytes: usize| {
        let mut bench = Bench::new(&[("a.csv", text.as_bytes()), ("b.csv", b"id,n\n7,8\n")]).batch_bytes(500);
        bench.config.block_bytes = NonZeroUsize::new(block_bytes).unwrap();
        bench.n_partitions = n_partitions;
        bench.extra = ExtraColumns { file: true, row: true, position: true, line: false };
        let outcome = bench.scan("*.csv");
        let mut columns: Vec<Vec<String>> =
            ["_seq", "_row", "id", "te\nxt", "n"].map(|name| outcome.column(name)).into();
        let positions: Vec<u64> = columns.remove(0).iter().map(|position| position.parse().unwrap()).collect();
        let mut rows: Vec<usize> = (0..positions.len()).collect();
        rows.sort_by_key(|row| positions[*row]);
        let rows: Vec<Vec<String>> =
            rows.into_iter().map(|row| columns.iter().map(|column| column[row].clone()).collect()).collect();
        (rows, outcome.rejects.n_rejects, outcome.reject_reasons())
    };
    let whole = read(1, 1 << 30);
    assert_eq!((whole.0.len(), whole.1), (300 - 43 + 1, 43));
    for (n_partitions, block_bytes) in [(1, 9), (3, 40), (4, 333), (2, 2000)] {
        assert!(read(n_partitions, block_bytes) == whole, "{n_partitions} partitions, blocks of {block_bytes}");
    }
}

#[test]
fn parquet_and_arrow_files_are_the_same_wherever_they_are_cut() {
    let folder = tempfile::tempdir().unwrap();
    let text = numbered_lines(3000);
    let source = Bench::new(&[("a.jsonl", text.as_bytes())]);
    let rows = arrow::compute::concat_batches(
        &source.table("a.jsonl").schema(),
        source.scan("a.jsonl").batches.iter().flatten(),
    )
    .unwrap();
    let parquet_path = folder.path().join("a.parquet");
    let properties =
        ::parquet::file::properties::WriterProperties::builder().set_max_row_group_row_count(Some(100)).build();
    let mut writer = ::parquet::arrow::ArrowWriter::try_new(
        fs::File::create(&parquet_path).unwrap(),
        rows.schema(),
        Some(properties),
    )
    .unwrap();
    writer.write(&rows).unwrap();
    writer.close().unwrap();
    let arrow_path = folder.path().join("a.arrow");
    let file = fs::File::create(&arrow_path).unwrap();
    let mut writer = arrow::ipc::writer::FileWriter::try_new(file, &rows.schema()).unwrap();
    for start in (0..3000).step_by(100) {
        writer.write(&rows.slice(start, 100)).unwrap();
    }
    writer.finish().unwrap();
    for path in [parquet_path, arrow_path] {
        for (n_partitions, block_bytes, n_splits) in [(1, 1 << 30, 1), (3, 3000, 30), (4, 20_000, 0)] {
            let mut bench = Bench::new(&[]);
            bench.config.block_bytes = NonZeroUsize::new(block_bytes).unwrap();
            bench.n_partitions = n_partitions;
            bench.extra = ExtraColumns { file: false, row: true, position: true, line: false };
            let spec = SourceSpec::new(path.to_string_lossy());
            let table = open(&spec, &bench.config).unwrap().with_extra(bench.extra);
            let n_found = table.input.splits.ranges.len();
            assert!(n_splits == 0 && n_found > 1 || n_found == n_splits, "{path:?}: {n_found} splits");
            let outcome = bench.try_scan(table, None, Arc::new(RejectLog::new(None, false))).unwrap();
            let mut found: Vec<(u64, i64, i64)> = Vec::new();
            for batch in outcome.all() {
                let ids = batch.column_by_name("id").unwrap().as_primitive::<Int64Type>();
                let rows = batch.column_by_name("_row").unwrap().as_primitive::<Int64Type>();
                let positions = batch.column_by_name("_seq").unwrap().as_primitive::<UInt64Type>();
                found.extend((0..batch.num_rows()).map(|at| (positions.value(at), rows.value(at), ids.value(at))));
            }
            found.sort_unstable();
            let found: Vec<(i64, i64)> = found.into_iter().map(|(_, row, id)| (row, id)).collect();
            assert_eq!(found, (0..3000).map(|id| (id + 1, id)).collect::<Vec<_>>(), "{path:?} {block_bytes}");
        }
    }
}
