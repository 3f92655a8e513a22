//! Decontamination as users rely on it: texts of evaluations are found, in the same rows every time, and it is told
//! whose texts they were.

use super::harness::{Outcome, block_on, run};
use curator::diag::SourceText;
use curator::{Config, Error};
use curator::{Language, Session};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;

fn query_in(text: &str, language: Language, config: Config) -> Result<Outcome, Error> {
    let mut session = Session::new(config).unwrap();
    let outcomes = block_on(run(&mut session, &SourceText::new("query", text), language))?;
    Ok(outcomes.into_iter().next_back().unwrap())
}

fn query(text: &str, config: Config) -> Outcome {
    query_in(text, Language::Cql, config).unwrap()
}

fn values(outcome: &Outcome) -> Vec<Value> {
    outcome.rows().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn ids(outcome: &Outcome) -> Vec<u64> {
    values(outcome).iter().map(|row| row["id"].as_u64().unwrap()).collect()
}

fn config(threads: usize, batch_rows: usize, memory_bytes: Option<usize>) -> Config {
    Config {
        threads: NonZeroUsize::new(threads).unwrap(),
        batch_rows: NonZeroUsize::new(batch_rows).unwrap(),
        memory_limit_bytes: memory_bytes,
        ..Config::default()
    }
}

/// A number that looks random and is the same every time.
fn mixed(n: u64) -> u64 {
    let n = (n ^ (n >> 31)).wrapping_mul(0x7fb5_d329_728e_a185);
    (n ^ (n >> 27)).wrapping_mul(0x81da_def4_bc2d_d44d) >> 20
}

/// A word without digits, which are all alike to datatrove's normalization.
fn word(n: u64) -> String {
    let letter = |place: u32| char::from(b'a' + (mixed(n % 4000) / 26_u64.pow(place) % 26) as u8);
    (0..5).map(letter).collect()
}

fn words(seed: u64, n_words: u64) -> String {
    (0..n_words).map(|at| word(mixed(seed * 1000 + at))).collect::<Vec<_>>().join(" ")
}

/// The `n`th question of a task.
fn question(task: u64, n: u64) -> String {
    words(1_000_000 + 100 * task + n, 20)
}

const TASKS: [&str; 3] = ["algebra", "biology", "chess"];

/// Three tasks of ten questions: `algebra` is in every tenth document, once each; one question of `biology` in every
/// twentieth; nothing of `chess` anywhere. Documents are of 40 sentences.
fn write_data(folder: &Path, n_documents: u64) {
    std::fs::create_dir_all(folder.join("evals")).unwrap();
    for (task, name) in (0..).zip(TASKS) {
        let rows =
            (0..10).map(|n| json!({ "question": question(task, n), "answer": words(7 + n, 3), "subject": name }));
        let lines: String = rows.map(|row| format!("{row}\n")).collect();
        std::fs::write(folder.join(format!("evals/{name}.jsonl")), lines).unwrap();
    }
    let document = |n: u64| {
        let mut sentences: Vec<String> = (0..40).map(|at| words(n * 50 + at, 12)).collect();
        if n % 10 == 3 {
            sentences[20] = format!("As they ask: {}", question(0, n / 10 % 10).to_uppercase().replace(' ', ", "));
        }
        if n % 20 == 8 {
            sentences[10] = question(1, 4);
        }
        json!({ "id": n, "text": sentences.join(". ") + "." })
    };
    let n_shards = 4;
    for shard in 0..n_shards {
        let numbers = shard * n_documents / n_shards..(shard + 1) * n_documents / n_shards;
        let lines: String = numbers.map(|n| format!("{}\n", document(n))).collect();
        std::fs::write(folder.join(format!("docs-{shard}.jsonl")), lines).unwrap();
    }
}

fn verb(folder: &Path, options: &str) -> String {
    let place = folder.display();
    format!("FROM '{place}/docs-*.jsonl' |> DECONTAMINATE AGAINST '{place}/evals/*.jsonl' {options}")
}

#[test]
fn documents_with_a_planted_text_go_and_the_report_names_the_tasks() {
    let folder = tempfile::tempdir().unwrap();
    write_data(folder.path(), 100);
    let outcome = query(&verb(folder.path(), ""), Config::default());
    let expected: Vec<u64> = (0..100).filter(|n| n % 10 != 3 && n % 20 != 8).collect();
    assert_eq!(ids(&outcome), expected);
    let found = &outcome.report.contamination;
    assert_eq!(found.len(), 1);
    assert!(found[0].rule.starts_with("DECONTAMINATE ON text AGAINST"));
    let counts: Vec<(&str, u64, u64, u64, u64)> = (found[0].tasks.iter())
        .map(|task| (task.task.as_str(), task.n_documents, task.n_texts, task.n_ngrams, task.n_ngrams_found))
        .collect();
    // Of each row three columns; only the question has 12 words, and in 20 words there are 9 n-grams.
    assert_eq!(counts, [("algebra", 10, 30, 90, 90), ("biology", 5, 30, 90, 9), ("chess", 0, 30, 90, 0)]);
    let json = serde_json::to_value(&outcome.report).unwrap();
    assert_eq!(json["contamination"][0]["tasks"][1]["n_documents"], 5);
    // A column may name the task instead of the file, and only what is named is looked for.
    let outcome = query(&verb(folder.path(), "WITH (task = subject, text_columns = 'question')"), Config::default());
    assert_eq!(ids(&outcome), expected);
    let tasks: Vec<(&str, u64)> =
        outcome.report.contamination[0].tasks.iter().map(|task| (task.task.as_str(), task.n_texts)).collect();
    assert_eq!(tasks, [("algebra", 10), ("biology", 10), ("chess", 10)]);
}

#[test]
fn answers_count_with_what_leads_to_them_and_questions_only_if_asked() {
    let folder = tempfile::tempdir().unwrap();
    write_data(folder.path(), 100);
    let kept = |options: &str| ids(&query(&verb(folder.path(), options), Config::default())).len();
    // The documents hold questions without their answers.
    assert_eq!(kept("WITH (label = answer, text_columns = 'question')"), 100);
    assert_eq!(kept("WITH (label = answer, text_columns = 'question', queries = true)"), 85);
}

#[test]
fn what_is_left_around_a_cut_becomes_a_row_for_each_piece() {
    let folder = tempfile::tempdir().unwrap();
    write_data(folder.path(), 100);
    let options = "WITH (mode = 'cut', remove_chars = 50, min_document_chars = 100)";
    let outcome = query(&verb(folder.path(), options), Config::default());
    let mut pieces: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for row in values(&outcome) {
        pieces.entry(row["id"].as_u64().unwrap()).or_default().push(row["text"].as_str().unwrap().to_string());
    }
    assert!(ids(&outcome).is_sorted());
    assert_eq!(pieces.len(), 100);
    let originals = values(&query(&format!("FROM '{}/docs-*.jsonl'", folder.path().display()), Config::default()));
    for (id, pieces) in &pieces {
        let original = originals[*id as usize]["text"].as_str().unwrap();
        if id % 10 != 3 && id % 20 != 8 {
            assert_eq!(pieces, &[original], "{id}");
            continue;
        }
        assert_eq!(pieces.len(), 2, "{id}");
        assert!(original.starts_with(pieces[0].as_str()) && original.ends_with(pieces[1].as_str()), "{id}");
        let (task, n) = if id % 20 == 8 { (1, 4) } else { (0, id / 10 % 10) };
        let last = question(task, n).rsplit(' ').next().unwrap().to_string();
        assert!(pieces[0].len() + pieces[1].len() + 100 < original.len(), "{id}: {last}");
    }
}

#[test]
fn what_many_documents_hold_is_no_evidence_for_a_cut() {
    let folder = tempfile::tempdir().unwrap();
    write_data(folder.path(), 100);
    let cut = |max_matches: u64| -> Vec<u64> {
        let options = format!(
            "WITH (mode = 'cut', max_matches = {max_matches}) |> AGGREGATE count(*) AS n GROUP BY id |> WHERE n > 1"
        );
        let mut ids = ids(&query(&verb(folder.path(), &options), Config::default()));
        ids.sort_unstable();
        ids
    };
    let algebra: Vec<u64> = (0..100).filter(|n| n % 10 == 3).collect();
    let both: Vec<u64> = (0..100).filter(|n| n % 10 == 3 || n % 20 == 8).collect();
    assert_eq!(cut(4), algebra, "one question of biology is in five documents");
    assert_eq!(cut(5), both);
}

#[test]
fn the_same_rows_with_any_threads_batches_and_memory() {
    let folder = tempfile::tempdir().unwrap();
    write_data(folder.path(), 2000);
    for options in [
        "",
        "WITH (ngram = 2, normalize = 'words') |> WHERE id % 3 > 0",
        "WITH (mode = 'cut', max_matches = 1000, remove_chars = 20, min_document_chars = 20)",
        "WITH (mode = 'cut', max_matches = 1000, ngram = 3, min_ngram = 3, remove_chars = 5, min_document_chars = 30, max_splits = 50) |> WHERE length(text) > 40 |> ORDER BY id % 7",
        "WITH (mode = 'cut', max_matches = 1000, remove_chars = 5, min_document_chars = 30) |> WHERE length(text) > 40 |> LIMIT 700",
    ] {
        let text = verb(folder.path(), options);
        let run = |config: Config| {
            let outcome = query(&text, config);
            (outcome.rows(), outcome.report.contamination.clone())
        };
        let expected = run(config(1, 8192, None));
        assert!(!expected.0.is_empty());
        for (threads, batch_rows, memory_bytes) in [(8, 100, None), (2, 8192, Some(24 << 20)), (8, 8192, None)] {
            let got = run(config(threads, batch_rows, memory_bytes));
            assert!(got.0 == expected.0, "{options}: {threads} threads, batches of {batch_rows}, {memory_bytes:?}");
            // Nobody knows what a run that was stopped early would have found.
            let stops_early = options.contains("LIMIT");
            assert!(stops_early || got.1 == expected.1, "{options}: {:?} {:?}", got.1, expected.1);
        }
    }
}

/// The bytes of what is written and of the ledger, with pieces of a document side by side, whoever cut it.
#[test]
fn documents_that_come_in_partitions_are_cut_as_in_one_stream() {
    let folder = tempfile::tempdir().unwrap();
    write_data(folder.path(), 400);
    let place = folder.path().display();
    let cut = verb(folder.path(), "WITH (mode = 'cut', max_matches = 1000, remove_chars = 700)");
    let text = format!("{cut} |> WHERE words(text) > 3 |> INTO '{place}/out/' WITH (rejects = '{place}/rejects/')");
    let mut expected = None;
    for (threads, block_bytes, batch_bytes, memory_bytes) in [
        (1, 1 << 30, 1 << 20, 8 << 30),
        (2, 9000, 8000, 24 << 20),
        (16, 1 << 30, 9000, 8 << 30),
        (16, 7000, 7000, 64 << 20),
    ] {
        let number = |n: usize| NonZeroUsize::new(n).unwrap();
        let (block_bytes, batch_bytes) = (number(block_bytes), number(batch_bytes));
        query(&text, Config { block_bytes, batch_bytes, ..config(threads, 8192, Some(memory_bytes)) });
        let read = |path: &str| std::fs::read(folder.path().join(path)).unwrap();
        let found = (read("out/part-00000.jsonl.zst"), read("rejects/dropped/part-00000.jsonl.zst"));
        let rows = query(&format!("FROM '{place}/out/'"), Config::default()).rows();
        assert!(rows.lines().count() > 400, "pieces");
        assert!(*expected.get_or_insert_with(|| found.clone()) == found, "{threads} threads, splits of {block_bytes}");
        for made in ["out", "rejects"] {
            std::fs::remove_dir_all(folder.path().join(made)).unwrap();
        }
    }
}

#[test]
fn a_text_of_two_tasks_counts_for_both_and_the_first_is_named() {
    let folder = tempfile::tempdir().unwrap();
    write_data(folder.path(), 40);
    std::fs::copy(folder.path().join("evals/algebra.jsonl"), folder.path().join("evals/zebra.jsonl")).unwrap();
    let place = folder.path().display();
    for threads in [1, 8] {
        let text = format!(
            "{} |> SELECT id |> INTO '{place}/out/' WITH (rejects = '{place}/rejects/', overwrite = true)",
            verb(folder.path(), "")
        );
        let outcome = query(&text, config(threads, 100, None));
        let counts = |task: usize| outcome.report.contamination[0].tasks[task].n_documents;
        assert_eq!((counts(0), counts(3)), (4, 4));
        let dropped = values(&query(&format!("FROM '{place}/rejects/dropped/'"), Config::default()));
        assert_eq!(dropped.len(), 6);
        for row in &dropped {
            let task = if row["id"].as_u64().unwrap() % 20 == 8 { "biology" } else { "algebra" };
            assert_eq!(row["_task"], task);
            assert!(row["_rule"].as_str().unwrap().starts_with("DECONTAMINATE ON text AGAINST"));
            assert!(row["text"].as_str().unwrap().len() > 1000, "the whole document");
        }
    }
}

#[test]
fn documents_that_a_cut_leaves_nothing_of_are_in_the_ledger() {
    let folder = tempfile::tempdir().unwrap();
    write_data(folder.path(), 40);
    let place = folder.path().display();
    let text = format!(
        "{} |> SELECT id |> INTO '{place}/out/' WITH (rejects = '{place}/rejects/')",
        verb(folder.path(), "WITH (mode = 'cut', remove_chars = 100000)")
    );
    let outcome = query(&text, Config::default());
    assert_eq!(outcome.report.files.iter().map(|file| file.n_rows).sum::<u64>(), 34);
    let dropped =
        values(&query(&format!("FROM '{place}/rejects/dropped/' |> SELECT id, _task, _value"), Config::default()));
    let expected: Vec<Value> =
        [(3, "algebra"), (8, "biology"), (13, "algebra"), (23, "algebra"), (28, "biology"), (33, "algebra")]
            .map(|(id, task)| json!({ "id": id, "_task": task, "_value": 0.0 }))
            .to_vec();
    let dropped: Vec<Value> = dropped
        .into_iter()
        .map(|row| json!({ "id": row["id"], "_task": row["_task"], "_value": row["_value"].as_f64() }))
        .collect();
    assert_eq!(dropped, expected);
}

#[test]
fn sql_says_the_same() {
    let folder = tempfile::tempdir().unwrap();
    write_data(folder.path(), 60);
    let place = folder.path().display();
    for (cql, sql) in [("", ""), ("WITH (mode = 'cut', max_matches = 4)", ", mode => 'cut', max_matches => 4")] {
        let cql = query(&verb(folder.path(), cql), Config::default());
        let sql = format!(
            "SELECT * FROM decontaminate('{place}/docs-*.jsonl', text, against => '{place}/evals/*.jsonl'{sql})"
        );
        let sql = query_in(&sql, Language::Sql, Config::default()).unwrap();
        assert_eq!(cql.rows(), sql.rows());
        assert_eq!(cql.report.contamination, sql.report.contamination);
        assert_eq!(cql.optimized, sql.optimized);
    }
}

#[test]
fn evaluations_without_anything_to_look_for_are_an_error_and_bad_lines_are_set_aside() {
    let folder = tempfile::tempdir().unwrap();
    write_data(folder.path(), 20);
    let place = folder.path().display();
    let against = |lines: &str| {
        std::fs::write(folder.path().join("evals.jsonl"), lines).unwrap();
        let text = format!("FROM '{place}/docs-*.jsonl' |> DECONTAMINATE AGAINST '{place}/evals.jsonl'");
        query_in(&text, Language::Cql, Config::default())
    };
    for (lines, message) in [
        ("", "no text column"),
        ("{\"n\":1}\n", "no text column"),
        ("{\"q\":\"too short\"}\n{\"q\":null}\n", "one text, of fewer than 12 words"),
        ("{\"q\":\"too short\"}\n{\"q\":\"as well\"}\n", "2 texts, all of fewer than 12 words"),
    ] {
        match against(lines) {
            Ok(_) => panic!("{lines}: no error"),
            Err(error) => assert!(error.to_string().contains(message), "{lines}: {error}"),
        }
    }
    let good = json!({ "q": question(0, 0) });
    let outcome = against(&format!("{good}\n{{\"q\": oh\n{good}\n")).unwrap();
    assert_eq!(ids(&outcome).len(), 19);
    assert_eq!(outcome.report.rejected.iter().map(|(_, count)| count).sum::<u64>(), 1);
    assert_eq!(outcome.report.contamination[0].tasks[0].task, "evals");
}

#[test]
fn a_condition_without_columns_leaves_the_evaluations_alone() {
    let folder = tempfile::tempdir().unwrap();
    write_data(folder.path(), 20);
    let outcome = query(&verb(folder.path(), "|> WHERE random() < 0.0"), Config::default());
    assert_eq!(ids(&outcome), Vec::<u64>::new());
    assert_eq!(outcome.report.contamination[0].tasks.iter().map(|task| task.n_texts).sum::<u64>(), 90);
}
