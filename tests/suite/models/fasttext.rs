//! `fasttext` and `fasttext_score` in queries: the values of the reference, one reading of a text, and files that are no models.

use super::lexicon::Bench;
use crate::suite::harness::root;
use curator::{Config, Error};
use serde_json::Value;
use std::num::NonZeroUsize;

const FOLDER: &str = "tests/models/fasttext";

fn model(name: &str) -> String {
    root().join(FOLDER).join(name).display().to_string()
}

fn bench() -> Bench {
    Bench::new(Config::default())
}

fn json(rows: &str) -> Vec<Value> {
    rows.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What the reference says of the lines with a model.
fn expected(model: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(root().join(FOLDER).join("expected.jsonl")).unwrap();
    json(&text).into_iter().filter(|record| record["model"] == model).collect()
}

#[test]
fn labels_and_scores_are_those_of_the_reference() {
    for name in ["softmax.bin", "softmax_pruned.ftz", "tree.ftz", "one_vs_all.bin"] {
        let mut bench = bench();
        let expected = expected(name);
        let lines: String = expected.iter().map(|record| format!("{record}\n")).collect();
        bench.write("lines.jsonl", &lines);
        let path = model(name);
        let query = format!(
            "FROM 'DIR/lines.jsonl' |> EXTEND fasttext(line, '{path}', k => 4) AS found \
             |> SELECT found['label'] AS label, found['score'] AS score, found['top'] AS found_top, top"
        );
        let rows = json(&bench.rows(&query));
        assert_eq!(rows.len(), expected.len());
        for (row, expected) in rows.iter().zip(&expected) {
            let wanted = expected["top"].as_array().unwrap();
            let found = row["found_top"].as_array().unwrap();
            assert_eq!(found.len(), wanted.len(), "{name}: {expected}");
            for (found, wanted) in found.iter().zip(wanted) {
                assert_eq!(found["label"], wanted[0], "{name}: {expected}");
                assert!((found["score"].as_f64().unwrap() - wanted[1].as_f64().unwrap()).abs() < 1e-5);
            }
            let (label, score) = wanted.first().map_or((&Value::Null, None), |best| (&best[0], best[1].as_f64()));
            assert_eq!(&row["label"], label, "{name}: {expected}");
            assert_eq!(row["score"].as_f64().is_some(), score.is_some());
        }
    }
}

#[test]
fn the_score_of_a_label_is_what_the_list_of_all_has() {
    let mut bench = bench();
    bench.write("docs.jsonl", "{\"text\":\"karo mi\"}\n{\"text\":null}\n{\"text\":\"néça\\nkaro\"}\n");
    for name in ["softmax.bin", "tree.bin", "one_vs_all.bin"] {
        let path = model(name);
        let query = format!(
            "FROM 'DIR/docs.jsonl' |> SELECT fasttext_score(text, '{path}', '0_0') AS by_name, \
             fasttext_score(text, '{path}', '__label__0_0') AS by_long_name, fasttext(text, '{path}', k => 100)['top'] AS found"
        );
        let rows = json(&bench.rows(&query));
        assert!(rows[1]["by_name"].is_null() && rows[1]["found"].is_null(), "{name}: {}", rows[1]);
        for row in [&rows[0], &rows[2]] {
            let found = row["found"].as_array().unwrap().iter().find(|found| found["label"] == "0_0");
            let expected = found.map_or(Value::from(0.0), |found| found["score"].clone());
            assert_eq!(row["by_name"], expected, "{name}");
            assert_eq!(row["by_long_name"], expected, "{name}");
        }
    }
}

#[test]
fn line_feeds_become_what_the_call_says() {
    let mut bench = bench();
    bench.write("docs.jsonl", "{\"lines\":\"ka\\nro\",\"space\":\"ka ro\",\"joined\":\"karo\",\"first\":\"ka\",\"wide\":\"\\u3000ka ro\\u00a0\"}\n");
    let path = model("softmax.bin");
    let query = format!(
        "FROM 'DIR/docs.jsonl' |> SELECT \
         fasttext(lines, '{path}')['score'] = fasttext(space, '{path}')['score'] AS a, \
         fasttext(lines, '{path}', newlines => 'remove')['score'] = fasttext(joined, '{path}')['score'] AS b, \
         fasttext(lines, '{path}', newlines => 'cut')['score'] = fasttext(first, '{path}')['score'] AS c, \
         fasttext(wide, '{path}')['score'] = fasttext(space, '{path}')['score'] AS d, \
         fasttext(wide, '{path}', strip => true)['score'] = fasttext(space, '{path}')['score'] AS e, \
         fasttext(lines, '{path}')['score'] = fasttext(first, '{path}')['score'] AS f"
    );
    assert_eq!(bench.rows(&query), "{\"a\":true,\"b\":true,\"c\":true,\"d\":false,\"e\":true,\"f\":false}\n");
}

#[test]
fn what_is_no_model_or_has_no_such_label_is_a_mistake_at_the_call() {
    let mut bench = bench();
    bench.write("docs.jsonl", "{\"text\":\"karo\"}\n");
    let whole = std::fs::read(model("tree.bin")).unwrap();
    std::fs::write(bench.folder.path().join("cut.bin"), &whole[..whole.len() / 2]).unwrap();
    std::fs::write(bench.folder.path().join("archive.ftz"), b"PK\x03\x04 and so on").unwrap();
    std::fs::write(bench.folder.path().join("empty.bin"), b"").unwrap();
    let good = model("one_vs_all.bin");
    let cases = [
        ("fasttext(text, 'DIR/none.bin')", "none.bin: there is no such file"),
        ("fasttext(text, 'DIR')", "this is no file"),
        ("fasttext(text, 'DIR/empty.bin')", "empty.bin: this is no fastText model"),
        (
            "fasttext(text, 'DIR/archive.ftz')",
            "archive.ftz: this is no fastText model: `.bin` and `.ftz` files begin with other bytes",
        ),
        (
            "fasttext(text, 'DIR/cut.bin')",
            "cut.bin: the file ends within its input matrix: it is damaged, or was not copied to its end",
        ),
        ("lang(text, model => 'DIR/cut.bin')", "cut.bin: the file ends within its input matrix"),
        (&format!("fasttext_score(text, '{good}', '0_1')"), "the model has no label `0_1`; did you mean `0_0`?"),
        (&format!("fasttext(text, '{good}', k => 0)"), "`k` is a whole number from 1 to 1000000, not 0"),
        (&format!("fasttext(text, '{good}', newlines => 'keep')"), "`newlines` is one of 'space', 'remove', 'cut'"),
    ];
    for (call, expected) in cases {
        let Err(Error::Query(problems)) = bench.run(&format!("FROM 'DIR/docs.jsonl' |> EXTEND {call} AS x")) else {
            panic!("{call}: no mistake of the query")
        };
        let shown = curator::diag::render(&problems[0], false);
        assert!(shown.contains(expected) && shown.contains("query:1:"), "{call}\n{shown}");
    }
}

#[test]
fn values_do_not_depend_on_threads_and_batches() {
    let docs: String =
        (0..700).map(|i| format!("{{\"text\":\"karo {} mi néça {i}\"}}\n", "tel os ".repeat(i % 7))).collect();
    let path = model("softmax.bin");
    let query = format!("FROM 'DIR/docs.jsonl' |> SELECT fasttext(text, '{path}', k => 3) AS found");
    let mut seen = Vec::new();
    for (threads, batch_rows) in [(1, 8192), (4, 8192), (4, 7)] {
        let mut bench = Bench::new(Config {
            threads: NonZeroUsize::new(threads).unwrap(),
            batch_rows: NonZeroUsize::new(batch_rows).unwrap(),
            ..Config::default()
        });
        bench.write("docs.jsonl", &docs);
        seen.push(bench.rows(&query));
    }
    assert!(seen[0].lines().count() == 700 && seen.iter().all(|rows| *rows == seen[0]));
}
