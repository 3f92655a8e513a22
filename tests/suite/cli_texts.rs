//! The commands that run no query: `fmt`, `explain`, the lists and the pages.

use super::cli::{Folder, run};
use super::harness::{files, read, root};
use curator::diag::SourceText;
use curator::internals;
use serde_json::Value;
use std::path::PathBuf;

// ── fmt ──

/// The query of the design, less the verbs that come later.
const WHOLE_RECIPE: &str = "-- a recipe
SET memory_limit = '8GB';

DEFINE long_enough(t) AS words(t) BETWEEN 50 AND 100000;          -- a macro; the shipped presets are written this way

LET english = FROM 'crawl/*.jsonl.zst'
  |> WHERE lang = 'en' AND lang_score > 0.65
  |> SET text = normalize_newlines(text);

FROM english
  |> WHERE long_enough(text)
  |> WHERE words(text) > 50 AND mean_word_length(text) < 10       -- presets: read them with `curator ops`
  |> DISTINCT ON (text)
  |> EXTEND text_stats(text) AS stats
  |> WHERE stats.words >= 3
  |> SELECT id, text, stats.words AS n_words
  |> INTO 'clean/' WITH (format = 'parquet', max_file_size = '512MB', rejects = 'rejects/');
";

fn query_files() -> Vec<PathBuf> {
    [files("tests/corpus", ".cql"), files("examples", ".cql")].concat()
}

#[test]
fn formatting_again_changes_nothing_and_keeps_comments() {
    let mut sources: Vec<SourceText> = query_files().iter().map(|path| read(path)).collect();
    sources.push(SourceText::new("recipe.cql", WHOLE_RECIPE));
    for source in sources {
        let once = internals::format(&source).unwrap_or_else(|problems| panic!("{}: {problems:?}", source.name()));
        let again = internals::format(&SourceText::new(source.name(), once.as_str())).unwrap();
        assert_eq!(again, once, "{}", source.name());
        let comments = |text: &str| -> Vec<String> {
            let tokens = internals::tokens(text);
            let comments = tokens.iter().filter(|token| token.kind == internals::TokenKind::Comment);
            comments.map(|token| token.text(text).split_whitespace().collect::<Vec<_>>().join(" ")).collect()
        };
        assert_eq!(comments(&once), comments(source.text()), "{}", source.name());
    }
}

#[test]
fn fmt_prints_checks_or_writes() {
    let folder = Folder::new();
    folder.write("recipe.cql", WHOLE_RECIPE);
    let canonical = folder.run(&["fmt", "recipe.cql"]).ok();
    assert_eq!(folder.run_with(&["fmt", "-"], WHOLE_RECIPE).ok(), canonical);
    assert_eq!(folder.read("recipe.cql"), WHOLE_RECIPE);
    folder.write("good.cql", &canonical);
    folder.write("loose.cql", "from 'x.jsonl'   |> select  id");
    assert_eq!(folder.run(&["fmt", "--check", "good.cql"]).ok(), "");
    let told = folder.run(&["fmt", "--check", "good.cql", "loose.cql"]).wrong();
    assert!(told.contains("loose.cql") && !told.contains("good.cql"), "{told}");
    assert_eq!(folder.run(&["fmt", "--write", "loose.cql"]).ok(), "");
    assert_eq!(folder.run(&["fmt", "--check", "loose.cql"]).ok(), "");
    folder.write("broken.cql", "FROM 'x.jsonl' |> SELEC id");
    assert!(folder.run(&["fmt", "broken.cql"]).wrong().contains("broken.cql:1:19"));
}

// ── explain ──

#[test]
fn explain_shows_every_stage_in_every_format() {
    let folder = Folder::new();
    folder
        .write("q.cql", "LET en = FROM 'x.jsonl' |> WHERE lang = 'en'; FROM en |> WHERE words(text) > 1 |> SELECT id;");
    for stage in ["ast", "logical", "optimized", "physical"] {
        for format in ["tree", "json", "dot"] {
            let text = folder.run(&["explain", "q.cql", "--stage", stage, "--format", format]).ok();
            assert!(text.contains("x.jsonl") && text.ends_with('\n'), "{stage} {format}: {text}");
            match format {
                "json" => drop(serde_json::from_str::<Value>(&text).unwrap_or_else(|error| panic!("{error}: {text}"))),
                "dot" => assert!(text.starts_with("digraph") && text.contains("->"), "{stage}: {text}"),
                _ => assert!(text.lines().count() > 2, "{stage}: {text}"),
            }
        }
    }
    assert!(folder.run(&["explain", "-e", "SET strict = true"]).wrong().contains("nothing to explain"));
}

// ── lists and pages ──

#[test]
fn operators_are_listed_described_and_in_the_reference_page() {
    let list = run(&["ops"]).ok();
    let words = run(&["ops", "words"]).ok();
    assert!(list.contains("words(text)") && words.contains("examples"), "{list}{words}");
    assert!(run(&["ops", "wrods"]).wrong().contains("did you mean `words`?"));
    let page = std::fs::read_to_string(root().join("docs/operators.md")).unwrap();
    let message = "docs/operators.md is old: `curator ops --markdown > docs/operators.md`";
    assert!(run(&["ops", "--markdown"]).ok() == page, "{message}");
}

#[test]
fn every_setting_that_is_listed_can_be_set() {
    let list = run(&["settings"]).ok();
    assert!(list.contains("memory_limit"), "{list}");
    for line in list.lines() {
        let mut columns = line.split("  ").map(str::trim).filter(|column| !column.is_empty());
        let (name, value) = (columns.next().unwrap(), columns.next().unwrap());
        // What "auto" stands for cannot be written: it is what holds until the setting is given.
        let value = if (name, value) == ("memory_limit", "auto") { "1GB" } else { value };
        let run = run(&["query", "-q", "-e", &format!("SET {name} = '{value}'")]);
        assert_eq!(run.code, Some(0), "{line}: {}", run.stderr);
    }
}

#[test]
fn help_manual_and_completions_know_every_subcommand() {
    const SUBCOMMANDS: [&str; 11] =
        ["query", "check", "explain", "fmt", "ops", "settings", "verify", "index", "repl", "completions", "man"];
    let pages =
        [&["--help"][..], &["man"], &["completions", "bash"], &["completions", "zsh"], &["completions", "fish"]];
    for arguments in pages {
        let page = run(arguments).ok();
        for name in SUBCOMMANDS {
            assert!(page.contains(name), "{name} in {arguments:?}");
        }
    }
    for name in SUBCOMMANDS {
        assert!(run(&[name, "--help"]).ok().contains("Usage: curator"), "{name}");
    }
    assert_eq!(run(&["--version"]).ok(), format!("curator {}\n", env!("CARGO_PKG_VERSION")));
}

// ── what newcomers write ──

#[test]
fn a_file_or_a_text_is_run_without_the_word_query() {
    let folder = Folder::new();
    folder.write("q.cql", "FROM 'x.jsonl' |> SELECT id |> LIMIT 1");
    assert_eq!(folder.run(&["q.cql", "-q", "--output-format", "csv"]).ok(), "id\n1\n");
    assert_eq!(folder.run(&["-e", "SELECT 1 AS one", "-q", "--output-format", "csv"]).ok(), "one\n1\n");
    // A query in the place of a file.
    for arguments in [&["query", "FROM 'x.jsonl' |> LIMIT 1"][..], &["FROM 'x.jsonl' |> LIMIT 1"]] {
        let told = folder.run(arguments).wrong();
        assert!(told.contains("comes after -e: curator query -e \"FROM 'x.jsonl' |> LIMIT 1\""), "{told}");
    }
    assert!(run(&["qurey", "a.cql"]).wrong().contains("query"));
}

#[test]
fn flags_have_the_names_of_other_tools_and_a_memory_limit_has_a_unit() {
    run(&["query", "-q", "-e", "SELECT 1", "--workers", "2"]).ok();
    for arguments in [&["query", "-e", "SELECT 1", "--memory", "10"][..], &["-e", "SET memory_limit = '10'"]] {
        let told = run(arguments).wrong();
        assert!(told.contains("10 B is too little") && told.contains("'10GB'?"), "{told}");
    }
}

#[test]
fn making_a_table_tells_of_no_documents() {
    let folder = Folder::new();
    let told = folder.run(&["-e", "CREATE TABLE t AS SELECT id FROM 'x.jsonl'; CREATE VIEW v AS SELECT * FROM t"]);
    assert_eq!((told.code, told.stdout.as_str(), told.stderr.as_str()), (Some(0), "", ""));
}

#[test]
fn copy_takes_its_format_in_brackets() {
    let folder = Folder::new();
    folder.run(&["-q", "-e", "COPY (SELECT id, lang FROM 'x.jsonl') TO 'out.data' (FORMAT parquet)"]).ok();
    let query = "FROM 'out.data' WITH (format = 'parquet') |> SELECT id |> LIMIT 2";
    assert_eq!(folder.run(&["-q", "--output-format", "csv", "-e", query]).ok(), "id\n1\n2\n");
}

// ── what people see ──

#[test]
fn columns_are_called_as_they_were_written() {
    let folder = Folder::new();
    let query = "FROM 'x.jsonl' |> SELECT id, words( text ), upper(lang) |> LIMIT 1";
    let csv = folder.run(&["-q", "--output-format", "csv", "-e", query]).ok();
    assert_eq!(csv, "id,words( text ),upper(lang)\n1,4,EN\n");
    let sql = "COPY (SELECT words(text), count(*) FROM 'x.jsonl' GROUP BY words(text) ORDER BY count(*) DESC LIMIT 1) TO 'y.csv'";
    folder.run(&["-q", "-e", sql]).ok();
    assert!(folder.read("y.csv").starts_with("words(text),count(*)\n"), "{}", folder.read("y.csv"));
    // The name can be used.
    let again = "FROM 'x.jsonl' |> SELECT id, words(text) |> WHERE \"words(text)\" > 5 |> SELECT id";
    assert_eq!(folder.run(&["-q", "--output-format", "csv", "-e", again]).ok(), "id\n4\n");
}

#[test]
fn the_funnel_has_columns_and_shows_presets_as_they_were_written() {
    let folder = Folder::new();
    folder.write(
        "q.cql",
        "DEFINE good(t, least => 3) AS words(t) >= least AND t NOT LIKE '%|%';
         LET kept = FROM 'x.jsonl' |> WHERE good(text);
         FROM kept |> SET text = replace(text, 'rain', 'snow') |> WHERE id < 9 |> INTO 'y.jsonl'",
    );
    let told = folder.run(&["q.cql"]).stderr;
    let lines: Vec<String> = told.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(lines[0], "step docs dropped text", "{told}");
    let starts = |text: &str| lines.iter().any(|line| line.starts_with(text));
    assert!(
        starts("'x.jsonl' 4 ")
            && starts("good(text) 2 −2 50.0 %")
            && starts("SET text: 1 changed 2")
            && starts("WHERE id < 9 "),
        "{told}"
    );
    assert!(told.contains("\n    words(text) >= 3"), "{told}");
    assert!(told.lines().all(|line| line.chars().count() <= 80), "{told}");
    assert!(told.contains("warning: dropped nothing: WHERE id < 9"), "{told}");
    let short =
        folder.run(&["--funnel", "short", "-e", "FROM 'x.jsonl' |> WHERE gopher_quality(text) |> SELECT id"]).stderr;
    assert!(short.contains("gopher_quality(text)") && !short.contains("stop_words"), "{short}");
    assert!(short.contains("warning: no document is left: "), "{short}");
}

#[test]
fn a_document_on_which_an_expression_fails_is_set_aside_and_the_run_goes_on() {
    let folder = Folder::new();
    let lines = [
        r#"{"id": 1, "n": 2, "year": "1999"}"#,
        r#"{"id": 2, "n": 0, "year": "2001"}"#,
        r#"{"id": 3, "n": 5, "year": "n/a"}"#,
    ];
    folder.write("z.jsonl", &lines.join("\n"));
    let divide = folder.run(&["--output-format", "csv", "-e", "FROM 'z.jsonl' |> SELECT id, 10 / n AS tenth"]);
    assert_eq!((divide.code, divide.stdout.as_str()), (Some(0), "id,tenth\n1,5\n3,2\n"), "{}", divide.stderr);
    assert!(divide.stderr.contains("set aside 1 line: expression failed 1"), "{}", divide.stderr);
    assert!(divide.stderr.contains("z.jsonl:2: division by zero"), "{}", divide.stderr);
    let query =
        "FROM 'z.jsonl' |> WHERE CAST(year AS INT) > 1990 |> SELECT id |> INTO 'kept.jsonl' WITH (rejects = 'r/')";
    let cast = folder.run(&["-e", query]);
    assert_eq!(
        (cast.code, folder.read("kept.jsonl").as_str()),
        (Some(0), "{\"id\": 1}\n{\"id\": 2}\n"),
        "{}",
        cast.stderr
    );
    let reject = folder.read("r/rejects.jsonl");
    assert!(reject.contains("n/a") && reject.contains("\"line\":3"), "{reject}");
    let strict = folder.run(&["--strict", "-e", "FROM 'z.jsonl' |> SELECT id, 10 / n AS tenth"]);
    assert!(strict.code == Some(1) && strict.stderr.contains("z.jsonl:2: division by zero"), "{}", strict.stderr);
    // What fails on every document is not the documents' fault.
    folder.write("many.jsonl", &"{\"year\": \"x\"}\n".repeat(100));
    let told = folder.run(&["-e", "FROM 'many.jsonl' |> WHERE CAST(year AS INT) > 1990"]).wrong();
    assert!(told.contains("on each of 100 documents in turn"), "{told}");
}

#[test]
fn several_files_are_one_source_and_unions_go_by_name() {
    let folder = Folder::new();
    folder.write("a.jsonl", "{\"id\": 1, \"a\": \"x\"}\n");
    folder.write("b.jsonl", "{\"b\": true, \"id\": 2}\n");
    let csv = |query: &str| folder.run(&["-q", "--output-format", "csv", "-e", query]).ok();
    assert_eq!(csv("FROM 'a.jsonl', 'b.jsonl'"), "id,a,b\n1,x,\n2,,true\n");
    assert_eq!(csv("FROM 'a.jsonl' |> UNION ALL BY NAME 'b.jsonl'"), "id,a,b\n1,x,\n2,,true\n");
    assert_eq!(csv("FROM '{a,b}.jsonl' |> SELECT id"), "id\n1\n2\n");
    assert_eq!(csv("FROM 'a.jsonl', 'b.jsonl' WITH (format = 'jsonl') |> WHERE id > 1 |> SELECT id"), "id\n2\n");
    assert!(folder.run(&["-e", "FROM '{a,c}.jsonl'"]).wrong().contains("c.jsonl"));
}

#[test]
fn a_readme_among_the_data_is_no_data() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path().join("data")).unwrap();
    folder.write("data/part.jsonl", "{\"id\": 1}\n");
    folder.write("data/README.md", "# What this is\n");
    let csv = |query: &str| folder.run(&["-q", "--output-format", "csv", "-e", query]).ok();
    assert_eq!(csv("FROM 'data/'"), "id\n1\n");
    // Texts alone are read as what they are.
    std::fs::create_dir(folder.path().join("texts")).unwrap();
    folder.write("texts/README.md", "one");
    folder.write("texts/b.md", "two");
    assert_eq!(csv("FROM 'texts/' |> AGGREGATE count(*) AS n"), "n\n2\n");
}

#[test]
fn whole_documents_are_shown_one_value_a_line() {
    let folder = Folder::new();
    let query = "FROM 'x.jsonl' |> WHERE id = 3 |> SELECT id, text";
    let vertical = folder.run(&["-q", "--output-format", "vertical", "-e", query]).ok();
    let expected = "─[ row 1 ]──────────────────────────────\nid    3\ntext  one | two, \"three\"\n      four\n";
    assert_eq!(vertical, expected);
    let raw = folder.run(&["-q", "--output-format", "raw", "-e", query]).ok();
    assert_eq!(raw, "3\tone | two, \"three\"\nfour\n");
}

#[test]
fn summarize_tells_of_each_column() {
    let folder = Folder::new();
    for query in ["FROM 'x.jsonl' |> SUMMARIZE", "SUMMARIZE 'x.jsonl'", "SUMMARIZE FROM 'x.jsonl' |> SELECT *"] {
        let csv = folder.run(&["-q", "--output-format", "csv", "-e", query]).ok();
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines[0], "column,type,measured,n,n_null,n_distinct,min,mean,median,p95,max", "{csv}");
        assert!(lines[2].starts_with("lang,text,characters,4,1,2,2.0,2.0,2.0,"), "{csv}");
        assert!(lines[3].starts_with("text,text,characters,4,0,4,10.0,"), "{csv}");
        assert!(lines[4].starts_with("score,a number,value,4,1,3,0.5,0.9167,0.75,"), "{csv}");
        assert!(lines[5].starts_with("tags,a list,items,4,0,,"), "{csv}");
    }
}
