//! Changed bytes of every kind of input: rows and rejects, or a message; never a panic, a hang or a mistake of ours.
//!
//! A few dozen changes here; `tests/fuzz.sh 600` tries for ten minutes a target. Needs no nightly compiler and no libFuzzer:
//! inputs are changed as that does it, without looking at the code that runs. What was found is kept as a test beside the
//! code that was wrong (`src/sources/tests/broken.rs`).

use super::harness::{block_on, run};
use curator::diag::SourceText;
use curator::{Config, Error, Language, Session};
use std::fs;
use std::io::Write;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

/// Inputs a target, where nobody asks for more.
const N_INPUTS: usize = 40;
/// No input of some kilobytes takes so long, also in an unoptimized build on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A source of numbers that is the same each time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// Numbers that code often minds too little.
const ODD: [u64; 10] = [0, 1, 0x7f, 0x80, 0xff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 1 << 46, u64::MAX];
/// Texts that mean something somewhere.
const WORDS: [&[u8]; 10] = [b"\"", b"\\u", b"\n", b"{", b"[", b",", b"\xff", b"\xf0\x9f", b"null", b"1e999"];

/// Changes some bytes, in one to four ways.
fn change(random: &mut Random, bytes: &mut Vec<u8>, other: &[u8]) {
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len() + 1);
        let rest = bytes.len() - at;
        match random.below(9) {
            0 if rest > 0 => bytes[at] ^= 1 << random.below(8),
            1 if rest > 0 => bytes[at] = ODD[random.below(ODD.len())] as u8,
            2 if rest >= 4 => bytes[at..at + 4].copy_from_slice(&(ODD[random.below(ODD.len())] as u32).to_le_bytes()),
            3 if rest >= 8 => bytes[at..at + 8].copy_from_slice(&ODD[random.below(ODD.len())].to_le_bytes()),
            4 => bytes.truncate(at),
            5 => drop(bytes.splice(at..at, WORDS[random.below(WORDS.len())].iter().copied())),
            6 => drop(bytes.drain(at..at + random.below(rest.min(64) + 1))),
            7 => {
                let part = bytes[at..at + random.below(rest.min(256) + 1)].to_vec();
                let to = random.below(bytes.len() + 1);
                drop(bytes.splice(to..to, part));
            }
            _ => {
                let from = random.below(other.len());
                let part = other[from..from + random.below((other.len() - from).min(256) + 1)].to_vec();
                drop(bytes.splice(at..at, part));
            }
        }
    }
}

/// Tries `input` on changed seeds. It says what is wrong with it.
fn fuzz(target: &str, seeds: &[Vec<u8>], input: impl Fn(&[u8]) -> Result<(), Error>) {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let time = number("CURATOR_FUZZ_SECONDS").map(Duration::from_secs);
    let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ number("CURATOR_FUZZ_SEED").unwrap_or(1));
    let (began, mut n_inputs, mut n_refused) = (Instant::now(), 0, 0);
    while time.map_or(n_inputs < N_INPUTS, |time| began.elapsed() < time) {
        let mut bytes = seeds[n_inputs % seeds.len()].clone();
        // The first of each is as it should be.
        if n_inputs >= seeds.len() {
            let other = seeds[random.below(seeds.len())].clone();
            change(&mut random, &mut bytes, &other);
        }
        let started = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| input(&bytes)));
        let is_fault = match &outcome {
            Ok(Ok(())) => false,
            Ok(Err(error)) => {
                n_refused += 1;
                assert!(n_inputs >= seeds.len(), "{target}: {error}");
                error.exit_code() != 1
            }
            Err(_) => true,
        };
        if is_fault || started.elapsed() > PATIENCE {
            let path = std::env::temp_dir().join(format!("curator-fuzz-{target}-{n_inputs}"));
            fs::write(&path, &bytes).unwrap();
            let told = outcome.map(|result| result.map_err(|error| error.to_string()));
            panic!("{target}: {told:?} after {:?}; the input is {}", started.elapsed(), path.display());
        }
        n_inputs += 1;
    }
    if time.is_some() {
        println!("{target}: {n_inputs} inputs, {n_refused} refused, no fault; {} MB at most", peak_megabytes());
    }
}

/// The most memory that the process has had.
fn peak_megabytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).unwrap_or(0) / 1000
}

/// Runs a query with little memory.
fn query(text: &str) -> Result<(), Error> {
    let threads = NonZeroUsize::new(2).unwrap();
    let config = Config { memory_limit_bytes: Some(256 << 20), threads, ..Config::default() };
    let mut session = Session::new(config)?;
    block_on(run(&mut session, &SourceText::new("fuzz", text), Language::Cql)).map(drop)
}

/// Reads a file between two that are as they should be.
fn fuzz_file(ending: &str, seeds: &[Vec<u8>]) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(format!("{name}.{ending}"));
    fs::write(path("a"), &seeds[0]).unwrap();
    fuzz(ending, seeds, |bytes| {
        fs::write(path("b"), bytes).unwrap();
        let one = query(&format!("FROM '{}' |> LIMIT 100", path("b").display()));
        let all = query(&format!("FROM '{}'", folder.path().display()));
        one.and(all)
    });
}

fn json_lines() -> Vec<u8> {
    let mut text = Vec::new();
    for id in 0..20 {
        writeln!(
            text,
            r#"{{"id":{id},"text":"line {id} \u00e9 \ud83d\ude00","meta":{{"n":[{id},2.5,null]}},"ok":true}}"#
        )
        .unwrap();
    }
    text
}

/// The documents in a format, made by curator.
fn written(ending: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("in.jsonl"), folder.path().join(format!("out.{ending}")));
    fs::write(&from, json_lines()).unwrap();
    // What is nested has no place in CSV.
    let verb = if ending == "csv" { "|> DROP meta" } else { "" };
    query(&format!("FROM '{}' {verb} |> INTO '{}'", from.display(), to.display())).unwrap();
    fs::read(to).unwrap()
}

#[test]
fn changed_queries() {
    let seeds = [
        "FROM 'tests/corpus/data/docs.jsonl' |> WHERE words(text) > 5 |> SELECT id, text",
        "DEFINE f(t) AS words(t) >= 5; FROM 'tests/corpus/data/docs.jsonl' |> DEDUP EXACT ON text |> WHERE f(text)",
        "SET threads = 2; EXPLAIN FROM 'tests/corpus/data/docs.jsonl' |> AGGREGATE count(*) AS n GROUP BY lang",
        "SELECT a.id FROM 'tests/corpus/data/docs.jsonl' AS a JOIN (VALUES (1)) AS b(x) ON a.id = b.x ORDER BY 1",
    ];
    let seeds: Vec<Vec<u8>> = seeds.iter().map(|seed| seed.as_bytes().to_vec()).collect();
    fuzz("query", &seeds, |bytes| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        // It may not write, and a part of it need not be a query.
        if text.to_ascii_uppercase().contains("INTO") || text.to_ascii_uppercase().contains("COPY") {
            return Ok(());
        }
        let mut session = Session::new(Config::default())?;
        drop(block_on(session.check(&SourceText::new("fuzz", text), Language::Cql)));
        Ok(())
    });
}

#[test]
fn changed_json_lines() {
    fuzz_file("jsonl", &[json_lines()]);
}

#[test]
fn changed_csv() {
    fuzz_file("csv", &[b"id,text,n\n1,\"a, \"\"b\"\"\",2.5\n2,,\n3,\"two\nlines\",1\n".to_vec(), written("csv")]);
}

#[test]
fn changed_parquet() {
    fuzz_file("parquet", &[written("parquet")]);
}

#[test]
fn changed_arrow() {
    fuzz_file("arrow", &[written("arrow")]);
}

#[test]
fn changed_packed_files() {
    for ending in ["jsonl.gz", "jsonl.zst"] {
        fuzz_file(ending, &[written(ending)]);
    }
    let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
    xz.write_all(&json_lines()).unwrap();
    fuzz_file("jsonl.xz", &[xz.finish().unwrap()]);
}

#[test]
fn changed_crawls() {
    let crawl = fs::read("tests/corpus/data/crawl.warc").unwrap();
    let starts: Vec<usize> = memchr::memmem::find_iter(&crawl, b"WARC/1.1").chain([crawl.len()]).collect();
    let records = || starts.windows(2).map(|ends| &crawl[ends[0]..ends[1]]);
    let gzip = |record: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(record).unwrap();
        encoder.finish().unwrap()
    };
    fuzz_file("warc", std::slice::from_ref(&crawl));
    fuzz_file("warc.gz", &[records().flat_map(gzip).collect()]);
    fuzz_file("warc.zst", &[records().flat_map(|record| zstd::encode_all(record, 1).unwrap()).collect()]);
}

/// The files below a folder that are no lock.
fn files_in(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = vec![];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files_in(&path)),
            false if fs::metadata(&path).unwrap().len() > 0 => found.push(path),
            false => {}
        }
    }
    found.sort();
    found
}

#[test]
fn changed_indexes() {
    let folder = tempfile::tempdir().unwrap();
    let (docs, index) = (folder.path().join("in.jsonl"), folder.path().join("index"));
    fs::write(&docs, json_lines()).unwrap();
    let against = |mode: &str| {
        let (docs, index) = (docs.display(), index.display());
        query(&format!(
            "FROM '{docs}' |> DEDUP EXACT ON text AGAINST INDEX '{index}' {mode} |> INTO '{}/o.jsonl' WITH (overwrite = true)",
            folder.path().display()
        ))
    };
    against("APPEND").unwrap();
    for file in files_in(&index) {
        let good = fs::read(&file).unwrap();
        fuzz(&format!("index-{}", file.file_name().unwrap().display()), std::slice::from_ref(&good), |bytes| {
            fs::write(&file, bytes).unwrap();
            let outcome = against("READ ONLY");
            fs::write(&file, &good).unwrap();
            outcome
        });
    }
}

#[test]
fn changed_manifests() {
    let folder = tempfile::tempdir().unwrap();
    let (docs, out) = (folder.path().join("in.jsonl"), folder.path().join("out"));
    fs::write(&docs, json_lines()).unwrap();
    let write = || {
        query(&format!(
            "FROM '{}' |> INTO '{}/' WITH (format = 'jsonl', overwrite = true)",
            docs.display(),
            out.display()
        ))
    };
    write().unwrap();
    let manifest = out.join("_manifest.json");
    let good = fs::read(&manifest).unwrap();
    fuzz("manifest", std::slice::from_ref(&good), |bytes| {
        fs::write(&manifest, bytes).unwrap();
        let read = query(&format!("FROM '{}/'", out.display()));
        let written = write();
        fs::remove_dir_all(&out).unwrap();
        write().unwrap();
        read.and(written)
    });
}
