//! The drop ledger: no document is lost, and each dropped one says why.

use super::harness::{Outcome, block_on, run};
use curator::diag::SourceText;
use curator::{Config, Error};
use curator::{Language, Session};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;

/// Three shards of documents of 0 to 99 words, with an n that is 0 for every seventh.
fn write_shards(folder: &Path) {
    for shard in 0..3 {
        let lines = (0..100).map(|i| {
            let id = shard * 100 + i;
            let text = "word ".repeat(id * 37 % 100);
            let text = if id % 11 == 0 { Value::Null } else { json!(text.trim_end()) };
            format!(
                "{}\n",
                json!({ "id": id, "n": id % 7, "lang": if id % 5 == 0 { "de" } else { "en" }, "text": text })
            )
        });
        std::fs::write(folder.join(format!("{shard}.jsonl")), lines.collect::<String>()).unwrap();
    }
}

fn curate(folder: &Path, rules: &str, options: &str, config: Config) -> Result<Vec<Outcome>, Error> {
    let folder = folder.display();
    let query = format!(
        "FROM '{folder}/*.jsonl' {rules} |> INTO '{folder}/out/' WITH (rejects = '{folder}/rejects/', overwrite = true{options})"
    );
    let source = SourceText::new("query", query);
    block_on(async { run(&mut Session::new(config).unwrap(), &source, Language::Cql).await })
}

const RULES: &str = "|> WHERE lang = 'en' |> SET text = normalize_newlines(text) |> WHERE words(text) BETWEEN 20 AND 80 \
                     |> EXTEND words(text) AS size |> SELECT id, size";

fn unpacked(folder: &Path) -> String {
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "zst"));
    files.sort();
    files
        .iter()
        .map(|path| String::from_utf8(zstd::decode_all(std::fs::File::open(path).unwrap()).unwrap()).unwrap())
        .collect()
}

fn lines(folder: &Path) -> Vec<Value> {
    unpacked(folder).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_document_is_in_the_output_or_in_the_ledger_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    write_shards(folder.path());
    let outcomes = curate(folder.path(), RULES, "", Config::default()).unwrap();
    let kept: Vec<u64> = lines(&folder.path().join("out")).iter().map(|row| row["id"].as_u64().unwrap()).collect();
    let dropped = lines(&folder.path().join("rejects/dropped"));
    let mut all: Vec<u64> = dropped.iter().map(|row| row["id"].as_u64().unwrap()).chain(kept).collect();
    all.sort_unstable();
    assert_eq!(all, (0..300).collect::<Vec<u64>>());
    let mut by_rule: BTreeMap<String, u64> = BTreeMap::new();
    for row in &dropped {
        let id = row["id"].as_u64().unwrap();
        let n_words = (id % 11 != 0).then_some(id * 37 % 100);
        let reason = (row["_rule"].as_str().unwrap(), row["_value"].as_f64(), row["_threshold"].as_f64());
        let as_value = n_words.map(|n| n as f64);
        let expected = match n_words {
            _ if id % 5 == 0 => ("lang = 'en'", None, None),
            Some(80..) => ("words(text) <= 80", as_value, Some(80.0)),
            _ => ("words(text) >= 20", as_value, Some(20.0)),
        };
        assert_eq!(reason, expected, "{row}");
        // The whole document, as it was read.
        let words = row["text"].as_str().map(|text| text.split(' ').filter(|word| !word.is_empty()).count() as u64);
        assert_eq!((words, row["n"].as_u64()), (n_words, Some(id % 7)), "{row}");
        *by_rule.entry(format!("WHERE {}", reason.0)).or_default() += 1;
    }
    let funnel = &outcomes[0].report.steps;
    let counted: BTreeMap<String, u64> = funnel
        .iter()
        .filter(|step| step.label.starts_with("WHERE"))
        .map(|step| (step.label.clone(), step.rows_in - step.rows_out))
        .collect();
    assert_eq!(by_rule, counted);
    assert_eq!(outcomes[0].report.dropped.iter().map(|file| file.n_rows).sum::<u64>(), dropped.len() as u64);
}

#[test]
fn the_ledger_has_the_same_bytes_whatever_threads_and_batches() {
    let folder = tempfile::tempdir().unwrap();
    write_shards(folder.path());
    let mut seen = Vec::new();
    for (threads, batch_rows) in [(1, 8192), (4, 8192), (3, 7), (2, 1)] {
        let count = |n: usize| NonZeroUsize::new(n).unwrap();
        let config = Config { threads: count(threads), batch_rows: count(batch_rows), ..Config::default() };
        curate(folder.path(), RULES, "", config).unwrap();
        seen.push(unpacked(&folder.path().join("rejects/dropped")));
    }
    assert!(seen.iter().all(|ledger| *ledger == seen[0] && !ledger.is_empty()));
}

#[test]
fn the_ledger_has_the_same_bytes_after_whatever_mixes_rows() {
    let folder = tempfile::tempdir().unwrap();
    write_shards(folder.path());
    let docs = format!("FROM '{}/*.jsonl'", folder.path().display());
    for before in [
        format!("|> UNION ALL ({docs} |> SET id = id + 1000)"),
        format!("|> UNION ({docs} |> WHERE id < 200)"),
        format!("|> WHERE n > 1 |> UNION ALL ({docs} |> WHERE n < 5)"),
        "|> AGGREGATE count(*) AS n, min(text) AS text GROUP BY id".to_string(),
        format!("|> JOIN ({docs} |> SELECT n AS m, id AS other) ON n = m"),
        "|> ORDER BY n".to_string(),
        "|> DISTINCT".to_string(),
    ] {
        let mut seen = Vec::new();
        for (threads, batch_rows) in [(1, 8192), (8, 8192), (8, 8192), (3, 7)] {
            let count = |n: usize| NonZeroUsize::new(n).unwrap();
            let config = Config { threads: count(threads), batch_rows: count(batch_rows), ..Config::default() };
            curate(folder.path(), &format!("{before} |> WHERE words(text) > 90"), "", config).unwrap();
            let files = std::fs::read_dir(folder.path().join("rejects")).unwrap().map(|entry| entry.unwrap().path());
            let mut files: Vec<_> = files.filter(|path| path.is_dir()).collect();
            files.sort();
            seen.push(files.iter().map(|path| (path.clone(), unpacked(path))).collect::<Vec<_>>());
        }
        for other in &seen {
            // Of `DISTINCT` there is a ledger too, and no copy in it.
            assert!(seen[0] == *other && other.iter().any(|(_, dropped)| !dropped.is_empty()), "{before}");
        }
    }
}

#[test]
fn groups_that_are_dropped_stand_in_the_order_of_their_keys() {
    let folder = tempfile::tempdir().unwrap();
    write_shards(folder.path());
    curate(folder.path(), "|> AGGREGATE count(*) AS size GROUP BY id |> WHERE size > 1", "", Config::default())
        .unwrap();
    let dropped = lines(&folder.path().join("rejects/dropped"));
    let ids: Vec<u64> = dropped.iter().map(|row| row["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, (0..300).collect::<Vec<u64>>());
}

#[test]
fn the_ledger_has_the_same_documents_without_fusion() {
    let folder = tempfile::tempdir().unwrap();
    write_shards(folder.path());
    let ledger = |fusion| {
        let rules = "|> SET text = normalize_newlines(text) |> WHERE words(text) >= 20";
        curate(folder.path(), rules, "", Config { fusion, ..Config::default() }).unwrap();
        let mut lines: Vec<String> =
            unpacked(&folder.path().join("rejects/dropped")).lines().map(str::to_string).collect();
        lines.sort_unstable();
        lines
    };
    assert_eq!(ledger(false), ledger(true));
}

#[test]
fn fields_called_like_positions_are_data_under_another_name_and_keep_theirs_in_the_output() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.jsonl"), "{\"_seq\":7,\"_seq_0\":\"x\",\"_seq_x\":1}\n").unwrap();
    curate(folder.path(), "|> EXTEND _seq_ + 1 AS next", "", Config::default()).unwrap();
    assert_eq!(lines(&folder.path().join("out")), [json!({ "_seq": 7, "_seq_0": "x", "_seq_x": 1, "next": 8 })]);
}

#[test]
fn all_failed_rules_are_named_on_request_and_a_guard_still_guards() {
    let folder = tempfile::tempdir().unwrap();
    write_shards(folder.path());
    let rules = "|> WHERE n <> 0 |> WHERE 12 / n > 2 |> WHERE words(text) > 50";
    curate(folder.path(), rules, ", reject_detail = 'all'", Config::default()).unwrap();
    let dropped = lines(&folder.path().join("rejects/dropped"));
    let find = |id: u64| dropped.iter().find(|row| row["id"] == id).unwrap();
    // 7: n = 0, 59 words. 5: n = 5, 85 words. 3: n = 3, 11 words. 6: n = 6, 22 words.
    for (id, failed) in [
        (7, vec![json!({ "rule": "n != 0", "value": 0.0, "threshold": 0.0 })]),
        (5, vec![json!({ "rule": "12 / n > 2", "value": 2.0, "threshold": 2.0 })]),
        (3, vec![json!({ "rule": "words(text) > 50", "value": 11.0, "threshold": 50.0 })]),
        (
            6,
            vec![
                json!({ "rule": "words(text) > 50", "value": 22.0, "threshold": 50.0 }),
                json!({ "rule": "12 / n > 2", "value": 2.0, "threshold": 2.0 }),
            ],
        ),
    ] {
        let mut names = find(id)["_failed"].as_array().unwrap().clone();
        let mut expected = failed;
        names.sort_by_key(ToString::to_string);
        expected.sort_by_key(ToString::to_string);
        if id == 6 {
            // The division runs after the guard written before it, on rows that no rule before it dropped.
            assert!(names.iter().all(|name| expected.contains(name)), "{names:?}");
        } else {
            assert_eq!(names, expected, "{id}");
        }
    }
}

#[test]
fn a_failed_run_leaves_no_ledger() {
    let folder = tempfile::tempdir().unwrap();
    write_shards(folder.path());
    let strict = Config { strict: true, ..Config::default() };
    let error = curate(folder.path(), "|> WHERE words(text) > 1 |> WHERE 12 / n > 2", "", strict);
    assert!(error.err().unwrap().to_string().contains("division by zero"));
    // At once: a program that ends on the error would leave what is still there.
    let left = std::fs::read_dir(folder.path().join("rejects/dropped")).map_or(0, Iterator::count);
    assert_eq!(left, 0);
}

#[test]
fn conditions_beside_one_with_a_subquery_record_what_they_drop() {
    let folder = tempfile::tempdir().unwrap();
    write_shards(folder.path());
    let blocked = format!("(SELECT id FROM '{}/0.jsonl')", folder.path().display());
    let rules = format!("|> WHERE n > 0 AND words(text) >= 5 AND id NOT IN {blocked} AND 10 / n > 1 AND lang = 'en'");
    curate(folder.path(), &rules, "", Config::default()).unwrap();
    let kept = lines(&folder.path().join("out")).len();
    let mut n_dropped = BTreeMap::new();
    for entry in std::fs::read_dir(folder.path().join("rejects")).unwrap() {
        let path = entry.unwrap().path();
        for row in if path.is_dir() { lines(&path) } else { vec![] } {
            assert!(row["text"].is_string() || row["text"].is_null(), "the whole document: {row}");
            assert!(row.as_object().unwrap().keys().all(|name| !name.starts_with("__")), "{row}");
            *n_dropped.entry(row["_rule"].as_str().unwrap().to_string()).or_insert(0) += 1;
        }
    }
    let rules: Vec<&str> = n_dropped.keys().map(String::as_str).collect();
    assert_eq!(rules, ["10 / n > 1", "lang = 'en'", "n > 0", "words(text) >= 5"]);
    // Those that the subquery drops are in neither.
    let n_dropped: usize = n_dropped.values().sum();
    assert!(kept > 0 && kept + n_dropped < 300, "{kept} + {n_dropped}");
}
