//! How well queries use many threads: CPU seconds, wall time, and the share of its busiest thread in a run's CPU time, which
//! bounds what more cores can gain: at 10 %, no machine is more than ten times as fast as one core.
//!
//! ```text
//! cargo bench --bench scaling -- [--threads 1,2,16] [--mb 200] [--only WORD] [--curator PROGRAM]… ['PATTERN']
//! ```
//! PATTERN names JSON Lines with `id` and `text`; without it, 24 gzipped files of `--mb` megabytes in all are made. The same
//! documents are also read as one file: plain, zstd, Parquet. `--curator` measures other builds in the same run;
//! `--only` takes the lines with this word.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const CURATOR: &str = env!("CARGO_BIN_EXE_curator");
/// How often threads are looked at; what one does after the last look is not seen.
const LOOK_EVERY: Duration = Duration::from_millis(5);
const N_FILES: usize = 24;

const RULES: &str = "WHERE words(text) > 50 AND alpha_ratio(text) > 0.6 AND duplicate_line_ratio(text) < 0.5";

/// What is done with the documents, and the ending of the output.
fn queries() -> [(&'static str, String, &'static str); 5] {
    [
        ("filters → jsonl.zst", RULES.to_string(), "jsonl.zst"),
        ("filters → parquet", RULES.to_string(), "parquet"),
        ("exact", "DEDUP EXACT ON text".to_string(), "jsonl.zst"),
        ("fuzzy", "DEDUP FUZZY ON text".to_string(), "jsonl.zst"),
        ("lines", "DEDUP LINES ON text".to_string(), "jsonl.zst"),
    ]
}

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let (mut threads, mut mb, mut only, mut programs) = (vec![1, 2, 16], 200, None, vec![CURATOR.to_string()]);
    let mut pattern = None;
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--threads" => threads = args.next().unwrap().split(',').map(|n| n.parse().unwrap()).collect(),
            "--mb" => mb = args.next().unwrap().parse().unwrap(),
            "--only" => only = args.next(),
            "--curator" => programs.push(args.next().unwrap()),
            "--bench" => {}
            given => pattern = Some(given.to_string()),
        }
    }
    let many = pattern.unwrap_or_else(|| made_corpus(folder.path(), mb));
    let mut inputs = vec![("many files".to_string(), many.clone())];
    for ending in ["jsonl", "jsonl.zst", "parquet"] {
        let one = folder.path().join(format!("one.{ending}")).display().to_string();
        watch(start(CURATOR, 2, &format!("FROM '{many}' |> INTO '{one}'")));
        inputs.push((format!("one .{ending}"), one));
    }
    println!("{:40} {:>8} {:>8} {:>8} {:>8}  busiest thread", "", "threads", "CPU s", "wall s", "busiest");
    for (input_name, input) in &inputs {
        for (name, verbs, ending) in queries() {
            let line = format!("{name}, {input_name}");
            if only.as_ref().is_some_and(|word| !line.contains(word)) {
                continue;
            }
            for (number, program) in programs.iter().enumerate() {
                for n_threads in &threads {
                    let out = folder.path().join(format!("out.{ending}")).display().to_string();
                    let query = format!("FROM '{input}' |> {verbs} |> INTO '{out}' WITH (overwrite = true)");
                    let seen = watch(start(program, *n_threads, &query));
                    let build = if number == 0 { String::new() } else { format!(" [{number}]") };
                    println!(
                        "{:40} {n_threads:8} {:8.2} {:8.2} {:7.1}%  {}",
                        format!("{line}{build}"),
                        seen.cpu_seconds,
                        seen.wall_seconds,
                        100.0 * seen.busiest_seconds / seen.cpu_seconds,
                        seen.busiest_name
                    );
                }
            }
        }
    }
}

fn start(program: &str, n_threads: usize, query: &str) -> Child {
    Command::new(program)
        .args(["query", "--quiet", "--threads", &n_threads.to_string(), "-e", query])
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

struct Seen {
    cpu_seconds: f64,
    wall_seconds: f64,
    busiest_seconds: f64,
    busiest_name: String,
}

/// Looks at the threads of a process until it ends. Threads that ended count with what was last seen of them.
fn watch(mut child: Child) -> Seen {
    let begin = Instant::now();
    let mut threads: HashMap<u32, (String, f64)> = HashMap::new();
    let tasks = format!("/proc/{}/task", child.id());
    let status = loop {
        for task in std::fs::read_dir(&tasks).into_iter().flatten().flatten() {
            let Ok(stat) = std::fs::read_to_string(task.path().join("schedstat")) else { continue };
            let name = std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
            let on_cpu_ns: f64 = stat.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0.0);
            let number = task.file_name().to_string_lossy().parse().unwrap();
            threads.insert(number, (name.trim().to_string(), on_cpu_ns / 1e9));
        }
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        std::thread::sleep(LOOK_EVERY);
    };
    assert!(status.success(), "the query failed");
    let cpu_seconds = threads.values().map(|(_, seconds)| seconds).sum();
    let busiest = threads.into_values().max_by(|one, other| one.1.total_cmp(&other.1)).unwrap();
    let (busiest_name, busiest_seconds) = busiest;
    Seen { cpu_seconds, wall_seconds: begin.elapsed().as_secs_f64(), busiest_seconds, busiest_name }
}

/// Documents of plain sentences, the same each time; every tenth repeats an earlier one with a line more.
fn made_corpus(folder: &Path, mb: usize) -> String {
    const WORDS: [&str; 16] = [
        "the", "river", "of", "light", "and", "a", "small", "boat", "that", "crossed", "with", "morning", "harbour",
        "to", "see", "again",
    ];
    let mut state = 1_u64;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    let mut kept: Vec<String> = vec![];
    let mut id = 0;
    for number in 0..N_FILES {
        let path = folder.join(format!("made-{number:02}.jsonl.gz"));
        let file = std::fs::File::create(path).unwrap();
        let mut file = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        let mut n_bytes = 0;
        while n_bytes < mb * 1_000_000 / N_FILES {
            let mut text = String::new();
            if id % 10 == 9 {
                text = kept[next() % kept.len()].clone() + "Read more on the next page.\\n";
            } else {
                for place in 0..100 + next() % 400 {
                    text += WORDS[next() % WORDS.len()];
                    text += if place % 12 == 11 { ".\\n" } else { " " };
                }
                if kept.len() < 1000 {
                    kept.push(text.clone());
                }
            }
            let line = format!("{{\"id\":\"doc-{id}\",\"text\":\"{text}\"}}\n");
            file.write_all(line.as_bytes()).unwrap();
            n_bytes += line.len();
            id += 1;
        }
        file.finish().unwrap();
    }
    folder.join("made-*.jsonl.gz").display().to_string()
}
