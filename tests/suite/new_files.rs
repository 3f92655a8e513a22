//! `--incremental`: crawl after crawl into one folder, beside all of them at once.

use super::cli::Folder;
use serde_json::Value;
use std::fmt::Write;

/// Every kind of output of a run, and an index that remembers.
const QUERY: &str = "\
SET blocksize = '16kB';
LET blocked = FROM 'blocked.jsonl' |> SELECT host;
FROM 'in/*.jsonl'
  |> WHERE words(text) >= 5
  |> WHERE host NOT IN (SELECT host FROM blocked)
  |> SET text = lower(text)
  |> DEDUP EXACT ON text AGAINST INDEX 'seen' APPEND
  |> INTO 'out/' WITH (rejects = 'rejects/', compression = 'none', max_file_size = '20kB'OPTIONS);
";

/// A folder with blocked hosts and the query, and no crawl yet.
fn folder(options: &str) -> Folder {
    let folder = Folder::new();
    std::fs::create_dir(folder.path().join("in")).unwrap();
    folder.write("blocked.jsonl", "{\"host\": \"h3\"}\n");
    folder.write("q.cql", &QUERY.replace("OPTIONS", options));
    folder
}

/// A crawl of several files; half of its documents are in earlier ones, too, and some lines are broken.
fn crawl(folder: &Folder, number: u64) {
    for file in 0..3 {
        let mut lines = String::new();
        for line in 0..100 {
            let id = number * 300 + file * 100 + line;
            let seen = id % 211;
            let text = if id.is_multiple_of(9) {
                "Short".into()
            } else {
                format!("Text {seen} of some words {}", seen * seen)
            };
            let extra = if number == 2 { ", \"new\": 1" } else { "" };
            match id % 13 {
                0 => writeln!(lines, "{{\"id\": {id}, broken"),
                _ => writeln!(lines, "{{\"id\": {id}, \"host\": \"h{}\", \"text\": \"{text}\"{extra}}}", id % 5),
            }
            .unwrap();
        }
        folder.write(&format!("in/crawl-{number}-{file}.jsonl"), &lines);
    }
}

/// The files of a folder whose names begin so, one behind the other.
fn joined(folder: &Folder, prefix: &str) -> String {
    let files = folder.tree().into_iter().filter(|(name, _)| name.starts_with(prefix));
    files.map(|(_, bytes)| String::from_utf8(bytes).unwrap()).collect()
}

fn manifest(folder: &Folder) -> Value {
    serde_json::from_str(&folder.read("out/_manifest.json")).unwrap()
}

fn incremental(folder: &Folder) -> String {
    let told = folder.run(&["query", "--incremental", "q.cql"]);
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    told.stderr
}

/// What was dropped, whichever part it is in.
fn dropped(folder: &Folder) -> Vec<String> {
    let list = |name: &str| {
        let shown = folder.run(&["query", "-q", "-e", &format!("FROM 'rejects/{name}/' |> SELECT id")]).ok();
        shown.lines().map(str::to_string).collect::<Vec<_>>()
    };
    ["dropped", "dropped-2"].iter().flat_map(|name| list(name)).collect()
}

#[test]
fn crawl_after_crawl_gives_what_all_at_once_give() {
    let (steps, whole) = (folder(""), folder(""));
    for number in 0..3 {
        crawl(&steps, number);
        let told = incremental(&steps);
        assert_eq!(told.contains("3 of"), number > 0, "{told}");
        crawl(&whole, number);
    }
    whole.run(&["query", "-q", "q.cql"]).ok();
    let rows = joined(&whole, "out/part");
    assert!(rows.lines().count() > 100);
    assert!(joined(&steps, "out/part") == rows, "the documents");
    assert!(joined(&steps, "rejects/rejects") == joined(&whole, "rejects/rejects"), "lines that could not be read");
    assert_eq!(dropped(&steps), dropped(&whole));
    let (of_steps, of_whole) = (manifest(&steps), manifest(&whole));
    // The blocked hosts are read each time.
    let rules = |manifest: &Value| manifest["rules"].as_array().unwrap()[1..].to_vec();
    assert_eq!(rules(&of_steps), rules(&of_whole));
    for what in ["n_rows", "rejected", "query", "plan_xxh3_128", "columns"] {
        assert_eq!(of_steps[what], of_whole[what], "{what}");
    }
    assert_eq!(of_steps["inputs"].as_array().unwrap().len(), of_whole["inputs"].as_array().unwrap().len());
    assert_eq!(of_steps["earlier_runs"].as_array().unwrap().len(), 2);
    for place in ["out/", "rejects/"] {
        steps.run(&["verify", place]).ok();
    }
    // Both indexes know the same documents: they leave the same ones of a later crawl.
    let left = |folder: &Folder| {
        crawl(folder, 3);
        let query = "FROM 'in/crawl-3-*.jsonl' |> SET text = lower(text) |> DEDUP EXACT ON text AGAINST INDEX 'seen' READ ONLY |> \
                     SELECT id";
        folder.run(&["query", "-q", "-e", query]).ok()
    };
    assert_eq!(left(&steps), left(&whole));
}

#[test]
fn without_a_new_file_nothing_happens() {
    let folder = folder("");
    crawl(&folder, 0);
    incremental(&folder);
    let before = folder.tree();
    let told = incremental(&folder);
    assert!(told.contains("out/ is up to date: no input file is new"), "{told}");
    assert!(folder.tree() == before);
}

#[test]
fn files_that_add_no_row_add_no_part() {
    let folder = folder("");
    crawl(&folder, 0);
    incremental(&folder);
    let parts = joined(&folder, "out/part");
    let copy = folder.read("in/crawl-0-1.jsonl");
    folder.write("in/crawl-1-copy.jsonl", &copy);
    incremental(&folder);
    assert_eq!(joined(&folder, "out/part"), parts);
    assert_eq!(manifest(&folder)["inputs"].as_array().unwrap().len(), 5);
    folder.run(&["verify", "out/"]).ok();
    assert!(incremental(&folder).contains("up to date"));
}

#[test]
fn an_interrupted_step_goes_on_or_begins_again() {
    let (steps, whole) = (folder(", partition_by = 'host'"), folder(", partition_by = 'host'"));
    for number in 0..2 {
        crawl(&whole, number);
    }
    crawl(&steps, 0);
    incremental(&steps);
    let before = joined(&steps, "out/host");
    crawl(&steps, 1);
    let mut command = steps.command(&["query", "-q", "--incremental", "--resume", "q.cql"]);
    assert!(!command.env("CURATOR_FAULT", "abort-kept:2").output().unwrap().status.success());
    assert_eq!(joined(&steps, "out/host"), before, "nothing is visible before the commit");
    let refused = steps.run(&["query", "--incremental", "q.cql"]).wrong();
    assert!(refused.contains("`--resume` goes on"), "{refused}");
    steps.run(&["query", "-q", "--incremental", "--resume", "q.cql"]).ok();
    whole.run(&["query", "-q", "q.cql"]).ok();
    for host in 0..5 {
        let prefix = format!("out/host=h{host}/");
        assert_eq!(joined(&steps, &prefix), joined(&whole, &prefix));
    }
}

#[test]
fn what_does_not_go_on_from_the_last_run_is_named_and_refused() {
    let folder = folder("");
    crawl(&folder, 0);
    incremental(&folder);
    crawl(&folder, 1);
    let before = folder.tree();
    let refused = |arguments: &[&str], told: &str| {
        let wrong = folder.run(&[&["query", "-q", "--incremental"], arguments].concat()).wrong();
        assert!(wrong.contains(told) && wrong.contains("overwrite = true"), "{told}: {wrong}");
    };
    let query = |from: &str, to: &str| QUERY.replace("OPTIONS", "").replace(from, to);
    refused(&["-e", &query(">= 5", ">= 6")], "the query has changed");
    refused(&["-e", &query("SELECT host;", "WHERE host <> 'h1' |> SELECT host;")], "LET, DEFINE, parameter");
    refused(&["--strict", "q.cql"], "the setting strict is 'true'");
    assert!(folder.tree() == before);
    let blocked = folder.read("blocked.jsonl");
    folder.write("blocked.jsonl", "{\"host\": \"h4\"}\n{\"host\": \"h5\"}\n");
    refused(&["q.cql"], "'blocked.jsonl' has changed, and earlier rows were compared with it");
    folder.write("blocked.jsonl", &blocked);
    folder.write("in/crawl-0-0.jsonl", "{\"id\": 1, \"host\": \"h1\", \"text\": \"one two three four five six\"}\n");
    refused(&["q.cql"], "'in/crawl-0-0.jsonl' was read, and has changed since");
    folder.write("in/crawl-1-0.jsonl", "{\"id\": \"now a text\", \"host\": \"h1\", \"text\": \"one\"}\n");
    refused(&["q.cql"], "the column id is");
}

#[test]
fn files_that_are_gone_leave_their_rows() {
    let folder = folder("");
    crawl(&folder, 0);
    incremental(&folder);
    let before = joined(&folder, "out/part");
    std::fs::remove_file(folder.path().join("in/crawl-0-0.jsonl")).unwrap();
    crawl(&folder, 1);
    incremental(&folder);
    let after = joined(&folder, "out/part");
    assert!(after.len() > before.len() && after.starts_with(&before));
}

#[test]
fn a_query_that_looks_at_all_rows_together_is_refused_at_once() {
    let folder = folder("");
    crawl(&folder, 0);
    for (verbs, told) in [
        ("ORDER BY id |> INTO 'made/'", "ORDER BY looks at the rows of all files together"),
        ("DEDUP EXACT ON text |> INTO 'made/'", "AGAINST INDEX … APPEND"),
        ("DEDUP EXACT ON text KEEP LAST AGAINST INDEX 'i' APPEND |> INTO 'made/'", "DEDUP"),
        ("SAMPLE 10 ROWS |> INTO 'made/'", "SAMPLE looks at"),
        ("AGGREGATE count(*) AS n GROUP BY host |> INTO 'made/'", "AGGREGATE looks at"),
        ("LIMIT 3 |> INTO 'made/'", "LIMIT looks at"),
        ("WHERE id > 3 |> INTO 'made.jsonl'", "end the location in /"),
    ] {
        let query = format!("FROM 'in/*.jsonl' |> {verbs}");
        let wrong = folder.run(&["query", "--incremental", "-e", &query]).wrong();
        assert!(wrong.contains(told), "{verbs}: {wrong}");
    }
    // Each time it holds something else, under one name.
    let arguments = ["query", "--incremental", "-e", "FROM '-' |> INTO 'made/'"];
    let wrong = folder.run_with(&arguments, "{\"id\": 1}\n").wrong();
    assert!(wrong.contains("'-' is standard input"), "{wrong}");
    assert!(folder.names().iter().all(|name| !name.starts_with("made")), "{:?}", folder.names());
}
