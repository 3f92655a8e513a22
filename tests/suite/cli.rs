//! The command as a shell sees it: arguments in; stdout, stderr and an exit code out.
//!
//! Not here: the commands that run no query (`cli_texts.rs`), signals (`signals.rs`) and the prompt (`repl.rs`).

use serde_json::Value;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// What a process left behind.
#[derive(Debug)]
pub struct Run {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    /// Its stdout, if it succeeded.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        self.stdout
    }

    /// Its stderr, if it said that the user is wrong, and nothing on stdout.
    #[track_caller]
    pub fn wrong(self) -> String {
        assert_eq!(self.code, Some(1), "{}{}", self.stdout, self.stderr);
        assert_eq!(self.stdout, "");
        self.stderr
    }
}

/// A folder with a small `x.jsonl`, and the command to run in it.
pub struct Folder {
    dir: TempDir,
}

const DOCUMENTS: &str = r#"{"id": 1, "lang": "en", "text": "rain on the roof", "score": 0.5, "tags": ["home"]}
{"id": 2, "lang": "de", "text": "der Garten", "score": 0.75, "tags": []}
{"id": 3, "lang": null, "text": "one | two, \"three\"\nfour", "score": null, "tags": ["a", "b"]}
{"id": 4, "lang": "en", "text": "old maps show rivers that moved", "score": 1.5, "tags": ["walk"]}
"#;

impl Folder {
    pub fn new() -> Self {
        let folder = Self { dir: TempDir::new().unwrap() };
        folder.write("x.jsonl", DOCUMENTS);
        folder
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path().join(name), text).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap()
    }

    /// The names in the folder, hidden ones too.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(arguments);
        command.current_dir(self.path());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Run {
        self.run_with(arguments, "")
    }

    pub fn run_with(&self, arguments: &[&str], stdin: &str) -> Run {
        finish(self.command(arguments), stdin)
    }

    /// Runs one query quietly.
    fn csv(&self, query: &str) -> String {
        self.run(&["query", "-q", "--output-format", "csv", "-e", query]).ok()
    }
}

/// The command with an environment that does not change what it says.
fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_curator"));
    command.args(arguments);
    for name in ["RUST_BACKTRACE", "RUST_LOG", "NO_COLOR", "CURATOR_HISTORY"] {
        command.env_remove(name);
    }
    command
}

fn finish(mut command: Command, stdin: &str) -> Run {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("curator starts");
    // A command that does not read its input is not wrong.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8 from curator");
    Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Runs the command where it does not matter.
pub fn run(arguments: &[&str]) -> Run {
    finish(command(arguments), "")
}

/// Times and rates change from run to run.
fn without_times(text: &str) -> String {
    let lines = text.lines().map(|line| match line.find(" in ") {
        Some(at) if line.trim_start().starts_with(|c: char| c.is_ascii_digit()) => &line[..at],
        _ => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

// ── query: rows out ──

#[test]
fn a_query_on_the_command_line_writes_a_file_and_tells_the_funnel() {
    let folder = Folder::new();
    let query = "FROM 'x.jsonl' |> WHERE score > 0.6 |> SELECT id, text |> INTO 'y.jsonl'";
    let run = folder.run(&["query", "-e", query]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""), "{}", run.stderr);
    insta::assert_snapshot!(without_times(&run.stderr), @r"
      step               docs  dropped           text
      'x.jsonl'             4                   349 B
      WHERE score > 0.6     2       −2  50.0 %  170 B
      wrote y.jsonl  2 documents, 85 B
      2 documents
    ");
    insta::assert_snapshot!(folder.read("y.jsonl"), @r#"
    {"id": 2, "text": "der Garten"}
    {"id": 4, "text": "old maps show rivers that moved"}
    "#);
    assert_eq!(folder.names(), [".y.jsonl.manifest.json", "x.jsonl", "y.jsonl"]);
}

#[test]
fn rows_without_into_are_on_stdout_and_everything_else_on_stderr() {
    let folder = Folder::new();
    let run = folder.run(&["query", "-e", "FROM 'x.jsonl' |> WHERE score > 0.6 |> SELECT id"]);
    assert_eq!(run.stdout, "+----+\n| id |\n+----+\n| 2  |\n| 4  |\n+----+\n");
    assert!(run.stderr.starts_with("  step "), "{}", run.stderr);
    assert!(run.stderr.ends_with('\n'));
    let quiet = folder.run(&["query", "--quiet", "-e", "FROM 'x.jsonl' |> WHERE score > 0.6 |> SELECT id"]);
    assert_eq!((quiet.stdout, quiet.stderr.as_str()), (run.stdout, ""));
}

#[test]
fn rows_are_printed_in_the_format_asked_for() {
    let folder = Folder::new();
    let printed = |format: &str| {
        let query = "FROM 'x.jsonl' |> SELECT id, lang, text, score, tags |> LIMIT 3";
        let text = folder.run(&["query", "-q", "--output-format", format, "-e", query]).ok();
        assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{text:?}");
        text
    };
    insta::assert_snapshot!(printed("table"), @r#"
    +----+------+-------------------------+-------+--------+
    | id | lang | text                    | score | tags   |
    +----+------+-------------------------+-------+--------+
    | 1  | en   | rain on the roof        | 0.5   | [home] |
    | 2  | de   | der Garten              | 0.75  | []     |
    | 3  | NULL | one | two, "three"⏎four | NULL  | [a, b] |
    +----+------+-------------------------+-------+--------+
    "#);
    insta::assert_snapshot!(printed("json"), @r#"
    {"id":1,"lang":"en","text":"rain on the roof","score":0.5,"tags":["home"]}
    {"id":2,"lang":"de","text":"der Garten","score":0.75,"tags":[]}
    {"id":3,"lang":null,"text":"one | two, \"three\"\nfour","score":null,"tags":["a","b"]}
    "#);
    insta::assert_snapshot!(printed("csv"), @r#"
    id,lang,text,score,tags
    1,en,rain on the roof,0.5,"[""home""]"
    2,de,der Garten,0.75,[]
    3,,"one | two, ""three""
    four",,"[""a"",""b""]"
    "#);
    insta::assert_snapshot!(printed("markdown"), @r#"
    | id | lang | text | score | tags |
    | ---: | --- | --- | ---: | --- |
    | 1 | en | rain on the roof | 0.5 | [home] |
    | 2 | de | der Garten | 0.75 | [] |
    | 3 |  | one \| two, "three"⏎four |  | [a, b] |
    "#);
}

#[test]
fn a_table_says_what_it_does_not_show_and_other_formats_show_all() {
    let folder = Folder::new();
    let table = folder.run(&["query", "-q", "--max-rows", "1", "-e", "FROM 'x.jsonl' |> SELECT id"]);
    assert_eq!(table.stdout.lines().count(), 5);
    assert!(table.stderr.contains("3 more rows not shown"), "{}", table.stderr);
    let csv = ["query", "-q", "--max-rows", "1", "--output-format", "csv", "-e", "FROM 'x.jsonl' |> SELECT id"];
    assert_eq!(folder.run(&csv).ok(), "id\n1\n2\n3\n4\n");
}

#[test]
fn standard_input_is_the_query_or_the_data_and_standard_output_can_be_a_sink() {
    let folder = Folder::new();
    let query = "FROM 'x.jsonl' |> SELECT id |> LIMIT 1;\nFROM 'x.jsonl' |> SELECT id |> LIMIT 2;";
    let run = folder.run_with(&["query", "-", "-q", "--output-format", "csv"], query);
    assert_eq!(run.ok(), "id\n1\nid\n1\n2\n");
    let from_stdin = ["query", "-q", "-e", "FROM '-' |> WHERE id > 2 |> SELECT id |> INTO '-'"];
    let run = folder.run_with(&from_stdin, DOCUMENTS);
    assert_eq!(run.ok(), "{\"id\": 3}\n{\"id\": 4}\n");
    let to_stdout = folder.run(&["query", "-e", "FROM 'x.jsonl' |> SELECT id |> LIMIT 1 |> INTO '-'"]);
    assert_eq!(to_stdout.stdout, "{\"id\": 1}\n");
    assert!(to_stdout.stderr.contains("1 document"), "{}", to_stdout.stderr);
    assert_eq!(folder.names(), ["x.jsonl"]);
}

#[test]
fn sql_is_chosen_by_the_flag_or_by_the_ending() {
    let folder = Folder::new();
    // Pipes that only SQL's own pipe syntax has.
    folder.write("q.sql", "FROM 'x.jsonl' |> AGGREGATE count(*) AS n;\n");
    folder.write("q.txt", "SELECT count(*) AS n FROM 'x.jsonl'");
    for arguments in [&["q.sql"][..], &["q.txt", "--sql"], &["--sql", "-e", "SELECT count(*) AS n FROM 'x.jsonl'"]] {
        let run = folder.run(&[&["query", "-q", "--output-format", "csv"], arguments].concat());
        assert_eq!(run.ok(), "n\n4\n", "{arguments:?}");
    }
    let cql_only = "FROM 'x.jsonl' |> SAMPLE 2 ROWS |> AGGREGATE count(*) AS n";
    assert_eq!(folder.csv(cql_only), "n\n2\n");
    assert!(folder.run(&["query", "--sql", "-e", cql_only]).wrong().contains("SAMPLE"));
}

#[test]
fn texts_run_in_order_in_one_session() {
    let folder = Folder::new();
    folder.write("first.cql", "LET good = FROM 'x.jsonl' |> WHERE score > 0.6; DEFINE twice(n) AS n * 2;");
    let run = folder.run(&[
        "query",
        "first.cql",
        "-q",
        "--output-format",
        "csv",
        "-e",
        "CREATE VIEW ids AS SELECT twice(id) AS id FROM good",
        "-e",
        "FROM ids",
    ]);
    assert_eq!(run.ok(), "id\n4\n8\n");
}

// ── query: parameters ──

#[test]
fn parameters_have_the_type_of_their_value() {
    let folder = Folder::new();
    for (value, expected) in [
        ("12", "12,Int64"),
        ("-3", "-3,Int64"),
        ("1.5", "1.5,Float64"),
        ("true", "true,Boolean"),
        ("null", ",Null"),
        ("abc", "abc,Utf8"),
        ("", "\"\",Utf8"),
        ("'12'", "12,Utf8"),
        ("a=b", "a=b,Utf8"),
    ] {
        let definition = format!("p={value}");
        let query = "SELECT $p AS p, arrow_typeof($p) AS type";
        let run = folder.run(&["query", "-q", "--output-format", "csv", "-D", &definition, "-e", query]);
        assert_eq!(run.ok(), format!("p,type\n{expected}\n"), "{value}");
    }
    let query = "FROM 'x.jsonl' |> WHERE score > $min AND lang = $lang |> SELECT id";
    let run = folder.run(&["query", "-q", "--output-format", "csv", "-D", "min=0.6", "-D", "lang=en", "-e", query]);
    assert_eq!(run.ok(), "id\n4\n");
}

#[test]
fn a_path_can_be_a_parameter_and_read_again() {
    let folder = Folder::new();
    let query = "FROM $from |> SELECT id AS n |> INTO $to; FROM $to |> AGGREGATE max(n) AS n";
    let definitions = ["-D", "from=x.jsonl", "-D", "to=y.jsonl"];
    let run = folder.run(&[&["query", "-q", "--output-format", "csv", "-e", query], &definitions[..]].concat());
    assert_eq!(run.ok(), "n\n4\n");
}

#[test]
fn a_parameter_that_looks_like_sql_stays_data() {
    let folder = Folder::new();
    for text in ["x' OR '1'='1", "en'; DROP TABLE t; --", "1 OR 1=1", "$p", "en' |> INTO 'stolen.jsonl", "\") OR (\""] {
        let definition = format!("p={text}");
        let query = "FROM 'x.jsonl' |> WHERE lang = $p |> AGGREGATE count(*) AS n";
        let run = folder.run(&["query", "-q", "--output-format", "json", "-D", &definition, "-e", query]);
        assert_eq!(run.ok(), "{\"n\":0}\n", "{text}");
        let run = folder.run(&["query", "-q", "--output-format", "json", "-D", &definition, "-e", "SELECT $p AS p"]);
        let row: Value = serde_json::from_str(&run.ok()).unwrap();
        assert_eq!(row["p"], text);
    }
    assert_eq!(folder.names(), ["x.jsonl"]);
}

// ── query: the report ──

/// Each step takes in what the one before it gave, and the last gives what was written.
fn assert_steps_add_up(query: &Value) {
    let count = |step: &Value, name: &str| step[name].as_u64().unwrap_or_else(|| panic!("{name} of {step}"));
    let steps = query["steps"].as_array().unwrap();
    for pair in steps.windows(2) {
        assert_eq!(count(&pair[0], "rows_out"), count(&pair[1], "rows_in"), "{query:#}");
        assert!(count(&pair[1], "rows_out") <= count(&pair[1], "rows_in"), "{query:#}");
    }
    assert_eq!(count(steps.last().unwrap(), "rows_out"), query["rows_out"].as_u64().unwrap(), "{query:#}");
}

#[test]
fn the_report_has_steps_that_add_up() {
    let folder = Folder::new();
    folder.write("bad.jsonl", &format!("{DOCUMENTS}not json\n"));
    let query = "FROM 'bad.jsonl' |> WHERE words(text) > 1 AND lang IS NOT NULL |> WHERE score > 0.6 |> SELECT id \
                 |> INTO 'y.jsonl'; FROM 'y.jsonl' |> WHERE id > 2";
    let run = folder.run(&["query", "--report", "r.json", "-e", query]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let report: Value = serde_json::from_str(&folder.read("r.json")).unwrap();
    let queries = report["queries"].as_array().unwrap();
    assert_eq!(queries.len(), 2);
    queries.iter().for_each(assert_steps_add_up);
    assert_eq!(queries[0]["steps"][0]["rows_out"], 4);
    assert_eq!(queries[0]["rows_out"], 2);
    assert_eq!(queries[0]["rejected"][0][1], 1);
    assert_eq!(queries[0]["files"][0]["n_rows"], 2);
    assert_eq!(queries[1]["steps"][0]["rows_out"], 2);
    assert!(report["error"].is_null());
}

#[test]
fn the_report_of_a_failed_run_has_the_error_and_the_queries_before_it() {
    let folder = Folder::new();
    folder.write("bad.jsonl", "{\"a\": 1}\nnot json\n");
    let query = "FROM 'x.jsonl' |> SELECT id; FROM 'bad.jsonl'";
    let run = folder.run(&["query", "-q", "--strict", "--report", "r.json", "-e", query]);
    assert_eq!(run.code, Some(1));
    let report: Value = serde_json::from_str(&folder.read("r.json")).unwrap();
    assert_eq!(report["queries"].as_array().unwrap().len(), 1);
    assert!(report["error"].as_str().unwrap().contains("bad.jsonl:2"), "{report:#}");
}

#[test]
fn explain_analyze_counts_what_the_funnel_counts() {
    let folder = Folder::new();
    for query in [
        "FROM 'x.jsonl' |> WHERE words(text) > 1 AND lang = 'en' |> WHERE score > 0.6 |> SELECT id",
        "FROM 'x.jsonl' |> WHERE lang = 'en' |> DISTINCT ON (lang) |> SELECT id",
        "FROM 'x.jsonl' |> WHERE score > 9",
        "FROM 'x.jsonl' |> WHERE lang = 'en' |> SELECT id |> INTO 'y.jsonl' WITH (overwrite = true)",
    ] {
        let analyzed = folder.run(&["query", "-e", &format!("EXPLAIN ANALYZE {query}")]).ok();
        let funnel = folder.run(&["query", "-e", query]).stderr;
        // `  │ lang = 'en'   in 4  dropped 2  expected 1  31µs`
        let conjuncts: Vec<(String, u64, u64)> = analyzed.lines().filter_map(conjunct_of).collect();
        let rules: Vec<(String, u64, u64)> = funnel.lines().filter_map(rule_of).collect();
        assert_eq!(conjuncts, rules, "{query}\n{analyzed}\n{funnel}");
        assert!(!rules.is_empty(), "{funnel}");
        let scanned = analyzed.lines().skip_while(|line| !line.contains("FileScanExec")).nth(1).unwrap();
        assert!(scanned.contains("rows 4 "), "{analyzed}");
        let source = funnel.lines().nth(1).unwrap();
        assert!(source.trim_start().starts_with("'x.jsonl' ") && source.contains(" 4 "), "{funnel}");
    }
}

/// A line of EXPLAIN ANALYZE about one conjunct: its text, the rows it saw and the rows it kept.
fn conjunct_of(line: &str) -> Option<(String, u64, u64)> {
    let (label, counts) = line.trim().strip_prefix("│ ")?.split_once(" in ")?;
    let mut words = counts.split_whitespace();
    let n_in: u64 = words.next()?.parse().ok()?;
    let n_dropped: u64 = words.nth(1)?.parse().ok()?;
    Some((label.trim().to_string(), n_in, n_in - n_dropped))
}

/// A line of the funnel about one rule: `  WHERE lang = 'en'  2  −2  50.0 %`.
fn rule_of(line: &str) -> Option<(String, u64, u64)> {
    let rule = line.trim().strip_prefix("WHERE ")?;
    let (label, counts) = rule.split_once("  ")?;
    let mut words = counts.split_whitespace();
    let n_out: u64 = words.next()?.parse().ok()?;
    let n_dropped: u64 = words.next().and_then(|word| word.strip_prefix('−')).map_or(0, |n| n.parse().unwrap());
    Some((label.trim().to_string(), n_out + n_dropped, n_out))
}

// ── exit codes ──

#[test]
fn the_users_mistakes_exit_with_1_and_a_message() {
    let folder = Folder::new();
    folder.write("bad.jsonl", "{\"a\": 1}\nnot json\n");
    folder.write("there.jsonl", "{}\n");
    for (arguments, message) in [
        (&["query", "-e", "FROM 'x.jsonl' |> SELECT idd"][..], "no column `idd`"),
        (&["query", "-e", "FROM 'x.jsonl' |> SELEC id"], "unknown verb `SELEC`"),
        (&["query", "-e", "FROM 'nope.jsonl'"], "nope.jsonl"),
        (&["query", "nope.cql"], "nope.cql"),
        (&["query", "-e", "FROM 'x.jsonl' |> INTO 'there.jsonl'"], "choose another name"),
        (&["query", "-e", "FROM 'x.jsonl' |> INTO 'x.jsonl/y.jsonl'"], "x.jsonl"),
        (&["query", "--strict", "-e", "FROM 'bad.jsonl' |> INTO 'y.jsonl'"], "bad.jsonl:2"),
        (&["query", "-e", "SELECT 1 / 0"], "ivide by zero"),
        (&["query", "-e", "SELECT $p"], "-D p="),
        (&["query", "-D", "p", "-e", "SELECT $p"], "NAME=VALUE"),
        (&["query"], "required"),
        (&["query", "--nonsense"], "--nonsense"),
        (&["query", "-e", "SELECT 1", "--output-format", "yaml"], "markdown"),
        (&["query", "-e", "SELECT 1", "--memory", "lots"], "lots"),
        (&["query", "-q", "-e", "SET strict = true", "--report", "nope/r.json"], "nope/r.json"),
        (&["frobnicate"], "frobnicate"),
        (&[], "Usage"),
    ] {
        let stderr = folder.run(arguments).wrong();
        assert!(stderr.contains(message), "{arguments:?}: {stderr}");
        assert!(!stderr.contains("panicked") && !stderr.contains("This is a bug"), "{stderr}");
    }
    assert_eq!(folder.names(), ["bad.jsonl", "there.jsonl", "x.jsonl"]);
    assert_eq!(folder.read("there.jsonl"), "{}\n");
}

#[test]
fn broken_lines_are_set_aside_and_told_and_the_run_goes_on() {
    let folder = Folder::new();
    folder.write("bad.jsonl", "{\"a\": 1}\nnot json\n{\"a\": 2}\n");
    let run = folder.run(&["query", "--output-format", "csv", "-e", "FROM 'bad.jsonl'"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "a\n1\n2\n"));
    assert!(run.stderr.contains("set aside 1 line") && run.stderr.contains("bad.jsonl:2"), "{}", run.stderr);
}

#[test]
fn a_reader_that_goes_away_ends_the_run_quietly() {
    let folder = Folder::new();
    let endless = "SELECT a.value AS a FROM generate_series(1, 100000) a CROSS JOIN generate_series(1, 100000) b";
    let into = "FROM (SELECT a.value AS a FROM generate_series(1, 100000) a CROSS JOIN generate_series(1, 100000) b) \
                |> INTO '-'";
    for arguments in [
        &["query", "--output-format", "csv", "-e", endless][..],
        &["query", "--output-format", "json", "-e", endless],
        &["query", "-q", "-e", into],
    ] {
        let mut child = folder
            .command(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut [0; 8]).unwrap();
        drop(stdout);
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""), "{arguments:?}");
    }
}

#[test]
fn a_reader_that_was_never_there_is_no_error_for_any_command() {
    let folder = Folder::new();
    for arguments in [
        &["ops"][..],
        &["ops", "--markdown"],
        &["man"],
        &["completions", "bash"],
        &["settings"],
        &["--help"],
        &["explain", "-e", "FROM 'x.jsonl'"],
        &["query", "-q", "-e", "FROM 'x.jsonl'"],
        &["query", "-e", "EXPLAIN ANALYZE FROM 'x.jsonl'"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = folder.command(arguments).stdin(Stdio::null()).stdout(writer).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""), "{arguments:?}");
    }
}

// ── check ──

#[test]
fn check_tells_all_errors_at_once_and_runs_nothing() {
    let folder = Folder::new();
    folder.write(
        "q.cql",
        "FROM 'x.jsonl' |> WHERE wrods(text) > 1 |> INTO 'y.jsonl';\n\
         FROM 'nope.jsonl';\n\
         FROM 'x.jsonl' |> SELECT idd, tittle;\n",
    );
    let stderr = folder.run(&["check", "q.cql"]).wrong();
    for place in ["q.cql:1:25", "q.cql:2:6", "q.cql:3:26", "q.cql:3:31", "did you mean `words`?"] {
        assert!(stderr.contains(place), "{place} in {stderr}");
    }
    assert!(stderr.ends_with("4 errors\n"), "{stderr}");
    assert_eq!(folder.names(), ["q.cql", "x.jsonl"]);
}

#[test]
fn check_is_silent_about_a_right_text() {
    let folder = Folder::new();
    let right = "LET a = FROM 'x.jsonl'; FROM a |> INTO 'y.jsonl'; FROM 'y.jsonl' |> SELECT id";
    let run = folder.run(&["check", "-e", right, "-e", "FROM a |> SELECT id"]);
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (Some(0), "", ""));
    assert_eq!(folder.names(), ["x.jsonl"]);
}

#[test]
fn a_script_with_an_error_anywhere_runs_nothing() {
    let folder = Folder::new();
    let first = "FROM 'x.jsonl' |> INTO 'y.jsonl';";
    for arguments in [
        &["query", "-e", &format!("{first} FROM 'x.jsonl' |> SELECT idd, scoer")][..],
        &["query", "-e", first, "-e", "FROM 'x.jsonl' |> SELECT idd, scoer"],
        &["query", "-e", &format!("{first} FROM 'x.jsonl' |> SELEC idd, scoer")],
        &["query", "-e", first, "-e", "FROM 'x.jsonl' |> SELEC idd", "-e", "FROM 'x.jsonl' |> SELEC scoer"],
    ] {
        let stderr = folder.run(arguments).wrong();
        assert!(stderr.contains("idd") && stderr.contains("scoer"), "{stderr}");
        assert_eq!(folder.names(), ["x.jsonl"], "{arguments:?}");
    }
}

#[test]
fn a_script_may_read_what_it_wrote_whatever_was_there_before() {
    let folder = Folder::new();
    let script = "FROM 'x.jsonl' |> SELECT id AS n |> INTO 'y.jsonl' WITH (overwrite = true);
                  LET again = FROM 'y.jsonl';
                  FROM again |> AGGREGATE max(n) AS n;";
    assert_eq!(folder.csv(script), "n\n4\n");
    folder.csv("FROM (SELECT 1 AS other) |> INTO 'y.jsonl' WITH (overwrite = true)");
    assert_eq!(folder.csv(script), "n\n4\n");
}

#[test]
fn a_prompt_without_a_terminal_runs_its_input_like_a_file() {
    let folder = Folder::new();
    let script = "LET a = FROM 'x.jsonl'\n  |> WHERE id > 2;\n\\format csv\nFROM a |> SELECT id;\n";
    let run = folder.run_with(&["repl"], script);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "id\n3\n4\n"), "{}", run.stderr);
    let run = folder.run_with(&["repl"], "SELECT 1;\nSELECT idd\nFROM 'x.jsonl';\nSELECT 2;\n");
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("<stdin>:2:8") && !run.stdout.contains('2'), "{}{}", run.stdout, run.stderr);
}
