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
