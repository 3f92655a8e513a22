//! Signals: a run that is stopped leaves nothing half done.

use super::cli::Folder;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Longer than any machine needs; a test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// A query that writes for hours.
const ENDLESS: &str = "FROM (SELECT a.value + b.value AS n FROM generate_series(1, 1000000) a \
                       CROSS JOIN generate_series(1, 1000000) b)";

/// Asks `reached` again and again until it gives something: neither files nor processes tell by themselves.
fn wait_for<T>(what: &str, mut reached: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(value) = reached() {
            return value;
        }
        assert!(started.elapsed() < PATIENCE, "waited too long: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn send(child: &Child, signal: &str) {
    // The shell's own `kill`: the program of that name is not on every machine.
    let kill = format!("kill {signal} {}", child.id());
    let status = std::process::Command::new("sh").args(["-c", &kill]).status().unwrap();
    assert!(status.success());
}

/// A child that does not outlive its test.
struct Running(Child);

impl Running {
    fn exit(&mut self) -> ExitStatus {
        wait_for("exit", || self.0.try_wait().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts `query`, sends it `signal` once it has begun to write, and gives how it ended and what it said.
fn interrupted(folder: &Folder, query: &str, signal: &str) -> (Option<i32>, String) {
    let before = folder.names();
    interrupted_when(folder, "2", query, signal, || n_bytes(folder, &before) > 0)
}

fn interrupted_when(
    folder: &Folder,
    threads: &str,
    query: &str,
    signal: &str,
    has_begun: impl Fn() -> bool,
) -> (Option<i32>, String) {
    let mut command = folder.command(&["query", "--threads", threads, "-e", query]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut running = Running(child);
    wait_for("the first output", || has_begun().then_some(()));
    send(&running.0, signal);
    let status = running.exit();
    let stderr = std::io::read_to_string(running.0.stderr.take().unwrap()).unwrap();
    (status.code(), stderr)
}

/// Bytes in the folder's new files, however deep.
fn n_bytes(folder: &Folder, before: &[String]) -> u64 {
    let new = folder.names().into_iter().filter(|name| !before.contains(name));
    let files = new.flat_map(|name| walkdir::WalkDir::new(folder.path().join(name)));
    // Files may vanish while they are counted.
    files.filter_map(|entry| entry.ok()?.metadata().ok()).filter(|data| data.is_file()).map(|data| data.len()).sum()
}

#[test]
fn an_interrupted_run_leaves_no_output_and_no_temporary_file() {
    for signal in ["-INT", "-TERM"] {
        let folder = Folder::new();
        let (code, stderr) = interrupted(&folder, &format!("{ENDLESS} |> INTO 'y.jsonl'"), signal);
        assert_eq!((code, stderr.as_str()), (Some(130), "interrupted\n"), "{signal}");
        assert_eq!(folder.names(), ["x.jsonl"], "{signal}");
    }
}

#[test]
fn an_interrupted_run_leaves_an_existing_output_as_it_was() {
    let folder = Folder::new();
    folder.run(&["query", "-q", "-e", "FROM (SELECT 1 AS kept) |> INTO 'y.jsonl'"]).ok();
    let query = format!("{ENDLESS} |> INTO 'y.jsonl' WITH (overwrite = true)");
    let (code, stderr) = interrupted(&folder, &query, "-INT");
    assert_eq!(code, Some(130), "{stderr}");
    assert_eq!(folder.names(), [".y.jsonl.manifest.json", "x.jsonl", "y.jsonl"]);
    assert_eq!(std::fs::read_to_string(folder.path().join("y.jsonl")).unwrap(), "{\"kept\":1}\n");
}

#[test]
fn an_interrupted_run_leaves_no_part_of_a_folder() {
    let folder = Folder::new();
    let into = "INTO 'parts/' WITH (format = 'jsonl', max_file_size = '1MB')";
    let (code, stderr) = interrupted(&folder, &format!("{ENDLESS} |> {into}"), "-INT");
    assert_eq!(code, Some(130), "{stderr}");
    assert_eq!(n_bytes(&folder, &["x.jsonl".to_string()]), 0, "{:?}", folder.names());
}

#[test]
fn a_run_that_finds_nothing_for_hours_can_be_interrupted() {
    let found = "|> WHERE n % 2 = 3 |> INTO 'y.jsonl'";
    let total = "|> AGGREGATE sum(n) AS total |> INTO 'y.jsonl'";
    for (threads, verbs) in [("1", found), ("2", found), ("1", total), ("2", total)] {
        let folder = Folder::new();
        let has_begun = || folder.names().len() > 1;
        let query = format!("{ENDLESS} {verbs}");
        let (code, stderr) = interrupted_when(&folder, threads, &query, "-INT", has_begun);
        assert_eq!((code, stderr.as_str()), (Some(130), "interrupted\n"), "{threads} {verbs}");
        assert_eq!(folder.names(), ["x.jsonl"], "{threads} {verbs}");
    }
}

#[test]
fn a_run_that_is_killed_leaves_nothing_of_what_did_not_fit_in_memory() {
    for verb in ["ORDER BY text", "DEDUP EXACT ON text"] {
        let folder = Folder::new();
        std::fs::create_dir(folder.path().join("temp")).unwrap();
        let rows =
            "FROM (SELECT value AS n FROM generate_series(1, 1000000000)) |> SELECT repeat('a text ' || n, 30) AS text";
        let query = format!("{rows} |> {verb} |> INTO 'y.jsonl'");
        let mut command = folder.command(&["query", "--threads", "1", "--memory", "32MB", "-e", &query]);
        let temp = folder.path().join("temp").canonicalize().unwrap();
        let child = command.env("TMPDIR", &temp).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let mut running = Running(child);
        let open_files = format!("/proc/{}/fd", running.0.id());
        let is_below_temp =
            |entry: std::fs::DirEntry| std::fs::read_link(entry.path()).is_ok_and(|to| to.starts_with(&temp));
        wait_for("a temporary file", || {
            let mut open = std::fs::read_dir(&open_files).unwrap().flatten();
            open.any(is_below_temp).then_some(())
        });
        send(&running.0, "-KILL");
        running.exit();
        assert_eq!(std::fs::read_dir(&temp).unwrap().count(), 0, "{verb}");
    }
}
