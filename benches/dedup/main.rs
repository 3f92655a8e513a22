//! What deduplication costs: CPU seconds and peak memory of the program, on files, on documents made on the fly, and
//! beside other engines in the same run.
//!
//! ```text
//! cargo bench --bench dedup -- [--python PYTHON [--pairs PAIRS]] [--rows N[,N…]] [--memory SIZE] [--components N]
//!     ['PATTERN'…]
//! ```
//! PATTERNs name JSON Lines with `id` and `text`, as FROM takes them: 'web/*.jsonl.gz'. With `--python`, an interpreter
//! that has duckdb, polars, daft, rensa and datasketch, `peers/dedup.py` does the same work with each of them (those that
//! are not installed are left out). With `--pairs`, the known near-duplicates of the files, the last column is the share
//! of them that each engine finds. With `--rows`, so many synthetic documents, every fifth a near-duplicate of an earlier
//! one, are piped in. With `--components`, pairs of so many rows, in several shapes, are united on disk and in memory.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod components;

use std::io::{BufWriter, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const CURATOR: &str = env!("CARGO_BIN_EXE_curator");

fn main() {
    let mut files = vec![];
    let (mut python, mut pairs, mut rows, mut memory) = (None, None, vec![], "1GB".to_string());
    let mut n_components = None;
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--python" => python = args.next(),
            "--pairs" => pairs = args.next(),
            "--rows" => rows = args.next().unwrap().split(',').map(|n| n.parse().unwrap()).collect(),
            "--memory" => memory = args.next().unwrap(),
            "--components" => n_components = Some(args.next().unwrap().parse().unwrap()),
            "--bench" => {}
            file => files.push(file.to_string()),
        }
    }
    if files.is_empty() && rows.is_empty() && n_components.is_none() {
        println!("give patterns, --rows or --components: cargo bench --bench dedup -- 'web/*.jsonl.gz'");
        return;
    }
    println!("{:44} {:>9} {:>9} {:>10} {:>12}", "", "CPU s", "wall s", "peak MB", "rows out");
    if let Some(n_rows) = n_components {
        components::show(n_rows);
    }
    if !files.is_empty() {
        on_files(&files, python.as_deref(), pairs.as_deref());
    }
    for n_rows in rows {
        let query = "FROM '-' WITH (format = 'jsonl') |> DEDUP FUZZY ON text |> AGGREGATE count(*) AS n";
        let mut child = Command::new(CURATOR)
            .args(["query", "--quiet", "--output-format", "csv", "--memory", &memory, "-e", query])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let pipe = child.stdin.take().unwrap();
        let writing = std::thread::spawn(move || generate(n_rows, pipe));
        show(&format!("fuzzy, {n_rows} synthetic, --memory {memory}"), child);
        writing.join().unwrap();
    }
}

fn on_files(patterns: &[String], python: Option<&str>, pairs: Option<&str>) {
    let list = patterns.iter().map(|pattern| format!("SELECT id, text FROM '{pattern}'"));
    let list = list.collect::<Vec<_>>().join(" UNION ALL ");
    let queries = [
        ("exact", "DEDUP EXACT ON text".to_string()),
        ("fuzzy 14×8, words:5", "DEDUP FUZZY ON text WITH (bands = 14, rows = 8, verify = false)".to_string()),
        ("fuzzy 14×8, words:5, verified", "DEDUP FUZZY ON text WITH (bands = 14, rows = 8)".to_string()),
        ("fuzzy, datatrove's hashes", "DEDUP FUZZY ON text WITH (hash = 'datatrove')".to_string()),
        ("fuzzy, NeMo's hashes", "DEDUP FUZZY ON text WITH (hash = 'nemo')".to_string()),
        ("lines", "DEDUP LINES ON text".to_string()),
        ("sentences, spans of 3", "DEDUP SENTENCES ON text".to_string()),
        ("substrings of 100 bytes", "DEDUP SUBSTRING ON text".to_string()),
    ];
    for (name, verb) in queries {
        let query = format!("FROM ({list}) |> {verb} |> AGGREGATE count(*) AS n");
        let child = Command::new(CURATOR)
            .args(["query", "--quiet", "--output-format", "csv", "-e", &query])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        show(&format!("curator: {name}"), child);
    }
    let Some(python) = python else { return };
    let files = patterns.iter().flat_map(|pattern| glob::glob(pattern).unwrap()).map(Result::unwrap);
    let files: Vec<_> = files.collect();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers/dedup.py");
    let run = |peer: &str, pairs: Option<&str>| {
        let mut command = Command::new(python);
        command.env("CURATOR", CURATOR).arg(script).args(peer.split(' ')).args(pairs).args(&files);
        show(peer, command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
    };
    for peer in ["duckdb exact", "polars exact", "daft exact", "daft fuzzy", "rensa fuzzy", "datasketch fuzzy"] {
        run(peer, None);
    }
    for peer in ["curator recall", "daft recall", "rensa recall", "datasketch recall"] {
        if pairs.is_some() {
            run(peer, pairs);
        }
    }
}

/// Waits for a child and prints what it took.
fn show(name: &str, mut child: Child) {
    let started = Instant::now();
    let before = children_ticks();
    let mut output = child.stdout.take().unwrap();
    let reading = std::thread::spawn(move || std::io::read_to_string(&mut output).unwrap());
    let mut peak_kib = 0;
    let status = loop {
        peak_kib = peak_kib.max(peak_of(child.id()).unwrap_or(0));
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let cpu_seconds = (children_ticks() - before) as f64 / 100.0;
    let answer = reading.join().unwrap();
    let answer =
        if status.success() { answer.trim().lines().last().unwrap_or("").to_string() } else { status.to_string() };
    let wall_seconds = started.elapsed().as_secs_f64();
    println!("{name:44} {cpu_seconds:9.2} {wall_seconds:9.2} {:10} {answer:>12}", peak_kib / 1024);
}

/// The largest resident size a process has had.
fn peak_of(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// User and system time of the children that have ended, in hundredths of a second.
fn children_ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    fields[13].parse::<u64>().unwrap() + fields[14].parse::<u64>().unwrap()
}

/// Documents of 60 to 140 words; every fifth repeats one of the last thousand with one word changed.
fn generate(n_rows: u64, pipe: impl Write) {
    let mut pipe = BufWriter::with_capacity(1 << 20, pipe);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut number = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut recent: Vec<Vec<u64>> = vec![];
    for row in 0..n_rows {
        let words = if row % 5 == 4 {
            let mut words = recent[number() as usize % recent.len()].clone();
            let place = number() as usize % words.len();
            words[place] = number() % 50_000;
            words
        } else {
            let n_words = 60 + number() % 81;
            let words: Vec<u64> = (0..n_words).map(|_| number() % 50_000).collect();
            if recent.len() < 1000 {
                recent.push(words.clone());
            } else {
                let place = number() as usize % recent.len();
                recent[place] = words.clone();
            }
            words
        };
        write!(pipe, "{{\"id\":{row},\"text\":\"").unwrap();
        for word in words {
            write!(pipe, "w{word} ").unwrap();
        }
        writeln!(pipe, "\"}}").unwrap();
    }
    pipe.flush().unwrap();
}
