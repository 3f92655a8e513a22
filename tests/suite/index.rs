//! The index of `DEDUP … AGAINST INDEX`, from outside: `curator index`, and runs that die.

use super::cli::Folder;
use serde_json::Value;
use std::process::Stdio;
use std::time::{Duration, Instant};

fn dedup(first: u32, last: u32) -> String {
    format!(
        "FROM (SELECT value AS id, 'document number ' || value AS text FROM generate_series({first}, {last})) \
         |> DEDUP EXACT ON text AGAINST INDEX 'seen' |> INTO 'kept.jsonl' WITH (overwrite = true)"
    )
}

/// Vectors that are all different.
fn dedup_vectors(first: u32, last: u32) -> String {
    let angle = |factor: f64| format!("sin(value * {factor}), cos(value * {factor})");
    format!(
        "FROM (SELECT value AS id, [{}, {}, {}] AS vector FROM generate_series({first}, {last})) \
         |> DEDUP SEMANTIC ON vector WITH (clusters = 6, threshold = 1) AGAINST INDEX 'seen' \
         |> INTO 'kept.jsonl' WITH (overwrite = true)",
        angle(0.7),
        angle(1.9),
        angle(3.1)
    )
}

fn n_kept(folder: &Folder, query: &str) -> u64 {
    folder.run(&["query", "-q", "-e", query]).ok();
    folder.read("kept.jsonl").lines().count() as u64
}

fn n_documents(folder: &Folder) -> u64 {
    let info: Value = serde_json::from_str(&folder.run(&["index", "info", "seen", "--json"]).ok()).unwrap();
    info["n_docs"].as_u64().unwrap()
}

#[test]
fn an_index_is_sound_whenever_a_run_is_killed() {
    kill_runs(dedup, 30_000, &[0, 1, 3, 10, 30, 100, 300]);
}

#[test]
fn an_index_of_vectors_is_sound_whenever_a_run_is_killed() {
    kill_runs(dedup_vectors, 1_000, &[0, 3, 30, 100]);
}

fn kill_runs(dedup: fn(u32, u32) -> String, n_rows: u32, delays_ms: &[u64]) {
    let folder = Folder::new();
    assert_eq!(n_kept(&folder, &dedup(1, 100)), 100);
    let mut n_known = 100;
    for &delay_ms in delays_ms {
        // Each round appends other documents; it is killed at another moment after it first touched the folder.
        let query = dedup(n_known as u32 + 1, n_known as u32 + n_rows);
        let before = names(&folder);
        let mut command = folder.command(&["query", "-q", "-e", &query]);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let started = Instant::now();
        while names(&folder) == before && child.try_wait().unwrap().is_none() {
            assert!(started.elapsed() < Duration::from_secs(60), "the run does not begin");
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(delay_ms));
        child.kill().unwrap();
        child.wait().unwrap();
        folder.run(&["index", "verify", "seen"]).ok();
        let n_now = n_documents(&folder);
        assert!(n_now == n_known || n_now == n_known + u64::from(n_rows), "all or nothing: {n_known} → {n_now}");
        n_known = n_now;
    }
    // What is in it is known, and nothing else is.
    assert_eq!(n_kept(&folder, &dedup(1, n_known as u32 + 5)), 5);
}

fn names(folder: &Folder) -> Vec<String> {
    let files = walkdir::WalkDir::new(folder.path().join("seen")).into_iter().filter_map(Result::ok);
    let mut names: Vec<String> = files.map(|file| file.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn indexes_are_described_compacted_merged_and_checked() {
    let folder = Folder::new();
    for (first, last) in [(1, 50), (40, 80), (1, 100)] {
        n_kept(&folder, &dedup(first, last));
    }
    let info = folder.run(&["index", "info", "seen"]).ok();
    assert!(info.contains("exact"), "{info}");
    let before = n_documents(&folder);
    folder.run(&["index", "compact", "seen"]).ok();
    folder.run(&["index", "verify", "seen"]).ok();
    assert_eq!(n_documents(&folder), before);
    assert_eq!(n_kept(&folder, &dedup(1, 103).replace("'seen'", "'seen' READ ONLY")), 3);
    folder.run(&["index", "merge", "both", "seen"]).ok();
    assert_eq!(n_kept(&folder, &dedup(1, 103).replace("'seen'", "'both' READ ONLY")), 3);
    // A byte that changed is found and told.
    let file = walkdir::WalkDir::new(folder.path().join("both")).into_iter().filter_map(Result::ok);
    let file = file.filter(|entry| entry.file_type().is_file()).max_by_key(|entry| entry.metadata().unwrap().len());
    let path = file.unwrap().into_path();
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let run = folder.run(&["index", "verify", "both"]);
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    let told = format!("{}{}", run.stdout, run.stderr);
    assert!(told.contains(&*path.file_name().unwrap().to_string_lossy()), "{told}");
    assert!(folder.run(&["index", "info", "nowhere"]).wrong().contains("nowhere"));
    let missing = dedup(1, 2).replace("'seen'", "'missing' READ ONLY");
    assert!(folder.run(&["query", "-e", &missing]).wrong().contains("missing"));
}

#[test]
fn an_index_of_vectors_is_said_to_hold_vectors() {
    let folder = Folder::new();
    for (first, last) in [(1, 50), (51, 80)] {
        n_kept(&folder, &dedup_vectors(first, last));
    }
    for (arguments, expected) in [
        (&["index", "info", "seen"][..], "80 documents, 80 vectors, "),
        (&["index", "verify", "seen"], "sound: 80 vectors of 80 documents in "),
        (&["index", "merge", "both", "seen"], "added 80 documents with 80 vectors; "),
        (&["index", "compact", "seen"], "2 segments, 80 vectors, "),
    ] {
        let run = folder.run(arguments);
        let told = format!("{}{}", run.stdout, run.stderr);
        assert!(told.contains(expected) && !told.contains(" key"), "{arguments:?}: {told}");
    }
}
