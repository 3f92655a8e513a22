//! Operators that hold a model: opened when the query is bound, prepared once, run on batches of their own size.

mod encoders;
mod fasttext;
mod language;
mod lexicon;
mod tokens;

use curator::{Config, Error};
use lexicon::Bench;
use std::sync::atomic::Ordering::Relaxed;

const DOCS: &str = "{\"id\":1,\"text\":\"tree tree river\"}\n{\"id\":2,\"text\":null}\n{\"id\":3,\"text\":\"river\"}\n";

fn bench() -> Bench {
    let bench = Bench::new(Config::default());
    bench.write("docs.jsonl", DOCS);
    bench
}

#[test]
fn the_type_of_a_call_is_what_its_files_say_and_a_null_stays_null() {
    let mut bench = bench();
    let query =
        "FROM 'DIR/docs.jsonl' |> SELECT id, counts(text, 'DIR/words') AS n, label(text, path => 'DIR/words') AS l";
    let expected = "{\"id\":1,\"n\":[2.0,1.0],\"l\":\"tree\"}\n{\"id\":2,\"n\":null,\"l\":null}\n{\"id\":3,\"n\":[0.0,1.0],\"l\":\"river\"}\n";
    assert_eq!(bench.rows(query), expected);
    // Once for each operator, however often the planner asks.
    assert_eq!(bench.seen.opened.load(Relaxed), 2);
    bench.write("words", "river\n");
    assert!(bench.rows(query).starts_with("{\"id\":1,\"n\":[1.0],\"l\":\"river\"}"), "a changed file is opened again");
}

#[test]
fn a_file_that_is_missing_or_wrong_is_a_mistake_at_the_call() {
    let mut bench = bench();
    bench.write("empty", "");
    let cases = [
        ("counts(text, 'DIR/none')", "none: there is no such file (words of a model)"),
        ("label(text, 'DIR/empty')", "empty: a lexicon without a word"),
        ("label(id, 'DIR/words')", "`label` reads text, and `text` is Int64"),
        ("label(text, text)", "`label`: `path` decides what is opened; write it as a constant or a $parameter"),
        ("label(text)", "`label` needs `path`, the list"),
    ];
    for (call, expected) in cases {
        let Err(Error::Query(problems)) = bench.run(&format!("FROM 'DIR/docs.jsonl' |> EXTEND {call} AS x")) else {
            panic!("{call}: no mistake of the query")
        };
        let shown = curator::diag::render(&problems[0], false);
        assert!(shown.contains(expected), "{call}\n{shown}");
        assert!(shown.contains("query:1:"), "{call}\n{shown}");
    }
}

#[test]
fn the_files_of_a_model_are_part_of_the_name_of_a_run_and_stand_in_the_manifest() {
    let mut bench = bench();
    let mut run = |out: &str| {
        bench
            .run(&format!("FROM 'DIR/docs.jsonl' |> WHERE label(text, 'DIR/words') = 'tree' |> INTO 'DIR/{out}/'"))
            .unwrap();
        let manifest = std::fs::read_to_string(bench.folder.path().join(out).join("_manifest.json")).unwrap();
        let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
        (manifest["run"].to_string(), manifest["models"].clone())
    };
    let (first, models) = run("a");
    assert_eq!(models[0]["role"], "words", "{models}");
    assert_eq!(models[0]["n_bytes"], 11, "{models}");
    assert_eq!(run("b").0, first, "the same query with the same model is the same run");
    std::fs::write(bench_path(&models), "tree\nmountain\n").unwrap();
    assert_ne!(run("c").0, first, "another model is another run");
}

fn bench_path(models: &serde_json::Value) -> String {
    models[0]["path"].as_str().unwrap().to_string()
}
