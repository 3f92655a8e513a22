//! A run that was stopped goes on: what is finished is not repeated, and the bytes are those of a run that was not stopped.
//!
//! `CURATOR_KILLS=50` kills a run at 50 random moments instead of a few (`tests/resume.sh`).

use super::cli::{Folder, Run};
use serde_json::Value;
use std::path::Path;
use std::time::{Duration, Instant};

/// Everything that a run can make, from many splits.
const QUERY: &str = "\
SET blocksize = '64kB';
SET threads = 2;
LET kept = FROM 'in/*.jsonl' |> WHERE words(text) >= 5 AND lang = 'en';
FROM kept
  |> DEDUP EXACT ON text AGAINST INDEX 'seen' APPEND
  |> DEDUP FUZZY ON text
  |> INTO 'out/' WITH (rejects = 'rejects/'OPTIONS);
";

const FILES: u64 = 12;

fn query(options: &str) -> String {
    QUERY.replace("OPTIONS", options)
}

/// A folder with documents of which some are alike, some short, and some lines broken; and with the query in `q.cql`.
fn folder(options: &str) -> Folder {
    let folder = Folder::new();
    std::fs::create_dir(folder.path().join("in")).unwrap();
    for file in 0..FILES {
        let lines: String = (0..200).map(|line| line_of(file * 200 + line)).collect();
        folder.write(&format!("in/{file:02}.jsonl"), &lines);
    }
    folder.write("q.cql", &query(options));
    folder
}

fn line_of(id: u64) -> String {
    let word = |n: u64| format!("w{}", (id / 3 * 7919 + n * n * 31) % 4001);
    let text = match id % 10 {
        0 => return format!("{{\"id\": {id}, broken\n"),
        1 => "too short".to_string(),
        n => {
            let mut words: Vec<String> = (0..120).map(word).collect();
            // Of three neighbours some are equal and some nearly so.
            if n % 4 == 3 {
                words[60] = "changed".into();
            }
            words.join(" ")
        }
    };
    format!(
        "{{\"id\": {id}, \"lang\": \"{}\", \"text\": \"{text}\"}}\n",
        if id.is_multiple_of(7) { "de" } else { "en" }
    )
}

type Tree = Vec<(String, Vec<u8>)>;

/// What a run has made, inputs left out.
fn made(folder: &Folder) -> Tree {
    let is_made = |name: &String| !name.starts_with("in/") && !name.ends_with(".cql") && name != "x.jsonl";
    folder.tree().into_iter().filter(|(name, _)| is_made(name) && !name.ends_with("report.json")).collect()
}

/// Removes what runs have made, so that the next one begins where the first did.
fn forget(folder: &Folder) {
    for name in ["out", "rejects", "seen"] {
        let _ = std::fs::remove_dir_all(folder.path().join(name));
    }
}

fn assert_same(found: &Tree, expected: &Tree, when: &str) {
    let names = |tree: &Tree| tree.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(found), names(expected), "{when}");
    for ((name, found), (_, expected)) in found.iter().zip(expected) {
        assert!(found == expected, "{when}: {name} differs");
    }
}

fn run(folder: &Folder, arguments: &[&str]) -> Run {
    folder.run(&[&["query", "-q"], arguments].concat())
}

/// Runs the query until it dies where the fault says.
fn run_with_fault(folder: &Folder, arguments: &[&str], fault: &str) {
    let mut command = folder.command(&[&["query", "-q"], arguments].concat());
    let output = command.env("CURATOR_FAULT", fault).output().unwrap();
    assert!(!output.status.success(), "{fault}: {}", String::from_utf8_lossy(&output.stderr));
}

/// What an uninterrupted run of the query makes; the folder is then as before.
fn uninterrupted(folder: &Folder) -> Tree {
    run(folder, &["q.cql"]).ok();
    let expected = made(folder);
    let is_made = |name: &str| expected.iter().any(|(made, _)| made.starts_with(name));
    assert!(is_made("out/part-00000") && is_made("rejects/dropped-3/") && is_made("seen/"));
    forget(folder);
    expected
}

fn report(folder: &Folder) -> Value {
    serde_json::from_str(&folder.read("report.json")).unwrap()
}

/// No file has its final name before the run is committed.
fn assert_nothing_visible(folder: &Folder) {
    for (name, _) in made(folder) {
        let is_hidden = name.split('/').any(|part| part.starts_with('.')) || name == "seen/lock";
        assert!(is_hidden, "{name} is visible before the commit");
    }
}

#[test]
fn a_run_killed_at_any_moment_goes_on_and_ends_with_the_same_bytes() {
    let n_kills = std::env::var("CURATOR_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(3);
    let seed = std::env::var("CURATOR_KILLS_SEED").unwrap_or("a few moments that differ".into());
    let mut n_drawn = 0;
    let mut random = |below: u64| {
        n_drawn += 1;
        xxhash_rust::xxh3::xxh3_64(format!("{seed} {n_drawn}").as_bytes()) % below
    };
    for options in ["", ", format = 'parquet'"] {
        let folder = folder(options);
        let expected = uninterrupted(&folder);
        let began = Instant::now();
        run(&folder, &["--resume", "q.cql"]).ok();
        let whole = began.elapsed();
        assert_same(&made(&folder), &expected, "a run that keeps its work");
        for kill in 0..n_kills {
            forget(&folder);
            // Often killed more than once.
            for _ in 0..1 + random(3) {
                let after = whole.mul_f64(random(1200) as f64 / 1000.0);
                let mut child = folder.command(&["query", "-q", "--resume", "q.cql"]).spawn().unwrap();
                std::thread::sleep(after.max(Duration::from_millis(1)));
                child.kill().unwrap();
                child.wait().unwrap();
                let is_there = |name: &str| folder.path().join("out").join(name).exists();
                if !is_there("_manifest.json") && !is_there(".curator-stage/commit.json") {
                    assert_nothing_visible(&folder);
                }
            }
            run(&folder, &["--resume", "q.cql"]).ok();
            assert_same(&made(&folder), &expected, &format!("kill {kill}{options}"));
        }
    }
}

#[test]
fn what_is_finished_is_not_read_again() {
    let folder = folder("");
    let expected = uninterrupted(&folder);
    run(&folder, &["--resume", "--report", "report.json", "q.cql"]).ok();
    let n_units = n_units(&folder);
    let n_bytes = |folder: &Folder| report(folder)["queries"][0]["bytes_read"].as_u64().unwrap();
    let all = n_bytes(&folder);
    assert!(n_units > 20 && all > 1_000_000, "{n_units} units, {all} bytes");
    forget(&folder);
    run_with_fault(&folder, &["--resume", "q.cql"], &format!("abort-kept:{}", n_units * 8 / 10));
    assert_nothing_visible(&folder);
    run(&folder, &["--resume", "--report", "report.json", "q.cql"]).ok();
    assert_same(&made(&folder), &expected, "80 % finished");
    let again = n_bytes(&folder);
    assert!(again * 10 <= all * 3, "{again} of {all} bytes were read again");
    let notes = report(&folder)["queries"][0]["notes"].to_string();
    assert!(notes.contains("units were finished by an earlier attempt"), "{notes}");
}

/// Two verbs that decide about all rows, without an index.
const DECIDING: &str = "SET blocksize = '64kB'; FROM 'in/*.jsonl' |> WHERE words(text) >= 5 AND lang = 'en' \
                        |> DEDUP EXACT ON text |> DEDUP FUZZY ON text |> INTO 'out/' WITH (rejects = 'rejects/')";

#[test]
fn what_a_verb_has_decided_is_not_decided_again() {
    let folder = folder("");
    let attempt = |threads: &'static str| ["--threads", threads, "--resume", "--report", "report.json", "-e", DECIDING];
    run(&folder, &attempt("2")).ok();
    let expected = made(&folder);
    let n_units = n_units(&folder);
    // Before the second decision is kept; and before the commit.
    for (fault, threads, n_decided) in [
        (format!("abort-kept:{}", n_units + 2), "1", "one verb had decided"),
        ("abort:1".into(), "3", "2 verbs had decided"),
    ] {
        forget(&folder);
        run_with_fault(&folder, &attempt("2"), &fault);
        assert_nothing_visible(&folder);
        run(&folder, &attempt(threads)).ok();
        assert_same(&made(&folder), &expected, &fault);
        let notes = report(&folder)["queries"][0]["notes"].to_string();
        assert!(notes.contains(n_decided) && notes.contains(&format!("{n_units} of {n_units} units")), "{notes}");
    }
    // A decision that is damaged is found out, and made again.
    forget(&folder);
    run_with_fault(&folder, &attempt("2"), "abort:1");
    let decided = folder.path().join("out/.curator-stage/kept/stage-1/000000.decisions");
    let mut bytes = std::fs::read(&decided).unwrap();
    bytes[20] ^= 1;
    std::fs::write(&decided, &bytes).unwrap();
    assert!(run(&folder, &attempt("2")).wrong().contains("is damaged"));
    run(&folder, &attempt("2")).ok();
    assert_same(&made(&folder), &expected, "decided again");
}

#[test]
fn vectors_are_compared_once() {
    let folder = folder("");
    let vector = "[cast(words(text) % 7 AS float), cast(chars(text) % 11 AS float), cast(id % 2 AS float)]";
    let text = format!(
        "SET blocksize = '64kB'; FROM 'in/*.jsonl' |> EXTEND {vector} AS v |> DEDUP SEMANTIC ON v WITH (threshold = 0.999) \
         |> SELECT id |> INTO 'out/'"
    );
    run(&folder, &["-e", &text]).ok();
    let expected = made(&folder);
    forget(&folder);
    run_with_fault(&folder, &["--resume", "-e", &text], "abort:1");
    run(&folder, &["--resume", "--report", "report.json", "-e", &text]).ok();
    assert_same(&made(&folder), &expected, "vectors");
    assert!(report(&folder)["queries"][0]["notes"].to_string().contains("one verb had decided"));
}

#[test]
fn what_one_thread_has_kept_is_of_use_to_many() {
    let folder = folder("");
    let text =
        "SET blocksize = '64kB'; SET batch_bytes = '32kB'; FROM 'in/*.jsonl' |> WHERE words(text) >= 5 |> INTO 'out/'";
    for threads in [["1", "4"], ["4", "1"]] {
        run(&folder, &["--threads", threads[0], "-e", text]).ok();
        let expected = made(&folder);
        forget(&folder);
        run_with_fault(&folder, &["--threads", threads[0], "--resume", "-e", text], "abort-kept:9");
        run(&folder, &["--threads", threads[1], "--resume", "-e", text]).ok();
        assert_same(&made(&folder), &expected, "other threads");
        forget(&folder);
    }
}

/// How many units the query has, as EXPLAIN says.
fn n_units(folder: &Folder) -> usize {
    let text = query("").replace("FROM kept", "SET checkpoint = 'on'; EXPLAIN FROM kept").replace("'out/'", "'other/'");
    let shown = run(folder, &["-e", &text.replace("'rejects/'", "'other-rejects/'")]).ok();
    let told = shown.split("CheckpointExec: kept in ").nth(1).unwrap_or_else(|| panic!("{shown}"));
    told.split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn a_full_disk_ends_the_run_and_another_attempt_goes_on() {
    let folder = folder("");
    let expected = uninterrupted(&folder);
    let mut command = folder.command(&["query", "-q", "--resume", "q.cql"]);
    let output = command.env("CURATOR_FAULT", "fail-kept:5").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no space left"));
    assert_nothing_visible(&folder);
    run(&folder, &["--resume", "q.cql"]).ok();
    assert_same(&made(&folder), &expected, "after a full disk");
}

#[test]
fn an_output_that_is_complete_is_left_alone_by_resume() {
    let folder = folder("");
    run(&folder, &["--resume", "q.cql"]).ok();
    let expected = made(&folder);
    let told = folder.run(&["query", "--resume", "q.cql"]);
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    assert!(told.stderr.contains("out/ is complete"), "{}", told.stderr);
    assert_same(&made(&folder), &expected, "nothing to do");
    // Without the flag it is an output in the way, as ever.
    assert!(run(&folder, &["q.cql"]).wrong().contains("holds an earlier output"));
    // And another query does not take it for its own, nor one for other files.
    let other = query(", format = 'parquet'");
    assert!(run(&folder, &["--resume", "-e", &other]).wrong().contains("holds an earlier output"));
    let other = query("").replace(">= 5", ">= 6");
    assert!(run(&folder, &["--resume", "-e", &other]).wrong().contains("holds an earlier output"));
}

#[test]
fn what_other_settings_gave_is_not_complete() {
    let folder = folder("");
    let sample = "FROM 'in/*.jsonl' |> SAMPLE 10 PERCENT |> INTO 'out/'";
    let attempt = |settings: &str| run(&folder, &["--resume", "-e", &format!("{settings} {sample}")]);
    attempt("").ok();
    attempt("").ok();
    // A sample goes by positions, and these by where files are cut.
    for settings in ["SET strict = true;", "SET blocksize = '40kB';"] {
        let wrong = attempt(settings).wrong();
        assert!(wrong.contains("out/` holds an earlier output"), "{settings}: {wrong}");
    }
    forget(&folder);
    attempt("SET blocksize = '40kB';").ok();
    let manifest: Value = serde_json::from_str(&folder.read("out/_manifest.json")).unwrap();
    assert_eq!(manifest["settings"]["blocksize"], "40000");
}

#[test]
fn of_a_script_what_is_complete_is_passed_over() {
    let folder = folder("");
    let script = "SET blocksize = '64kB'; FROM 'in/*.jsonl' |> WHERE lang = 'de' |> INTO 'first/'; \
                  FROM 'first/' |> SELECT id |> INTO 'ids.csv'; FROM 'in/*.jsonl' |> WHERE lang = 'en' |> INTO 'second/'";
    folder.write("script.cql", script);
    run(&folder, &["script.cql"]).ok();
    let expected = made(&folder);
    for name in ["first", "second"] {
        std::fs::remove_dir_all(folder.path().join(name)).unwrap();
    }
    for name in ["ids.csv", ".ids.csv.manifest.json"] {
        std::fs::remove_file(folder.path().join(name)).unwrap();
    }
    // Dies in the second of the large outputs, when the others are there.
    run_with_fault(&folder, &["--resume", "script.cql"], &format!("abort-kept:{}", n_units(&folder) + 10));
    assert!(folder.path().join("ids.csv").exists() && !folder.path().join("second/_manifest.json").exists());
    let written = std::fs::metadata(folder.path().join("first/_manifest.json")).unwrap().modified().unwrap();
    run(&folder, &["--resume", "script.cql"]).ok();
    assert_same_but_for_times(&made(&folder), &expected);
    assert_eq!(std::fs::metadata(folder.path().join("first/_manifest.json")).unwrap().modified().unwrap(), written);
}

/// Manifests say when the inputs were written; one here is an output of the same script.
fn assert_same_but_for_times(found: &Tree, expected: &Tree) {
    let of_ids = |tree: &Tree| tree.iter().filter(|(name, _)| name != ".ids.csv.manifest.json").cloned().collect();
    assert_same(&of_ids(found), &of_ids(expected), "a script");
}

#[test]
fn finished_work_is_not_thrown_away_without_being_asked() {
    let folder = folder("");
    let expected = uninterrupted(&folder);
    run_with_fault(&folder, &["--resume", "q.cql"], "abort-kept:9");
    let told = run(&folder, &["q.cql"]).wrong();
    for part in
        ["out/: a run did not end here", " units of its work are finished", "`--resume` goes on", "`--restart` throws"]
    {
        assert!(told.contains(part), "{told}");
    }
    run(&folder, &["--restart", "--report", "report.json", "q.cql"]).ok();
    assert!(!report(&folder)["queries"][0]["notes"].to_string().contains("earlier attempt"));
    assert_same(&made(&folder), &expected, "begun again");
}

#[test]
fn what_has_changed_between_attempts_is_named_and_refused() {
    let folder = folder("");
    run_with_fault(&folder, &["--resume", "q.cql"], "abort-kept:9");
    let kept = kept_files(&folder);
    let refused = |arguments: &[&str], told: &str| {
        let wrong = run(&folder, &[&["--resume"], arguments].concat()).wrong();
        assert!(wrong.contains(told) && wrong.contains("`--restart` begins again"), "{told}: {wrong}");
        assert_same(&kept_files(&folder), &kept, told);
    };
    refused(
        &["-e", &query("").replace("FUZZY ON text\n", "FUZZY ON text WITH (threshold = 0.9)\n")],
        "the query has changed",
    );
    refused(&["-e", &query("").replace(">= 5", ">= 6")], "LET, DEFINE, parameter");
    refused(&["--strict", "q.cql"], "the setting strict is 'true', and was its default");
    refused(&["-e", &query("").replace("64kB", "65kB")], "cut into other splits");
    refused(&["-e", &query("").replace("64kB", "30kB")], "cut into other splits");
    let file = folder.path().join("in/03.jsonl");
    let (before, modified) = (folder.read("in/03.jsonl"), std::fs::metadata(&file).unwrap().modified().unwrap());
    folder.write("in/03.jsonl", &format!("{before}{{\"id\": 1}}\n"));
    refused(&["q.cql"], &format!("'in/03.jsonl' has {} bytes, and had {}", before.len() + 10, before.len()));
    folder.write("in/03.jsonl", &before);
    refused(&["q.cql"], "'in/03.jsonl' was written since");
    set_modified(&file, modified);
    folder.write("in/99.jsonl", "");
    refused(&["q.cql"], "'in/99.jsonl' is a new input");
    std::fs::remove_file(folder.path().join("in/99.jsonl")).unwrap();
    let journal = "out/.curator-stage/kept/journal.json";
    let noted = folder.read(journal);
    folder.write(journal, &noted.replace(env!("CARGO_PKG_VERSION"), "0.0.9"));
    let wrong = run(&folder, &["--resume", "q.cql"]).wrong();
    assert!(wrong.contains("curator 0.0.9 began it, and this is"), "{wrong}");
    folder.write(journal, &noted);
    // As it was, it is gone on with; and changed, it can be begun again.
    run(&folder, &["--resume", "q.cql"]).ok();
    forget(&folder);
    run_with_fault(&folder, &["--resume", "q.cql"], "abort-kept:9");
    run(&folder, &["--restart", "-e", &query("").replace(">= 5", ">= 6")]).ok();
}

fn kept_files(folder: &Folder) -> Tree {
    made(folder).into_iter().filter(|(name, _)| name.contains("/kept/")).collect()
}

fn set_modified(file: &Path, modified: std::time::SystemTime) {
    std::fs::File::options().write(true).open(file).unwrap().set_modified(modified).unwrap();
}

#[test]
fn damaged_work_is_done_again() {
    let folder = folder("");
    let expected = uninterrupted(&folder);
    run_with_fault(&folder, &["--resume", "q.cql"], "abort-kept:9");
    let part = folder.path().join("out/.curator-stage/kept/scan-0");
    let mut rows: Vec<_> = std::fs::read_dir(&part).unwrap().map(|entry| entry.unwrap().path()).collect();
    rows.retain(|path| path.extension().is_some_and(|ending| ending == "rows") && path.with_extension("json").exists());
    rows.sort();
    // One is cut off, one has a wrong byte.
    let bytes = std::fs::read(&rows[0]).unwrap();
    std::fs::write(&rows[0], &bytes[..bytes.len() / 2]).unwrap();
    let mut bytes = std::fs::read(&rows[1]).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x40;
    std::fs::write(&rows[1], &bytes).unwrap();
    let told = run(&folder, &["--resume", "q.cql"]).wrong();
    assert!(told.contains("not be read again") || told.contains("is damaged"), "{told}");
    run(&folder, &["--resume", "q.cql"]).ok();
    assert_same(&made(&folder), &expected, "after damage");
}

#[test]
fn queries_that_cannot_be_gone_on_with_say_so() {
    let folder = folder("");
    for query in [
        "FROM 'in/*.jsonl' |> WHERE random() < 0.5 |> INTO 'out/'",
        "FROM 'in/*.jsonl' |> EXTEND now() AS at |> INTO 'out/'",
    ] {
        let told = run(&folder, &["--resume", "-e", query]).wrong();
        assert!(told.contains("gives other rows each time"), "{told}");
        run(&folder, &["-e", query]).ok();
        forget(&folder);
    }
}

// ── shares ──

#[test]
fn shares_of_a_run_give_the_bytes_of_the_whole() {
    let folder = folder("");
    let expected = uninterrupted(&folder);
    for count in [1, 3, 7] {
        forget(&folder);
        let shares: Vec<String> = (1..=count).rev().map(|number| format!("{number}/{count}")).collect();
        // All at once.
        let children = shares.iter().map(|share| {
            let mut command = folder.command(&["query", "-q", "--shard", share, "q.cql"]);
            command.stderr(std::process::Stdio::piped()).spawn().unwrap()
        });
        for child in children.collect::<Vec<_>>() {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        assert_nothing_visible(&folder);
        folder.run(&["merge", "-q", "out/"]).ok();
        assert_same(&made(&folder), &expected, &format!("{count} shares"));
    }
}

#[test]
fn a_merge_needs_every_share_once() {
    let folder = folder("");
    let expected = uninterrupted(&folder);
    assert!(folder.run(&["merge", "out/"]).wrong().contains("nothing is kept here"));
    run(&folder, &["--shard", "1/3", "q.cql"]).ok();
    run_with_fault(&folder, &["--shard", "2/3", "q.cql"], "abort-kept:4");
    run(&folder, &["--shard", "3/3", "q.cql"]).ok();
    let told = folder.run(&["merge", "out"]).wrong();
    assert!(told.contains("units are finished; missing are those of --shard 2/3. Run"), "{told}");
    assert_nothing_visible(&folder);
    // Begun again, as a job that was put back into the queue; and one that had ended: it has nothing to do.
    let told = folder.run(&["query", "--shard", "2/3", "q.cql"]);
    // The process died before the fourth record; another thread may have been at the third.
    let is_kept = |n: usize| told.stderr.contains(&format!("{n} of them by an earlier attempt"));
    assert!((1..=3).any(is_kept), "{}", told.stderr);
    run(&folder, &["--shard", "3/3", "q.cql"]).ok();
    folder.run(&["merge", "-q", "out"]).ok();
    assert_same(&made(&folder), &expected, "merged");
    let again = folder.run(&["merge", "out"]);
    assert!(again.code == Some(0) && again.stderr.contains("out is complete"), "{}", again.stderr);
    let told = folder.run(&["query", "--shard", "3/3", "q.cql"]);
    assert!(told.code == Some(0) && told.stderr.contains("out/ is complete"), "{}", told.stderr);
}

#[test]
fn shares_are_of_one_query_and_of_one_number() {
    let folder = folder("");
    for (arguments, told) in [
        (&["--shard", "0/3", "q.cql"][..], "write 1/7 to 7/7"),
        (&["--shard", "1/3", "--restart", "q.cql"], "cannot be used with"),
        (&["--shard", "1/3", "-e", "FROM 'in/*.jsonl' |> INTO 'a/'; FROM 'in/*.jsonl' |> INTO 'b/'"], "one statement"),
        (&["--shard", "1/3", "-e", "FROM 'x.jsonl' |> INTO 'a/'"], "nothing to share out"),
        (&["--shard", "1/3", "-e", "FROM 'in/*.jsonl'"], "its last verb is INTO"),
    ] {
        let wrong = run(&folder, arguments).wrong();
        assert!(wrong.contains(told), "{wrong}");
    }
    run(&folder, &["--shard", "1/3", "q.cql"]).ok();
    let other = query("").replace(">= 5", ">= 6");
    assert!(run(&folder, &["--shard", "2/3", "-e", &other]).wrong().contains("cannot go on with its work"));
    // One machine can do the rest.
    run(&folder, &["--resume", "q.cql"]).ok();
    assert!(folder.path().join("out/_manifest.json").exists());
}
