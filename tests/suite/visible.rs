//! What a query, a file's name or a value says is shown to a person and never obeyed by the terminal, in messages that stay
//! short; and what the system refuses is no bug of curator's.

use super::cli::{Folder, Run};
use std::os::unix::fs::PermissionsExt;

/// Turns the text red, as far as a terminal obeys it.
const ESCAPE: char = '\u{1b}';

fn query(folder: &Folder, text: &str) -> Run {
    folder.run(&["query", "-e", text])
}

#[test]
fn no_message_holds_what_a_terminal_obeys() {
    let folder = Folder::new();
    let name = format!("a{ESCAPE}[31m.jsonl");
    folder.write(&name, "{\"id\": 1, \"te\\u001bxt\": \"\\u001b[31mred\\u009b\"}\n{\"id\": 2, bro\u{1b}ken\n");
    let column = format!("\"te{ESCAPE}xt\"");
    let from = format!("FROM 'a*.jsonl' |> WHERE {column} <> '{ESCAPE}[32m'");
    for arguments in [
        vec!["query".into(), "-e".into(), from.clone()],
        vec!["query".into(), "-e".into(), format!("EXPLAIN ANALYZE {from}")],
        vec!["query".into(), "-e".into(), format!("{from} |> INTO 'y{ESCAPE}.jsonl' WITH (rejects = 'r{ESCAPE}/')")],
        vec!["query".into(), "-e".into(), format!("{from} |> EXTEND cast({column} AS int) AS n")],
        vec!["query".into(), "-e".into(), format!("{from} AND foo > 1")],
        vec!["query".into(), "-e".into(), format!("FROM 'no{ESCAPE}thing.jsonl'")],
        vec!["query".into(), format!("no{ESCAPE}query.cql")],
        vec!["verify".into(), format!("no{ESCAPE}output")],
    ] {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let run = folder.run(&arguments);
        for shown in [run.stdout, run.stderr] {
            let obeyed = |character: &char| character.is_control() && *character != '\n';
            assert_eq!(shown.chars().find(obeyed), None, "{arguments:?}: {shown:?}");
        }
    }
}

#[test]
fn a_long_line_is_shown_about_the_place_that_is_meant() {
    let folder = Folder::new();
    let list = (0..10_000).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    let before = format!("FROM 'x.jsonl' |> WHERE id IN ({list}) AND ");
    folder.write("wrong.cql", &format!("{before}foo = 1 |> WHERE id IN ({list})"));
    let told = folder.run(&["query", "wrong.cql"]).wrong();
    let place = format!("wrong.cql:1:{} ]", before.len() + 1);
    assert!(told.len() < 5_000, "{} bytes", told.len());
    assert!(told.contains("no column `foo`") && told.contains(&place) && told.contains("AND foo = 1 |>"), "{told}");
    // A failing condition, a step of the funnel and a location are named too.
    folder.write("fails.cql", &format!("{before}cast(text AS int) > 1"));
    folder.write("right.cql", &format!("{before}true"));
    folder.write("nothing.cql", &format!("FROM '{}'", "x".repeat(100_000)));
    for (arguments, code) in [
        (&["query", "fails.cql"][..], 0),
        (&["query", "--strict", "fails.cql"], 1),
        (&["query", "right.cql"], 0),
        (&["query", "nothing.cql"], 1),
    ] {
        let run = folder.run(arguments);
        assert!(run.code == Some(code) && run.stderr.len() < 5_000, "{arguments:?}: {}", run.stderr);
    }
}

#[test]
fn a_regular_expression_that_is_too_large_is_a_mistake_of_the_query() {
    let folder = Folder::new();
    for condition in ["text ~ '(a{1000}){1000}'", "text !~* '(a{1000}){1000}'", "regexp_like(text, '(a{1000}){1000}')"]
    {
        let told = query(&folder, &format!("FROM 'x.jsonl' |> WHERE {condition}")).wrong();
        assert!(told.contains("takes more than 10 MB") && !told.contains("bug"), "{condition}: {told}");
    }
}

#[test]
fn threads_that_the_system_refuses_are_no_bug() {
    let folder = Folder::new();
    let plain = folder.command(&["query", "-q", "--threads", "2000", "-e", "FROM 'x.jsonl'"]);
    let mut limited = std::process::Command::new("sh");
    // Stacks of 16 MB for 2,000 threads are more.
    limited.args(["-c", "ulimit -v 8000000 && exec \"$0\" \"$@\""]).arg(plain.get_program()).args(plain.get_args());
    let ended = limited.current_dir(folder.path()).env_remove("RUST_BACKTRACE").output().unwrap();
    let told = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{told}");
    assert!(told.contains("does not let this process start") && told.contains("--threads"), "{told}");
}

#[test]
fn rejects_can_be_read_by_whoever_can_read_the_output() {
    let folder = Folder::new();
    folder.write("in.jsonl", "{\"id\": 1}\n{broken\n");
    query(&folder, "FROM 'in.jsonl' |> INTO 'out.jsonl' WITH (rejects = 'r/')").ok();
    let mode = |name: &str| std::fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("r/rejects.jsonl"), mode("out.jsonl"));
    assert_eq!(mode("out.jsonl"), mode("in.jsonl"));
}

#[test]
fn what_rows_are_told_apart_by_may_be_named_twice() {
    let folder = Folder::new();
    let count = |verb: &str| {
        let text = format!("FROM 'x.jsonl' |> {verb} |> AGGREGATE count(*) AS n");
        folder.run(&["query", "-q", "--output-format", "csv", "-e", &text]).ok()
    };
    assert_eq!(count("DISTINCT ON (lang, lang)"), count("DISTINCT ON (lang)"));
    assert_eq!(count("DEDUP EXACT ON (lang, lang)"), count("DEDUP EXACT ON lang"));
}
