//! What goes wrong around a run: what was readable is delivered, what was not is named, and the run ends as it should.

use super::cli::{Folder, Run};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn documents(n_rows: usize) -> String {
    let mut text = String::new();
    for id in 0..n_rows {
        let key = (id as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let _ = writeln!(text, "{{\"id\":{id},\"key\":{key},\"text\":\"{}\"}}", "word ".repeat(200));
    }
    text
}

#[test]
fn more_rejects_than_are_allowed_fail_the_run_and_change_nothing() {
    let folder = Folder::new();
    folder.write("bad.jsonl", "{\"id\":1}\nnonsense\n{\"id\":2}\n[3]\n");
    let query = "FROM 'bad.jsonl' |> INTO 'out.jsonl' WITH (overwrite = true)";
    for most in ["1", "0", "49%"] {
        let told = folder.run(&["query", "-e", query, "--max-rejects", most]).wrong();
        assert!(told.contains("max_rejects"), "{told}");
        assert!(!folder.path().join("out.jsonl").exists());
    }
    for most in ["2", "50%"] {
        folder.run(&["query", "-e", query, "--max-rejects", most]).ok();
        assert_eq!(folder.read("out.jsonl").lines().count(), 2);
    }
    let told = folder.run(&["query", "-e", "SET max_rejects = 'few'; FROM 'bad.jsonl'"]).wrong();
    assert!(told.contains("neither a number nor a share"), "{told}");
}

#[test]
fn temporary_files_go_where_they_are_told_and_take_no_more_than_they_may() {
    let folder = Folder::new();
    folder.write("docs.jsonl", &documents(20_000));
    std::fs::create_dir(folder.path().join("temp")).unwrap();
    let sort = "FROM 'docs.jsonl' |> ORDER BY key |> SELECT id |> INTO 'out.jsonl' WITH (overwrite = true)";
    let with =
        |more: &[&str]| folder.run(&[&["query", "-e", sort, "--memory", "8MB", "--threads", "2"][..], more].concat());
    let told = with(&["--temp-dir", "nowhere"]).wrong();
    assert!(told.contains("temp_dir: there is no folder 'nowhere'"), "{told}");
    let told = with(&["--temp-dir", "temp", "--temp-limit", "1MB"]).wrong();
    assert!(told.contains("temp_limit"), "{told}");
    assert!(!folder.path().join("out.jsonl").exists());
    with(&["--temp-dir", "temp", "--temp-limit", "1GB"]).ok();
    let count = std::fs::read_to_string(folder.path().join("out.jsonl")).unwrap().lines().count();
    assert_eq!(count, 20_000);
    assert_eq!(std::fs::read_dir(folder.path().join("temp")).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn results_as_large_as_a_number_says_have_a_bound() {
    let folder = Folder::new();
    for call in [
        "repeat('x', 2000000000)",
        "lpad('x', 2000000000)",
        "rpad('x', 2000000000, 'ab')",
        "range(0, 1000000000)",
        "array_repeat(1, 1000000000)",
    ] {
        let told = folder.run(&["query", "--sql", "-e", &format!("SELECT {call}")]).wrong();
        assert!(told.contains("the most is 1.1 GB"), "{call}: {told}");
    }
    let lengths = "SELECT length(repeat('ab', 3)), length(lpad('x', 5)), array_length(range(2, 9, 2)), repeat('x', -1)";
    let rows = folder.run(&["query", "--sql", "-e", lengths, "--output-format", "csv"]).ok();
    assert!(rows.ends_with("6,5,4,\"\"\n"), "{rows}");
    let many = "FROM 'x.jsonl' |> SELECT length(repeat(text, id * 100000000)) AS n";
    let told = folder.run(&["query", "-e", many]).wrong();
    assert!(told.contains("repeat: its results for 4 rows would take"), "{told}");
}

#[test]
fn a_full_disk_ends_the_run_with_its_name() {
    let folder = Folder::new();
    let told = folder.run(&["query", "-e", "FROM 'x.jsonl' |> INTO '/dev/full' WITH (format = 'jsonl')"]).wrong();
    assert!(told.contains("/dev/full") && told.contains("No space left on device"), "{told}");
}

#[test]
fn a_join_of_sides_larger_than_memory_gives_the_rows_of_one_in_memory() {
    let folder = Folder::new();
    folder.write("a.jsonl", &documents(8000));
    let join = "FROM 'a.jsonl' AS a |> JOIN 'a.jsonl' AS b ON a.key = b.key |> SELECT a.id, b.text \
                |> INTO 'out.jsonl' WITH (overwrite = true)";
    let joined = |memory: &str| {
        folder.run(&["query", "-e", join, "--threads", "2", "--memory", memory]).ok();
        std::fs::read(folder.path().join("out.jsonl")).unwrap()
    };
    let expected = joined("4GB");
    assert!(expected.len() > 8_000_000);
    assert!(joined("12MB") == expected);
}

/// What a shell makes of a script in which `$0` is curator.
fn shell(folder: &Folder, script: &str) -> Run {
    let plain = folder.command(&[]);
    let output = Command::new("sh").args(["-c", script]).arg(plain.get_program()).current_dir(folder.path()).output();
    let Output { status, stdout, stderr } = output.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Run { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
}

#[test]
fn a_closed_stdout_is_an_error_and_a_reader_that_has_read_enough_is_none() {
    let folder = Folder::new();
    let mut many = String::new();
    for id in 0..100_000 {
        let _ = writeln!(many, "{{\"id\":{id}}}");
    }
    folder.write("many.jsonl", &many);
    for printed in ["query -q -e \"FROM 'x.jsonl' |> INTO '-'\"", "query -q -e \"FROM 'x.jsonl'\"", "ops"] {
        let told = shell(&folder, &format!("\"$0\" {printed} >&-")).wrong();
        assert!(told.contains("standard output is closed"), "{told}");
        shell(&folder, &format!("\"$0\" {printed} >/dev/null")).ok();
    }
    // Nothing was to be printed.
    shell(&folder, "\"$0\" query -q -e \"FROM 'x.jsonl' |> INTO 'out.jsonl'\" >&-").ok();
    for query in ["FROM 'many.jsonl' |> INTO '-'", "FROM 'many.jsonl'"] {
        let script =
            format!("{{ \"$0\" query -q --output-format json -e \"{query}\"; echo code $? >&2; }} | head -n 1");
        let run = shell(&folder, &script);
        assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("{\"id\":0}\n", "code 0\n"));
    }
}

#[test]
fn a_document_that_takes_too_long_is_set_aside_and_the_run_goes_on() {
    let folder = Folder::new();
    let mut text = documents(200);
    let endless = "endless ".repeat(40_000);
    let _ = writeln!(text, "{{\"id\":200,\"text\":\"{endless}\"}}\n{{\"id\":201,\"text\":\"short\"}}");
    folder.write("docs.jsonl", &text);
    // Of two texts of 320 kB these are 10¹¹ steps.
    let far = "levenshtein(text, reverse(text))";
    for (number, verb) in
        [format!("WHERE {far} >= 0"), format!("EXTEND {far} >= 0 AS far |> WHERE far")].into_iter().enumerate()
    {
        let out = format!("out-{number}");
        let query = format!(
            "SET document_timeout = '1s'; FROM 'docs.jsonl' |> {verb} |> SELECT id |> INTO '{out}.jsonl' WITH (rejects = '{out}')"
        );
        let run = folder.run(&["query", "--threads", "2", "-e", &query]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert!(run.stderr.contains("took too long"), "{}", run.stderr);
        let ids: Vec<usize> = (0..202).filter(|id| *id != 200).collect();
        let expected: String = ids.iter().map(|id| format!("{{\"id\":{id}}}\n")).collect();
        assert_eq!(folder.read(&format!("{out}.jsonl")), expected);
        let rejects = folder.read(&format!("{out}/rejects.jsonl"));
        let reject: serde_json::Value = serde_json::from_str(&rejects).unwrap();
        assert_eq!(reject["line"], 201);
        assert_eq!(reject["reason"], "it took longer than document_timeout allows (1s)");
        assert!(rejects.contains(&endless), "the document is there to look at");
    }
    let told = folder.run(&["query", "-e", "SET document_timeout = 'soon'; FROM 'docs.jsonl'"]).wrong();
    assert!(told.contains("`soon` is not a length of time"), "{told}");
}

/// Runs the command with files that may take so many KiB at most, which ends a write as a full disk does.
fn on_a_small_disk(folder: &Folder, kib: usize, arguments: &[&str]) -> Run {
    let plain = folder.command(arguments);
    let mut limited = Command::new("sh");
    limited.current_dir(folder.path()).args(["-c", &format!("ulimit -f {} && exec \"$0\" \"$@\"", 2 * kib)]);
    let Output { status, stdout, stderr } = limited.arg(plain.get_program()).args(plain.get_args()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Run { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
}

#[test]
fn an_output_that_finds_no_room_leaves_what_was_there() {
    let folder = Folder::new();
    folder.write("docs.jsonl", &documents(2000));
    folder.write("old.jsonl", "{\"id\":0}\n");
    folder.run(&["query", "-e", "FROM 'old.jsonl' |> INTO 'there.jsonl'"]).ok();
    folder.run(&["query", "-e", "FROM 'old.jsonl' |> INTO 'folder/'"]).ok();
    let before = everything_in(folder.path());
    for (rows, output) in [
        ("", "'new.jsonl'"),
        ("", "'there.jsonl' WITH (overwrite = true)"),
        ("", "'folder/' WITH (overwrite = true)"),
        ("|> SELECT id, key, sha256(text || id) AS hash", "'new.parquet'"),
        ("|> SELECT id, key, sha256(text || id) AS hash", "'new.csv.gz'"),
        ("|> SELECT id % 3 AS part, sha256(text || id) AS hash", "'hive/' WITH (partition_by = 'part')"),
        ("|> WHERE id < 3", "'few.jsonl' WITH (rejects = 'dropped')"),
    ] {
        let query = format!("FROM 'docs.jsonl' {rows} |> INTO {output}");
        let told = on_a_small_disk(&folder, 16, &["query", "--threads", "2", "-e", &query]).wrong();
        assert!(told.contains("File too large"), "{query}: {told}");
        assert_eq!(everything_in(folder.path()), before, "{query}");
    }
}

#[test]
fn temporary_files_that_find_no_room_end_the_run_and_say_where_they_are() {
    let folder = Folder::new();
    folder.write("docs.jsonl", &documents(20_000));
    let before = everything_in(folder.path());
    for verbs in [
        "ORDER BY text, id |> SELECT id",
        "DEDUP EXACT ON text, id |> SELECT id",
        "DEDUP FUZZY ON text |> SELECT id",
        "DISTINCT ON (text, id) |> SELECT id",
        "AGGREGATE count(*) AS n GROUP BY text, id |> SELECT n",
    ] {
        let query = format!("SET replay = 'spool'; FROM 'docs.jsonl' |> {verbs} |> INTO 'out.jsonl'");
        let small = ["query", "--threads", "2", "--memory", "8MB", "--temp-dir", ".", "-e", &query];
        let told = on_a_small_disk(&folder, 400, &small).wrong();
        assert!(told.contains("File too large") && told.contains("--temp-dir"), "{query}: {told}");
        assert_eq!(everything_in(folder.path()), before, "{query}");
    }
}

/// Every file below a folder, with its bytes.
fn everything_in(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files =
        walkdir::WalkDir::new(folder).into_iter().map(Result::unwrap).filter(|entry| entry.file_type().is_file());
    files.map(|entry| (entry.path().to_path_buf(), std::fs::read(entry.path()).unwrap())).collect()
}
