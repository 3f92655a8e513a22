//! What computing the statistics of a query together is worth: the same rules fused and one by one, in one run.
//!
//! `cargo bench --bench one_pass -- FILES…` (JSON Lines with a `text` column, packed or not). The documents are loaded
//! into memory first, so that only the work on their text is measured; one thread. Prints CPU seconds and MB of text
//! per CPU second for
//!
//! - fused: as users run it
//! - one by one: `fusion = off`. Each rule takes each document apart for itself; cheap rules still come first, and a rule
//!   sees only what those before it leave
//! - plain: `optimize = off`. What DataFusion makes of the same functions
//!
//! and how many times as long the others take. With `--only=TEXT`: just the lines whose name holds that. With
//! `--each`: nanoseconds a byte of each statistic by itself, beside what it declares (`Cost` in its file).
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::Int64Type;
use curator::diag::SourceText;
use curator::internals::{Needs, PassStage};
use curator::ops::{Args, Cpu, Registry};
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
    let mut sessions = [(true, true), (true, false), (false, false)].map(|(optimize, fusion)| {
        let config = Config { threads: NonZeroUsize::MIN, optimize, fusion, ..Config::default() };
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
    println!("{:28} {:>9} {:>8} {:>12} {:>6} {:>8} {:>6}", "", "fused s", "MB/s", "one by one s", "", "plain s", "");

    let calls = |of: fn(Needs) -> bool| statistics(of).into_iter().map(|(call, _)| call).collect::<Vec<_>>();
    let cheap = calls(|needs| needs.stage() == PassStage::Scan && needs != Needs::TEXT);
    let all = calls(|_| true);
    let mut queries = vec![
        (format!("{} cheap statistics", cheap.len()), columns(&cheap)),
        (format!("all {} statistics", all.len()), columns(&all)),
    ];
    queries
        .extend(PRESETS.map(|(name, rules)| (name.to_string(), format!("FROM docs |> {rules} |> AGGREGATE count(*)"))));
    let only = std::env::args().find_map(|arg| arg.strip_prefix("--only=").map(str::to_string)).unwrap_or_default();
    for (name, query) in queries.into_iter().filter(|(name, _)| name.contains(&only)) {
        let [fused, one_by_one, plain] = [0, 1, 2].map(|at| {
            cpu_seconds(|| {
                runtime.block_on(rows(&mut sessions[at], &query, Language::Cql));
            })
        });
        println!(
            "{name:28} {fused:9.3} {:8.0} {one_by_one:12.3} {:5.1}× {plain:8.3} {:5.1}×",
            mb / fused,
            one_by_one / fused,
            plain / fused
        );
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

/// User and system time of this process that `work` takes, all threads together: the least of at least three runs, and of
/// as many as two seconds hold. Whatever else the machine does only adds to it.
fn cpu_seconds(mut work: impl FnMut()) -> f64 {
    let begin = cpu_now();
    let mut least = f64::MAX;
    let mut n_runs = 0;
    while n_runs < 3 || cpu_now() - begin < 2.0 {
        let start = cpu_now();
        work();
        least = least.min(cpu_now() - start);
        n_runs += 1;
    }
    least
}

/// Seconds that this process has run so far.
#[allow(unsafe_code)]
fn cpu_now() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec that lives through the call.
    let code = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    assert_eq!(code, 0, "this system does not tell a process's time");
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
