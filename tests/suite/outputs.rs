//! Outputs are safe: a run replaces nothing that is not its own, everything that it makes becomes visible at once, and
//! what a crash leaves is finished or removed.

use super::cli::{Folder, Run};
use super::harness::block_on;
use curator::Config;
use curator::diag::SourceText;
use curator::{Compiled, Language, Session};
use serde_json::Value;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

impl Folder {
    fn query(&self, text: &str) -> Run {
        self.run(&["query", "-q", "-e", text])
    }

    fn query_with_fault(&self, text: &str, fault: &str) -> std::process::Output {
        self.command(&["query", "-q", "-e", text]).env("CURATOR_FAULT", fault).output().unwrap()
    }

    fn count(&self, source: &str) -> u64 {
        let text = format!("FROM '{source}' |> AGGREGATE count(*) AS n");
        let rows = self.run(&["query", "-q", "--output-format", "json", "-e", &text]).ok();
        serde_json::from_str::<Value>(rows.lines().next().unwrap()).unwrap()["n"].as_u64().unwrap()
    }

    fn n_indexed(&self) -> u64 {
        let told = self.run(&["index", "info", "seen", "--json"]);
        if told.code != Some(0) {
            return 0;
        }
        serde_json::from_str::<Value>(&told.stdout).unwrap()["n_docs"].as_u64().unwrap()
    }

    /// Every file below the folder with its bytes, without those of the inputs.
    pub fn tree(&self) -> Vec<(String, Vec<u8>)> {
        let files = walkdir::WalkDir::new(self.path()).sort_by_file_name().into_iter().map(Result::unwrap);
        let files = files.filter(|entry| entry.file_type().is_file());
        files
            .map(|file| {
                let name = file.path().strip_prefix(self.path()).unwrap().display().to_string();
                (name, std::fs::read(file.path()).unwrap())
            })
            .collect()
    }

    /// Another folder with the same in it, as old as it is here.
    fn copy(&self) -> Folder {
        let folder = Folder::new();
        let mut copy = std::process::Command::new("cp");
        assert!(copy.arg("-a").arg(self.path().join(".")).arg(folder.path()).status().unwrap().success());
        folder
    }

    fn file_names(&self) -> Vec<String> {
        self.tree().into_iter().map(|(name, _)| name).collect()
    }
}

/// A query that makes all that a run can make: several parts, rejects, a ledger, and keys for an index.
fn everything(input: &str, options: &str) -> String {
    format!(
        "FROM '{input}' |> WHERE id % 5 <> 0 |> DEDUP EXACT ON text AGAINST INDEX 'seen' |> SELECT id, text, part \
         |> INTO 'out/' WITH (compression = 'none', partition_by = 'part', rejects = 'rejects/'{options})"
    )
}

fn write_input(folder: &Folder, name: &str, ids: std::ops::Range<u32>, n_parts: u32) {
    let line = |id: u32| format!("{{\"id\": {id}, \"text\": \"text {id}\", \"part\": {}}}\n", id % n_parts);
    folder.write(name, &(ids.map(line).collect::<String>() + "{broken\n"));
}

// ── outputs and inputs ──

#[test]
fn an_output_that_is_an_input_is_an_error_before_anything_is_written() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path().join("data")).unwrap();
    folder.write("data/a.jsonl", "");
    let before = folder.tree();
    for (query, told) in [
        ("FROM 'x.jsonl' |> INTO 'x.jsonl' WITH (overwrite = true)", "is an input of this statement"),
        ("FROM './x.jsonl' |> INTO 'data/../x.jsonl' WITH (overwrite = true)", "is an input of this statement"),
        ("FROM 'x.jsonl' |> INTO './' WITH (overwrite = true)", "holds an input of this statement"),
        ("FROM 'data/' WITH (format = 'jsonl') |> INTO 'data/out/'", "lies within an input"),
        ("FROM 'x.jsonl' |> WHERE id IN (SELECT id FROM 'x.jsonl') |> INTO 'x.jsonl'", "is an input of this statement"),
        ("LET d = FROM 'x.jsonl'; FROM d |> INTO 'x.jsonl' WITH (overwrite = true)", "is an input of this statement"),
        ("FROM '*.jsonl' |> INTO 'new.jsonl'", "lies within an input"),
        ("FROM 'x.jsonl' |> INTO 'out/' WITH (rejects = 'out/')", "is the output itself"),
        ("FROM 'x.jsonl' |> INTO 'out/' WITH (rejects = 'out/rejects/')", "lies within the output"),
        ("FROM 'x.jsonl' |> INTO 'out/' WITH (rejects = './')", "holds an input"),
        ("FROM 'x.jsonl' |> DEDUP EXACT ON text AGAINST INDEX 'seen' |> INTO 'seen/'", "lie within each other"),
    ] {
        let wrong = folder.query(query).wrong();
        assert!(wrong.contains(told) && wrong.contains("Q005"), "{query}: {wrong}");
        assert_eq!(folder.tree(), before, "{query}");
    }
    folder.query("FROM 'x.jsonl' |> INTO '-'").ok();
    folder.query("FROM 'x.jsonl' |> INTO '/dev/null'").ok();
}

#[test]
fn overwrite_replaces_a_file_only_if_a_run_wrote_it() {
    let folder = Folder::new();
    folder.write("raw.jsonl", "{\"mine\": 1}\n");
    let query = "FROM 'x.jsonl' |> INTO 'raw.jsonl' WITH (overwrite = true)";
    assert!(folder.query(query).wrong().contains("was not written by one"));
    assert_eq!(folder.read("raw.jsonl"), "{\"mine\": 1}\n");
    std::fs::remove_file(folder.path().join("raw.jsonl")).unwrap();
    folder.query(query).ok();
    folder.query(query).ok();
    assert_eq!(folder.count("raw.jsonl"), 4);
    folder.write("raw.jsonl", "{\"mine\": 2}\n");
    assert!(folder.query(query).wrong().contains("not as an earlier run wrote it"));
}

#[test]
fn a_part_that_was_changed_is_not_replaced() {
    let folder = Folder::new();
    let query =
        "FROM 'x.jsonl' |> WHERE id < 3 |> INTO 'out/' WITH (compression = 'none', rejects = 'r/', overwrite = true)";
    folder.query(query).ok();
    for part in ["out/part-00000.jsonl", "r/dropped/part-00000.jsonl.zst"] {
        let path = folder.path().join(part);
        let written = std::fs::read(&path).unwrap();
        let mut changed = written.clone();
        *changed.last_mut().unwrap() ^= 1;
        for changed in [&changed[..], &written[1..]] {
            std::fs::write(&path, changed).unwrap();
            let before = folder.tree();
            let wrong = folder.query(query).wrong();
            assert!(wrong.contains(&format!("`{part}` is not as an earlier run wrote it")), "{wrong}");
            assert_eq!(folder.tree(), before);
        }
        // A copy of what was written is, whenever it was made.
        std::fs::write(&path, &written).unwrap();
        folder.query(query).ok();
    }
    std::fs::remove_file(folder.path().join("out/part-00000.jsonl")).unwrap();
    folder.query(query).ok();
}

#[test]
fn a_glob_does_not_read_manifests() {
    let folder = Folder::new();
    folder.query("FROM 'x.jsonl' |> INTO 'out/' WITH (compression = 'none')").ok();
    assert_eq!(folder.count("out/*"), 4);
    assert_eq!(folder.count("out/_manifest.json"), 1);
}

// ── rejects ──

#[test]
fn rejects_of_another_run_stay_without_overwrite_and_go_with_it() {
    let folder = Folder::new();
    write_input(&folder, "in.jsonl", 0..100, 1);
    folder.query(&everything("in.jsonl", "")).ok();
    let names = folder.file_names();
    for name in ["rejects/_manifest.json", "rejects/rejects.jsonl", "rejects/dropped/part-00000.jsonl.zst"] {
        assert!(names.iter().any(|known| known == name), "{name}: {names:?}");
    }
    assert!(names.iter().any(|name| name.starts_with("rejects/dropped-2/")), "{names:?}");
    let before = folder.tree();
    let other = "FROM 'x.jsonl' |> INTO 'other/' WITH (rejects = 'rejects/')";
    assert!(folder.query(other).wrong().contains("holds the rejects of an earlier run"));
    assert_eq!(folder.tree(), before);
    // An output is no folder of rejects, and rejects are no output.
    let mixed = "FROM 'x.jsonl' |> INTO 'other/' WITH (rejects = 'out/', overwrite = true)";
    assert!(folder.query(mixed).wrong().contains("_manifest.json"));
    let mixed = "FROM 'x.jsonl' |> INTO 'rejects/' WITH (overwrite = true)";
    assert!(folder.query(mixed).wrong().contains("_manifest.json"));
    folder.query(&other.replace("')", "', overwrite = true)")).ok();
    assert!(!folder.file_names().iter().any(|name| name.starts_with("rejects/")), "{:?}", folder.file_names());
}

// ── indexes ──

#[test]
fn only_a_run_that_commits_adds_to_an_index_and_a_repeated_one_adds_nothing() {
    let folder = Folder::new();
    write_input(&folder, "in.jsonl", 0..100, 2);
    let shown = "FROM 'in.jsonl' |> DEDUP EXACT ON text AGAINST INDEX 'seen'";
    folder.query(&format!("{shown} |> AGGREGATE count(*) AS n")).ok();
    folder.query(&format!("{shown} |> LIMIT 1")).ok();
    folder.query(&format!("EXPLAIN ANALYZE {shown} |> INTO 'measured/'")).ok();
    assert!(!folder.path().join("seen").exists() && !folder.path().join("measured").exists());

    folder.query(&everything("in.jsonl", "")).ok();
    assert_eq!((folder.n_indexed(), folder.count("out/")), (80, 80));
    let first = folder.tree();
    folder.query(&everything("in.jsonl", ", overwrite = true")).ok();
    assert_eq!((folder.n_indexed(), folder.count("out/")), (80, 80));
    // An index never uses a number twice, and a manifest has the query with its options.
    let is_data = |(name, _): &&(String, Vec<u8>)| {
        (name.starts_with("out/") || name.starts_with("rejects/")) && !name.ends_with("_manifest.json")
    };
    let same = |one: &[(String, Vec<u8>)], other: &[(String, Vec<u8>)]| {
        one.iter().filter(is_data).eq(other.iter().filter(is_data))
    };
    assert!(same(&first, &folder.tree()), "the same bytes");

    // Another input is another run, and can be undone.
    write_input(&folder, "more.jsonl", 50..150, 2);
    folder.query(&everything("more.jsonl", ", overwrite = true")).ok();
    assert_eq!((folder.n_indexed(), folder.count("out/")), (160, 40));
    let told = folder.run(&["index", "rollback", "seen"]);
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    assert!(
        told.stderr.contains("removed 80 documents") && told.stderr.contains("80 documents left"),
        "{}",
        told.stderr
    );
    folder.run(&["index", "verify", "seen"]).ok();
    folder.query(&everything("in.jsonl", ", overwrite = true")).ok();
    assert_eq!(folder.n_indexed(), 80);
    assert!(same(&first, &folder.tree()), "as if the other run had not been");
    folder.run(&["index", "rollback", "seen"]).ok();
    assert_eq!(folder.n_indexed(), 0);
    assert!(folder.run(&["index", "rollback", "seen"]).wrong().contains("nothing to undo"));
}

#[test]
fn a_compacted_run_is_not_undone_and_not_repeated() {
    let folder = Folder::new();
    write_input(&folder, "in.jsonl", 0..10, 1);
    write_input(&folder, "more.jsonl", 10..20, 1);
    folder.query(&everything("in.jsonl", "")).ok();
    folder.query(&everything("more.jsonl", ", overwrite = true")).ok();
    folder.run(&["index", "compact", "seen"]).ok();
    assert!(folder.run(&["index", "rollback", "seen"]).wrong().contains("a compaction put them together"));
    let before = folder.tree();
    let wrong = folder.query(&everything("in.jsonl", ", overwrite = true")).wrong();
    assert!(wrong.contains("what this very run has added"), "{wrong}");
    assert_eq!(folder.tree(), before);
}

// ── one commit ──

/// Each moment at which the process can die, or a step can fail, until the commit needs no more of them.
fn at_each_step(kind: &str, mut check: impl FnMut(&Folder, bool)) -> usize {
    let before = Folder::new();
    write_input(&before, "old.jsonl", 0..60, 3);
    write_input(&before, "new.jsonl", 1000..1030, 2);
    before.query(&everything("old.jsonl", "")).ok();
    for at in 1..200 {
        let folder = before.copy();
        let ended = folder.query_with_fault(&everything("new.jsonl", ", overwrite = true"), &format!("{kind}:{at}"));
        check(&folder, ended.status.success());
        if ended.status.success() {
            return at;
        }
        if kind == "abort" {
            assert!(ended.status.signal().is_some(), "{}", String::from_utf8_lossy(&ended.stderr));
        }
    }
    panic!("a commit takes no end of steps");
}

/// Whether everything is of the new run; if not, everything must be of the old one.
fn is_new(folder: &Folder) -> bool {
    let both = "FROM 'out/' |> SELECT id; FROM 'rejects/dropped/' |> SELECT id";
    let ids = folder.run(&["query", "-q", "--output-format", "csv", "-e", both]).ok();
    let ids: Vec<u32> = ids.lines().filter_map(|id| id.parse().ok()).collect();
    let counts = (ids.len(), folder.n_indexed());
    let is_new = counts == (30, 48 + 24);
    assert!(is_new || counts == (60, 48), "{counts:?}");
    assert!(ids.iter().all(|id| (*id >= 1000) == is_new), "of two runs: {ids:?}");
    folder.run(&["verify", "out/", "rejects/"]).ok();
    is_new
}

#[test]
fn a_run_killed_before_any_step_of_its_commit_leaves_the_old_state_or_the_new() {
    let mut states = vec![];
    let n_steps = at_each_step("abort", |folder, _| {
        states.push(is_new(folder));
        // Whatever it left, the same run can be tried again, and ends as one that was not killed.
        folder.query(&everything("new.jsonl", ", overwrite = true")).ok();
        assert!(is_new(folder));
        let names = folder.file_names();
        assert!(names.iter().all(|name| !name.contains("curator-stage")), "{names:?}");
    });
    assert!(n_steps > 15, "{n_steps}");
    assert!(!states[0] && states[n_steps - 1] && states.is_sorted(), "one commit point: {states:?}");
}

#[test]
fn a_run_killed_before_any_step_of_its_commit_is_gone_on_with() {
    let query = format!("SET blocksize = '1kB'; {}", everything("new.jsonl", ", overwrite = true"));
    let before = Folder::new();
    write_input(&before, "old.jsonl", 0..60, 3);
    write_input(&before, "new.jsonl", 1000..1100, 2);
    before.query(&everything("old.jsonl", "")).ok();
    let expected = before.copy();
    expected.query(&query).ok();
    for at in 1.. {
        let folder = before.copy();
        let mut command = folder.command(&["query", "-q", "--resume", "-e", &query]);
        let ended = command.env("CURATOR_FAULT", format!("abort:{at}")).output().unwrap();
        folder.run(&["query", "-q", "--resume", "-e", &query]).ok();
        assert!(folder.tree() == expected.tree(), "killed before step {at}");
        if ended.status.success() {
            assert!(at > 15);
            break;
        }
    }
}

#[test]
fn a_full_disk_at_any_step_of_a_commit_leaves_the_old_state_or_the_new() {
    let mut states = vec![];
    at_each_step("fail", |folder, has_succeeded| {
        let is_new = is_new(folder);
        assert!(is_new || !has_succeeded);
        states.push(is_new);
    });
    assert!(!states[0] && states.is_sorted(), "{states:?}");
}

#[test]
fn an_output_that_is_replaced_while_it_is_read_is_an_error() {
    for format in ["jsonl", "parquet", "arrow"] {
        let folder = Folder::new();
        let write = |rows: &str| {
            let into = format!("INTO 'out/' WITH (format = '{format}', overwrite = true)");
            folder.query(&format!("FROM 'x.jsonl' |> {rows} |> SELECT id |> {into}")).ok();
        };
        write("WHERE id < 3");
        let text = format!("FROM '{}/out/'", folder.path().display());
        let mut session = Session::new(Config::default()).unwrap();
        let script = session.parse(&SourceText::new("query", text), Language::Cql).unwrap();
        let error = block_on(async {
            let Compiled::Query(plan) = session.compile(&script, 0).await.unwrap() else { panic!("no query") };
            write("WHERE id > 3");
            let mut run = session.execute(&plan).await.unwrap();
            run.next().await.unwrap().unwrap_err()
        });
        assert!(error.to_string().contains("was replaced by another run"), "{format}: {error}");
    }
}

#[test]
fn no_final_name_is_there_before_all_of_them_may_be() {
    let folder = Folder::new();
    write_input(&folder, "in.jsonl", 0..60, 3);
    // The record is the fourth to get its name at the latest: two joined places and itself, each written and renamed.
    for at in 1..=6 {
        folder.query_with_fault(&everything("in.jsonl", ""), &format!("abort:{at}"));
        let visible = |name: &String| !name.contains("curator-stage") && !name.ends_with("/lock");
        let left: Vec<_> = folder.file_names().into_iter().filter(visible).collect();
        assert_eq!(left, ["in.jsonl", "x.jsonl"], "before step {at}");
        assert!(folder.run(&["query", "-q", "-e", "FROM 'out/'"]).code == Some(1), "nothing to read");
    }
    folder.query(&everything("in.jsonl", "")).ok();
    assert_eq!(folder.count("out/"), 48);
}

#[test]
fn a_report_that_cannot_be_written_does_not_spoil_the_commit() {
    let folder = Folder::new();
    write_input(&folder, "in.jsonl", 0..100, 2);
    let run = folder.run(&["query", "-q", "--report", "/dev/full", "-e", &everything("in.jsonl", "")]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("the report could not be written"), "{}", run.stderr);
    assert!(run.stderr.contains("the outputs of the query are complete"), "{}", run.stderr);
    assert_eq!((folder.n_indexed(), folder.count("out/")), (80, 80));
    let again = ["query", "-q", "--report", "report.json", "-e", &everything("in.jsonl", ", overwrite = true")];
    folder.run(&again).ok();
    assert_eq!((folder.n_indexed(), folder.count("out/")), (80, 80));
    let before = folder.tree();
    let nowhere = ["query", "-q", "--report", "no/where.json", "-e", &everything("in.jsonl", ", overwrite = true")];
    assert!(folder.run(&nowhere).wrong().contains("no/where.json"));
    assert_eq!(folder.tree(), before, "told before anything ran");
}

// ── two at once ──

/// Takes for hours, and has begun to write.
fn endless(folder: &Folder, target: &str) -> std::process::Child {
    let query = format!(
        "FROM (SELECT a.value + b.value AS text FROM generate_series(1, 1000000) a \
         CROSS JOIN generate_series(1, 1000000) b) |> {target}"
    );
    let plain = folder.command(&["query", "-q", "-e", &query]);
    // A hangup that is ignored, as below `nohup`, stays so in all children: the tests may run there.
    let mut command = std::process::Command::new("env");
    command.arg("--default-signal=HUP").arg(plain.get_program()).args(plain.get_args());
    command.current_dir(plain.get_current_dir().unwrap()).envs(plain.get_envs().filter_map(|(k, v)| Some((k, v?))));
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let started = Instant::now();
    while !folder.file_names().iter().any(|name| name.contains("curator-stage/lock") || name == "seen/lock") {
        assert!(started.elapsed() < Duration::from_secs(60), "the run does not begin");
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

#[test]
fn of_two_runs_into_one_place_one_is_refused_at_once() {
    for (first, second) in [
        ("INTO 'out/'", "FROM 'x.jsonl' |> INTO 'out/' WITH (overwrite = true)"),
        ("INTO 'y.jsonl'", "FROM 'x.jsonl' |> INTO 'y.jsonl'"),
        ("INTO 'a/' WITH (rejects = 'r/')", "FROM 'x.jsonl' |> INTO 'b/' WITH (rejects = 'r/')"),
        (
            "DEDUP EXACT ON text AGAINST INDEX 'seen' |> INTO 'a/'",
            "FROM 'x.jsonl' |> DEDUP EXACT ON text AGAINST INDEX 'seen' |> INTO 'b/'",
        ),
    ] {
        let folder = Folder::new();
        let mut child = endless(&folder, first);
        let wrong = folder.query(second).wrong();
        assert!(wrong.contains("another run is"), "{first}: {wrong}");
        assert!(child.try_wait().unwrap().is_none(), "the first goes on");
        // What a run that was killed leaves is no lock, and the next run removes it.
        child.kill().unwrap();
        child.wait().unwrap();
        folder.query(second).ok();
        let names = folder.file_names();
        let place = second.split("INTO '").nth(1).unwrap().split('\'').next().unwrap();
        let own = [format!("{place}.curator-stage"), format!(".{place}.curator-stage")];
        assert!(!names.iter().any(|name| own.iter().any(|own| name.starts_with(own))), "{names:?}");
        assert_eq!(folder.count(place), 4);
    }
}

#[test]
fn of_many_runs_at_once_one_wins_and_its_output_is_whole() {
    for (verbs, place) in [
        ("", "out/"),
        ("", "out.jsonl"),
        // Each has an output of its own, and all have one index.
        ("DEDUP EXACT ON id AGAINST INDEX 'seen' |>", "outN/"),
    ] {
        let folder = Folder::new();
        let start = |n: u32| {
            write_input(&folder, &format!("{n}.jsonl"), 0..100 * n, 1);
            let place = place.replace('N', &n.to_string());
            let query = format!("FROM '{n}.jsonl' |> {verbs} INTO '{place}'");
            let child = folder.command(&["query", "-q", "-e", &query]).stderr(Stdio::piped()).spawn().unwrap();
            (n, place, child)
        };
        let mut n_won = 0;
        for (n, place, child) in (1..=5).map(start).collect::<Vec<_>>() {
            let ended = child.wait_with_output().unwrap();
            let told = String::from_utf8_lossy(&ended.stderr);
            if ended.status.success() {
                n_won += 1;
                folder.run(&["verify", &place]).ok();
                // Of the index, another may have had the others.
                let n_rows = folder.count(&place);
                assert!(n_rows == u64::from(100 * n) || (verbs.contains("seen") && n_rows < u64::from(100 * n)));
            } else {
                let is_clear = ["another run is", "holds an earlier output", "exists: add"];
                assert!(is_clear.iter().any(|say| told.contains(say)), "{place}: {told}");
                assert_eq!(ended.status.code(), Some(1), "{place}: {told}");
            }
        }
        assert!(n_won == 1 || (verbs.contains("seen") && n_won > 0), "{place}: {n_won} have won");
        assert!(folder.file_names().iter().all(|name| !name.contains("curator-stage")));
        if verbs.contains("seen") {
            folder.run(&["index", "verify", "seen"]).ok();
        }
    }
}

#[test]
fn a_hangup_leaves_nothing_half_done() {
    let folder = Folder::new();
    let mut child = endless(&folder, "INTO 'out/' WITH (rejects = 'r/')");
    let hang_up = format!("kill -HUP {}", child.id());
    assert!(std::process::Command::new("sh").args(["-c", &hang_up]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(folder.names(), ["x.jsonl"]);
}

// ── manifests ──

#[test]
fn a_manifest_says_what_an_output_was_made_from_and_verify_compares() {
    let folder = Folder::new();
    write_input(&folder, "in.jsonl", 0..100, 2);
    let query = everything("in.jsonl", "");
    folder.query(&query).ok();
    let manifest: Value = serde_json::from_str(&folder.read("out/_manifest.json")).unwrap();
    assert_eq!(manifest["query"], query);
    assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(manifest["inputs"][0]["path"], "in.jsonl");
    assert_eq!(manifest["inputs"][0]["n_bytes"], folder.read("in.jsonl").len());
    assert_eq!(manifest["rejected"].as_object().unwrap().values().collect::<Vec<_>>(), [1]);
    assert_eq!(manifest["rejects"], "rejects/");
    let rules = manifest["rules"].as_array().unwrap();
    assert!(rules.iter().any(|rule| rule["rows_in"] == 100 && rule["rows_out"] == 80), "{rules:?}");
    assert_eq!(manifest["files"][0]["xxh3_128"].as_str().unwrap().len(), 32);

    let told = folder.run(&["verify", "out/", "rejects"]);
    assert!(told.code == Some(0) && told.stderr.contains("sound: out/: 80 rows in 2 files"), "{}", told.stderr);
    let part = "out/part=0/part-00000.jsonl";
    let text = folder.read(part);
    for (change, expected) in [
        (text.replacen("text", "Text", 1), "part=0/part-00000.jsonl: changed"),
        (text.clone() + " ", "bytes long instead of"),
    ] {
        folder.write(part, &change);
        assert!(folder.run(&["verify", "out/"]).wrong().contains(expected));
    }
    folder.write("out/mine.jsonl", "{}");
    std::fs::remove_file(folder.path().join(part)).unwrap();
    let wrong = folder.run(&["verify", "out/"]).wrong();
    assert!(
        wrong.contains("part-00000.jsonl: missing") && wrong.contains("mine.jsonl: not in the manifest"),
        "{wrong}"
    );
    assert!(folder.run(&["verify", "x.jsonl"]).wrong().contains("there is no manifest"));
    // It is not read without a word either, unless by what is there.
    let wrong = folder.query("FROM 'out/'").wrong();
    assert!(wrong.contains("is not complete"), "{wrong}");
    assert_eq!(folder.count("out/part=1/*.jsonl"), 40);
}
