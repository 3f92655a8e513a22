//! How far a query is from the least work its input allows, in one run on one machine.
//!
//! `cargo bench --bench end_to_end -- FILES…` (gzip'd JSON Lines with a `text` column; without files, some are made).
//! Prints, for each step, CPU seconds and MB of JSON per CPU second, and the ratio to unpacking the files alone.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use curator::diag::SourceText;
use curator::{Compiled, Config, Language, Session};
use std::io::{Read, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

const QUERIES: [(&str, &str); 4] = [
    ("read one column", "FROM $input |> AGGREGATE max(length(id))"),
    ("read text, count words", "FROM $input |> AGGREGATE sum(words(text))"),
    (
        "eight rules, count",
        "FROM $input |> WHERE words(text) BETWEEN 50 AND 100000 AND alpha_ratio(text) > 0.6 AND digit_ratio(text) < 0.15 \
         AND whitespace_ratio(text) < 0.3 AND mean_word_length(text) BETWEEN 3 AND 10 AND duplicate_line_ratio(text) < 0.3 \
         AND symbol_to_word_ratio(text) < 0.1 AND NOT has_lorem_ipsum(text) |> AGGREGATE count(*)",
    ),
    (
        "two rules, write .jsonl.zst",
        "FROM $input |> WHERE words(text) > 50 AND alpha_ratio(text) > 0.6 |> INTO $output WITH (overwrite = true)",
    ),
];

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let given: Vec<PathBuf> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).map(PathBuf::from).collect();
    let files = if given.is_empty() { vec![made_corpus(folder.path())] } else { given };
    let input = match files.as_slice() {
        [one] => one.display().to_string(),
        [first, ..] => first.parent().unwrap().join("*.jsonl.gz").display().to_string(),
        [] => return,
    };

    let mut n_bytes = 0;
    let unpack_seconds = cpu_seconds(|| n_bytes = files.iter().map(|file| unpack(file)).sum());
    let mb = n_bytes as f64 / 1e6;
    println!("{mb:.1} MB of JSON in {} files, one thread", files.len());
    println!("{:32} {:>8} {:>12} {:>8}", "", "CPU s", "MB/CPU s", "ratio");
    let show = |name: &str, seconds: f64| {
        println!("{name:32} {seconds:8.2} {:12.0} {:8.2}", mb / seconds, seconds / unpack_seconds);
    };
    show("unpack alone", unpack_seconds);

    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    for (name, query) in QUERIES {
        let seconds = cpu_seconds(|| runtime.block_on(run(query, &input, folder.path())));
        show(name, seconds);
    }
}

async fn run(query: &str, input: &str, folder: &Path) {
    let mut session = Session::new(Config { threads: NonZeroUsize::MIN, ..Config::default() }).unwrap();
    session.set_parameter("input", input);
    session.set_parameter("output", &folder.join("out.jsonl.zst").display().to_string());
    let script = session.parse(&SourceText::new("bench", query), Language::Cql).unwrap();
    let Compiled::Query(plan) = session.compile(&script, 0).await.unwrap() else { return };
    let mut run = session.execute(&plan).await.unwrap();
    while let Some(batch) = run.next().await {
        batch.unwrap();
    }
}

fn unpack(file: &Path) -> usize {
    let mut stream = flate2::read::MultiGzDecoder::new(std::fs::File::open(file).unwrap());
    let mut buffer = vec![0; 1 << 20];
    let mut n_bytes = 0;
    loop {
        match stream.read(&mut buffer).unwrap() {
            0 => return n_bytes,
            n => n_bytes += n,
        }
    }
}

/// A corpus of plain sentences, the same each time.
fn made_corpus(folder: &Path) -> PathBuf {
    const WORDS: [&str; 12] =
        ["the", "river", "of", "light", "and", "a", "small", "boat", "that", "crossed", "with", "morning"];
    let path = folder.join("made.jsonl.gz");
    let mut file = flate2::write::GzEncoder::new(std::fs::File::create(&path).unwrap(), flate2::Compression::fast());
    let mut state = 1_u64;
    for id in 0..20_000 {
        let mut text = String::new();
        for place in 0..300 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text += WORDS[(state >> 33) as usize % WORDS.len()];
            text += if place % 12 == 11 { ".\\n" } else { " " };
        }
        writeln!(file, r#"{{"id":"doc-{id}","text":"{text}"}}"#).unwrap();
    }
    file.finish().unwrap();
    path
}

/// User and system time of this process that `work` takes, all threads together.
fn cpu_seconds(work: impl FnOnce()) -> f64 {
    let before = cpu_ticks();
    work();
    (cpu_ticks() - before).max(1) as f64 / 100.0
}

fn cpu_ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}
