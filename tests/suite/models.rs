//! Operators that hold a model: opened when the query is bound, prepared once, run on batches of their own size.

mod encoders;
mod fasttext;
mod language;
mod lexicon;
#[path = "../../examples/own_model.rs"]
#[allow(dead_code, reason = "its main is run by its reader")]
mod own_model;
mod tokens;

use curator::internals::Attempt;
use curator::{Config, Error};
use lexicon::{Bench, Habits};
use std::num::NonZeroUsize;
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

/// Documents 0 to n-1; every fiftieth is about trees, every third in German.
fn write_many(bench: &Bench, n_docs: usize) {
    let lines = (0..n_docs).map(|id| {
        let text = if id % 50 == 0 { "tree tree river" } else { "river" };
        let lang = if id % 3 == 0 { "de" } else { "en" };
        format!("{{\"id\":{id},\"lang\":\"{lang}\",\"text\":\"{text} {}\"}}\n", "word ".repeat(id % 7))
    });
    bench.write("many.jsonl", &lines.collect::<String>());
}

fn many(config: Config, habits: Habits, n_docs: usize) -> Bench {
    let bench = Bench::with_habits(config, habits);
    write_many(&bench, n_docs);
    bench
}

fn threads(n: usize) -> Config {
    Config { threads: NonZeroUsize::new(n).unwrap(), ..Config::default() }
}

fn batches_of(rows: usize) -> Habits {
    Habits { batch_rows: rows, ..Habits::default() }
}

#[test]
fn a_filter_that_keeps_two_percent_leaves_full_batches() {
    let config = Config { batch_rows: NonZeroUsize::new(100).unwrap(), ..threads(1) };
    let mut bench = many(config, batches_of(20), 5000);
    let query = "FROM 'DIR/many.jsonl' |> WHERE text LIKE 'tree%' |> SELECT id, label(text, 'DIR/words') AS l";
    bench.rows(query);
    assert_eq!(bench.seen.sizes(), [20; 5]);
    let analyzed = bench.analyzed(query);
    assert!(analyzed.contains("batches 5  of 20 rows each, 100 % full"), "{analyzed}");
}

#[test]
fn a_model_runs_after_the_cheaper_rules_that_stand_behind_it() {
    let bench = &mut many(threads(2), Habits::default(), 10);
    let plan = bench.explained(
        "FROM 'DIR/many.jsonl' |> WHERE label(text, 'DIR/words') = 'tree' |> WHERE words(text) > 2 AND lang = 'en'
         |> SELECT id, label(text, 'DIR/words') AS l, counts(text, 'DIR/words') AS n, words(text) AS w",
    );
    let at = |what: &str| plan.find(what).unwrap_or_else(|| panic!("no {what} in\n{plan}"));
    // Nodes stand below those that they give rows to.
    assert!(at("│ label(text, 'DIR/words') = 'tree'") < at("ModelExec: "), "{plan}");
    assert!(at("ModelExec: ") < at("│ words(text) > 2") && at("ModelExec: ") < at("│ lang = 'en'"), "{plan}");
    assert!(at("a lexicon of 2 words  together   cpu: it has no code for a GPU") > at("ModelExec: "), "{plan}");
    assert!(plan.contains("batches of 1024 rows or 4.2 MB") && plan.contains("about 1.0 ms a row"), "{plan}");
    assert_eq!(plan.matches("ModelExec: ").count(), 1, "both models run in one node\n{plan}");
}

#[test]
fn equal_calls_are_computed_once_and_calls_that_share_their_work_together() {
    let mut bench = many(threads(1), Habits::default(), 100);
    bench.rows(
        "FROM 'DIR/many.jsonl' |> WHERE label(text, 'DIR/words') IS NOT NULL
         |> SELECT id, label(text, 'DIR/words') AS a, label(text, 'DIR/words') AS b, counts(text, 'DIR/words') AS n",
    );
    assert_eq!(*bench.seen.batches.lock().unwrap(), [(100, 2)], "both models, all rows, once");
    assert_eq!(bench.seen.prepared.load(Relaxed), 1);
}

#[test]
fn a_call_that_is_guarded_is_computed_for_the_rows_that_need_it() {
    let mut bench = many(threads(1), Habits::default(), 300);
    let label = "label(text, 'DIR/words')";
    for (expr, expected_rows) in [
        (format!("CASE WHEN lang = 'de' THEN {label} ELSE 'none' END"), 100),
        (format!("CASE lang WHEN 'en' THEN 'none' ELSE {label} END"), 100),
        (format!("lang = 'de' AND {label} = 'tree'"), 100),
        (format!("lang = 'en' OR {label} = 'tree'"), 100),
        (format!("coalesce(CASE WHEN lang = 'en' THEN 'none' END, {label})"), 100),
        (format!("CASE WHEN lang = 'de' AND id % 2 = 0 THEN CASE WHEN id < 30 THEN {label} END END"), 5),
    ] {
        bench.seen.forget();
        let query = format!("FROM 'DIR/many.jsonl' |> SELECT id, {expr} AS x");
        let rows = bench.rows(&query);
        assert_eq!(rows.lines().count(), 300, "{expr}");
        assert_eq!(bench.seen.n_rows(), expected_rows, "{expr}");
        assert!(rows.starts_with("{\"id\":0,\"x\":\"tree\"}") || rows.starts_with("{\"id\":0,\"x\":true}"), "{rows}");
    }
    // A condition that fails where its guard does not hold.
    bench.seen.forget();
    let query = format!(
        "FROM 'DIR/many.jsonl' |> SELECT CASE WHEN id % 3 = 0 THEN 'x' WHEN 9 / (id % 3) > 5 THEN {label} END AS x"
    );
    bench.rows(&query);
    assert_eq!(bench.seen.n_rows(), 100);
}

#[test]
fn models_stand_wherever_expressions_do() {
    let mut bench = many(threads(2), batches_of(16), 200);
    bench.write("other.jsonl", "{\"word\":\"tree\",\"n\":1}\n{\"word\":\"river\",\"n\":2}\n");
    let l = "label(text, 'DIR/words')";
    for (query, expected) in [
        (format!("FROM d |> ORDER BY {l} DESC, id |> LIMIT 3 |> SELECT id"), "{\"id\":0}\n{\"id\":50}\n{\"id\":100}\n"),
        (
            format!("FROM d |> AGGREGATE count(*) AS n GROUP BY {l} AS l |> ORDER BY n"),
            "{\"l\":\"tree\",\"n\":4}\n{\"l\":\"river\",\"n\":196}\n",
        ),
        (format!("FROM d |> AGGREGATE count({l}) AS n, max({l}) AS m"), "{\"n\":200,\"m\":\"tree\"}\n"),
        (format!("FROM d |> DEDUP EXACT ON {l} |> SELECT id"), "{\"id\":0}\n{\"id\":1}\n"),
        (
            format!("FROM d |> SET text = {l} |> WHERE text = 'tree' |> SELECT id |> LIMIT 2"),
            "{\"id\":0}\n{\"id\":50}\n",
        ),
        (
            format!("FROM d |> WHERE id = 50 |> UNION ALL (FROM d |> WHERE {l} = 'tree' AND id > 100) |> SELECT id"),
            "{\"id\":50}\n{\"id\":150}\n",
        ),
        (
            format!(
                "FROM d |> JOIN 'DIR/other.jsonl' AS o ON {l} = o.word |> WHERE id < 2 |> SELECT id, n |> ORDER BY id"
            ),
            "{\"id\":0,\"n\":1}\n{\"id\":1,\"n\":2}\n",
        ),
        (
            format!(
                "FROM d |> WHERE id < 3 |> SELECT id, row_number() OVER (PARTITION BY {l} ORDER BY id) AS r |> ORDER BY id"
            ),
            "{\"id\":0,\"r\":1}\n{\"id\":1,\"r\":1}\n{\"id\":2,\"r\":2}\n",
        ),
        (
            "FROM d |> AGGREGATE avg(CASE WHEN lang = 'de' THEN counts(text, 'DIR/words')[1] END) AS a".to_string(),
            "{\"a\":0.05970149253731343}\n",
        ),
        ("SELECT label('a tree', 'DIR/words') AS l".to_string(), "{\"l\":\"tree\"}\n"),
    ] {
        let query = query.replace("FROM d", "FROM 'DIR/many.jsonl'");
        for optimize in ["true", "false"] {
            let outcomes = bench.run(&format!("SET optimize = {optimize}; {query}"));
            let rows = outcomes.unwrap_or_else(|error| panic!("{query}: {error}")).pop().unwrap().rows();
            assert_eq!(rows, expected, "{query}, optimize = {optimize}");
        }
    }
}

#[test]
fn rows_do_not_depend_on_threads_batches_and_rules() {
    let query = "FROM 'DIR/*.jsonl' |> WHERE words(text) > 1 AND label(text, 'DIR/words') = 'river'
                 |> EXTEND CASE WHEN lang = 'de' THEN label(text, 'DIR/words') END AS l
                 |> WHERE counts(text, 'DIR/words')[2] > 0 |> SELECT id, l, counts(text, 'DIR/words') AS n";
    let mut expected: Option<String> = None;
    let small = |n| NonZeroUsize::new(n).unwrap();
    for (n_threads, batch_rows, wanted) in [(1, 8192, 1024), (4, 8192, 1024), (4, 7, 5), (1, 3, 1), (3, 100, 33)] {
        for left_out in ["", "SET optimize = false;", "SET fusion = false;", "SET disabled_rules = 'OnePass';"] {
            let config = Config { batch_rows: small(batch_rows), block_bytes: small(4096), ..threads(n_threads) };
            let mut bench = many(config, batches_of(wanted), 1000);
            write_many(&bench, 400);
            let rows = bench.rows(&format!("{left_out} {query}"));
            assert!(rows.lines().count() > 300);
            let expected = expected.get_or_insert_with(|| rows.clone());
            assert_eq!(&rows, expected, "{n_threads} threads, {batch_rows} rows, {left_out}");
        }
    }
}

#[test]
fn all_threads_use_one_copy_of_a_model() {
    let config = Config { block_bytes: NonZeroUsize::new(1000).unwrap(), ..threads(4) };
    let mut bench = many(config, batches_of(10), 2000);
    bench.rows("FROM 'DIR/many.jsonl' |> SELECT label(text, 'DIR/words') AS l");
    assert_eq!(bench.seen.prepared.load(Relaxed), 1);
    assert_eq!(bench.seen.n_rows(), 2000);
}

#[test]
fn what_a_model_does_not_take_goes_to_the_rejects_with_its_line() {
    let mut bench = Bench::new(threads(2));
    let doc = |id: usize, text: &str| format!("{{\"id\":{id},\"text\":\"{text}\"}}\n");
    let docs = [doc(1, "tree"), "broken\n".into(), doc(2, "REFUSE this"), doc(3, "PANIC now"), doc(4, "river")];
    bench.write("docs.jsonl", &docs.concat());
    let query = "FROM 'DIR/docs.jsonl' |> EXTEND label(text, 'DIR/words') AS l |> INTO 'DIR/out/' WITH (rejects = 'DIR/rejects/')";
    let outcome = bench.run(query).unwrap().pop().unwrap();
    let rejects = std::fs::read_to_string(bench.folder.path().join("rejects/rejects.jsonl")).unwrap();
    let rejects: Vec<serde_json::Value> = rejects.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let shown: Vec<String> =
        rejects.iter().map(|reject| format!("{} {}", reject["line"], reject["reason"].as_str().unwrap())).collect();
    let refused =
        "3 `label(text, 'DIR/words')`: it says REFUSE".replace("DIR", &bench.folder.path().display().to_string());
    assert_eq!(shown[1], refused, "{shown:?}");
    assert!(shown[2].starts_with("4 an operator failed on this document: a document with PANIC in it"), "{shown:?}");
    assert!(rejects[1]["raw"].as_str().unwrap().contains("REFUSE this"), "{}", rejects[1]);
    let report = &outcome.report;
    assert_eq!((report.rows_out, report.rejected.len()), (2, 3), "{report:?}");
    let aside = report.steps.iter().find(|step| step.label.starts_with("set aside")).unwrap();
    assert_eq!((aside.rows_in, aside.rows_out), (4, 2), "{report:?}");
    // In strict mode the first ends the run.
    bench.write("refused.jsonl", &doc(1, "REFUSE this"));
    let query = query.replace("docs.jsonl", "refused.jsonl").replace("DIR/out/", "DIR/strict/out/");
    let query = query.replace("DIR/rejects/", "DIR/strict/rejects/");
    let strict = bench.run(&format!("SET strict = true; {query}")).err().unwrap().to_string();
    assert!(strict.contains("refused.jsonl:1: ") && strict.contains("it says REFUSE"), "{strict}");
}

#[test]
fn what_a_model_holds_and_works_with_is_claimed_from_the_memory_of_the_query() {
    let limited = Config { memory_limit_bytes: Some(100_000_000), ..threads(1) };
    let mut bench = many(limited.clone(), Habits { held_bytes: 500_000_000, ..Habits::default() }, 100);
    let query = "FROM 'DIR/many.jsonl' |> SELECT id, label(text, 'DIR/words') AS l";
    let refused = bench.run(query).err().unwrap().to_string();
    assert!(refused.contains("holds 500.0 MB (a lexicon of 2 words), and the memory limit leaves less"), "{refused}");
    let mut bench = many(limited, Habits { work_bytes_per_row: 1_000_000, ..Habits::default() }, 100);
    assert_eq!(bench.rows(query).lines().count(), 100);
    assert!(bench.seen.sizes().iter().all(|n_rows| *n_rows <= 50), "{:?}", bench.seen.sizes());
    let analyzed = bench.analyzed(query);
    assert!(analyzed.contains("halved for memory "), "{analyzed}");
}

#[test]
fn a_run_that_insists_on_a_gpu_refuses_a_model_that_has_no_code_for_one() {
    let config = Config { require_gpu: true, ..threads(1) };
    let mut bench = many(config, Habits::default(), 10);
    let refused = bench.run("FROM 'DIR/many.jsonl' |> SELECT label(text, 'DIR/words') AS l").err().unwrap();
    assert!(refused.to_string().contains("would run on the CPU: it has no code for a GPU"), "{refused}");
}

#[test]
fn the_query_says_how_many_rows_a_batch_has() {
    let mut bench = many(threads(1), Habits::default(), 100);
    bench.rows("FROM 'DIR/many.jsonl' |> SELECT label(text, 'DIR/words') AS l WITH (batch_size = 25)");
    assert_eq!(bench.seen.sizes(), [25; 4]);
}

#[test]
fn a_run_that_failed_goes_on_and_computes_no_kept_row_again() {
    let config = Config { block_bytes: NonZeroUsize::new(4096).unwrap(), ..threads(1) };
    let query =
        "SET checkpoint = 'on'; FROM 'DIR/many.jsonl' |> WHERE label(text, 'DIR/words') = 'river' |> INTO 'DIR/out/'";
    let mut bench = many(config.clone(), Habits::default(), 1000);
    bench.run(query).unwrap();
    let bytes = |bench: &Bench| {
        let mut parts = std::fs::read_dir(bench.folder.path().join("out")).unwrap().map(|entry| entry.unwrap().path());
        let part = parts.find(|path| path.display().to_string().contains("part-00000")).unwrap();
        std::fs::read(part).unwrap()
    };
    let expected = bytes(&bench);
    let all = bench.seen.sizes();
    assert!(all.len() > 5, "{all:?}");

    let mut bench = many(config.clone(), Habits::default(), 1000);
    bench.seen.fails_after.store(10, Relaxed);
    let failed = bench.run(query).err().unwrap().to_string();
    assert!(failed.contains("the lexicon burned down"), "{failed}");
    bench.seen.forget();
    bench.seen.fails_after.store(0, Relaxed);
    bench.start_again(Config { attempt: Attempt::Resume, ..config });
    bench.run(query).unwrap();
    assert!(bytes(&bench) == expected, "the bytes are those of a run that was not stopped");
    assert!(bench.seen.n_rows() < 700, "{:?}", bench.seen.sizes());
}

#[test]
fn the_operator_of_the_example_asks_its_table_and_sets_aside_what_has_no_site() {
    let mut bench = Bench::new(threads(1));
    bench.session.register(own_model::site_standing()).unwrap();
    bench.write("sites.tsv", "example.org\t0.9\nspam.example\t0.1\n");
    bench.write(
        "pages.jsonl",
        "{\"url\":\"https://example.org/a\"}\n{\"url\":\"https://spam.example/b\"}\n{\"url\":\"nowhere\"}\n{\"url\":null}\n",
    );
    let query = "FROM 'DIR/pages.jsonl' |> SELECT url, site_standing(url, 'DIR/sites.tsv') AS standing";
    let outcome = bench.run(query).unwrap().pop().unwrap();
    let rows = "{\"url\":\"https://example.org/a\",\"standing\":0.9}\n{\"url\":\"https://spam.example/b\",\"standing\":0.1}\n\
                {\"url\":null,\"standing\":null}\n";
    assert_eq!(outcome.rows(), rows);
    let aside = &outcome.report.rejected_examples[0];
    assert!(aside.contains("pages.jsonl:3: ") && aside.ends_with("its address has no site"), "{aside}");
    bench.write("sites.tsv", "example.org 0.9\n");
    let broken = bench.run(query).err().unwrap().to_string();
    assert!(broken.contains("sites.tsv:1: not a site, a tab and a number"), "{broken}");
}

#[test]
fn a_session_says_which_models_a_plan_uses() {
    let mut bench = bench();
    let models = bench.models(
        "FROM 'DIR/docs.jsonl' |> WHERE label(text, 'DIR/words') = 'tree' |> SELECT label(text, 'DIR/words') AS l",
    );
    let [only] = &models[..] else { panic!("{models:?}") };
    assert_eq!(only.call.replace(&bench.folder.path().display().to_string(), "DIR"), "label('DIR/words')");
    assert_eq!((only.facts.title.as_str(), only.files[0].n_bytes), ("a lexicon of 2 words", 11));
}
