//! What computing the statistics of a query together is worth: the same rules fused and one by one, in one run.
//!
//! `cargo bench --bench one_pass -- FILES…` (JSON Lines with a `text` column, packed or not). The documents are loaded
//! into memory first, so that only the work on their text is measured; one thread. Prints CPU seconds and MB of text
//! per CPU second, fused and not, and their ratio. With `--each`: nanoseconds a byte of each statistic by itself, beside
//! what it declares (`Cost` in its file).
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::Int64Type;
use curator::diag::SourceText;
use curator::ops::{Args, Cpu, Needs, Registry, Stage};
use curator::{Compiled, Config, Language, Session};
use std::num::NonZeroUsize;

/// As in the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const PRESETS: [(&str, &str); 4] = [
    ("NeMo's 28 English filters", "WHERE nemo_english(text)"),
    ("NeMo's 25 other filters", "WHERE nemo_non_english(text)"),
    (
        "Gopher + C4 + FineWeb",
        "WHERE gopher_quality(text) AND gopher_repetition(text) AND c4_quality(text) AND fineweb_quality(text)",
    ),
    ("Data-Juicer's text filters", "WHERE juicer_filters(text)"),
];

fn main() {
    let files: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    if files.is_empty() {
        println!("give files: cargo bench --bench one_pass -- shard-*.jsonl.gz");
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let load: Vec<String> = files.iter().map(|file| format!("SELECT text FROM '{file}'")).collect();
    let load = format!("CREATE TABLE docs AS {}", load.join(" UNION ALL "));
    let mut sessions = [true, false].map(|fusion| {
        let config = Config { threads: NonZeroUsize::MIN, fusion, ..Config::default() };
        let mut session = Session::new(config).unwrap();
        runtime.block_on(rows(&mut session, &load, Language::Sql));
        session
    });
    let size = "FROM docs |> AGGREGATE sum(octet_length(text)) AS bytes";
    let batches = runtime.block_on(rows(&mut sessions[0], size, Language::Cql));
    let mb = batches[0].column(0).as_primitive::<Int64Type>().value(0) as f64 / 1e6;
    println!("{mb:.1} MB of text, one thread");
    if std::env::args().any(|arg| arg == "--each") {
        for (call, declared_ns) in statistics(|_| true) {
            let query = columns(std::slice::from_ref(&call));
            let seconds = cpu_seconds(|| {
                runtime.block_on(rows(&mut sessions[0], &query, Language::Cql));
            });
            println!("{call:44} {:6.2} ns/byte, declared {declared_ns:.2}", seconds * 1e3 / mb);
        }
        return;
    }
    println!("{:34} {:>9} {:>10} {:>12} {:>8}", "", "CPU s", "MB/CPU s", "separate s", "ratio");

    let calls = |of: fn(Needs) -> bool| statistics(of).into_iter().map(|(call, _)| call).collect::<Vec<_>>();
    let cheap = calls(|needs| needs.stage() == Stage::Scan && needs != Needs::TEXT);
    let all = calls(|_| true);
    let mut queries = vec![
        (format!("{} cheap statistics", cheap.len()), columns(&cheap)),
        (format!("all {} statistics", all.len()), columns(&all)),
    ];
    queries
        .extend(PRESETS.map(|(name, rules)| (name.to_string(), format!("FROM docs |> {rules} |> AGGREGATE count(*)"))));
    for (name, query) in queries {
        let [fused, separate] = [0, 1].map(|at| {
            cpu_seconds(|| {
                runtime.block_on(rows(&mut sessions[at], &query, Language::Cql));
            })
        });
        println!("{name:34} {fused:9.2} {:10.0} {separate:12.2} {:8.1}", mb / fused, separate / fused);
    }
}

/// Calls of some statistics, with their default options, and the nanoseconds a byte that they declare.
fn statistics(of: impl Fn(Needs) -> bool) -> Vec<(String, f64)> {
    let mut calls = Vec::new();
    for spec in Registry::builtin().iter() {
        let Cpu::Statistic(statistic) = &spec.cpu else { continue };
        let Ok(args) = Args::new(spec, vec![]) else { continue };
        if of((statistic.needs)(&args)) {
            calls.push((format!("{}(text)", spec.name), spec.cost.ns_per_byte));
        }
    }
    calls
}

/// Every call for every document, nothing dropped.
fn columns(calls: &[String]) -> String {
    let sums: Vec<String> = calls.iter().enumerate().map(|(place, call)| format!("max({call}) AS c{place}")).collect();
    format!("FROM docs |> AGGREGATE {}", sums.join(", "))
}

async fn rows(session: &mut Session, query: &str, language: Language) -> Vec<RecordBatch> {
    let script = session.parse(&SourceText::new("bench", query), language).unwrap();
    let Compiled::Query(plan) = session.compile(&script, 0).await.unwrap() else { return vec![] };
    let mut run = session.execute(&plan).await.unwrap();
    let mut batches = Vec::new();
    while let Some(batch) = run.next().await {
        batches.push(batch.unwrap());
    }
    batches
}

/// User and system time of this process that `work` takes, all threads together; the least of three runs. Time is told in
/// hundredths of a second, so what is short is repeated.
fn cpu_seconds(mut work: impl FnMut()) -> f64 {
    let mut once = || {
        let before = cpu_ticks();
        let (mut n_times, mut ticks) = (0, 0);
        while ticks < 20 {
            work();
            n_times += 1;
            ticks = cpu_ticks() - before;
        }
        ticks as f64 / 100.0 / f64::from(n_times)
    };
    (0..3).map(|_| once()).fold(f64::MAX, f64::min)
}

fn cpu_ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}
