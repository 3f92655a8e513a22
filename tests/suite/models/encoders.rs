//! Encoders in queries: `embed`, `classify`, `score`, `prompt_task`, `score_head`, on the tiny models of `tests/golden/encoders/`.

use super::super::harness::{block_on, root, run};
use curator::diag::SourceText;
use curator::{Config, Error, Language, Result, Session};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

fn model(name: &str) -> String {
    root().join("tests/golden/encoders").join(name).display().to_string()
}

fn config(threads: usize) -> Config {
    Config { threads: NonZeroUsize::new(threads).unwrap(), ..Config::default() }
}

/// Documents in a folder of their own.
struct Documents {
    folder: tempfile::TempDir,
}

impl Documents {
    fn new(texts: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let rows = texts.iter().enumerate().map(|(id, text)| json!({"id": id, "text": text}).to_string() + "\n");
        std::fs::write(folder.path().join("docs.jsonl"), rows.collect::<String>()).unwrap();
        Documents { folder }
    }

    fn of_golden(name: &str) -> (Self, Vec<Value>) {
        let expected = std::fs::read_to_string(PathBuf::from(model(name)).join("expected.json")).unwrap();
        let expected: Vec<Value> = serde_json::from_str(&expected).unwrap();
        let texts: Vec<&str> = expected.iter().map(|row| row["text"].as_str().unwrap()).collect();
        (Documents::new(&texts), expected)
    }

    fn try_rows(&self, pipeline: &str, config: Config) -> Result<Vec<Value>> {
        let text = format!("FROM '{}/docs.jsonl' |> {pipeline}", self.folder.path().display());
        let mut session = Session::new(config)?;
        let outcomes = block_on(run(&mut session, &SourceText::new("query", text), Language::Cql))?;
        let rows = outcomes.last().unwrap().rows();
        Ok(rows.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
    }

    fn rows(&self, pipeline: &str) -> Vec<Value> {
        self.try_rows(pipeline, config(2)).unwrap_or_else(|error| panic!("{pipeline}: {error}"))
    }

    fn refusal(&self, pipeline: &str) -> String {
        match self.try_rows(pipeline, config(1)) {
            Err(Error::Query(problems)) => curator::diag::render(&problems[0], false),
            other => panic!("{pipeline}: {other:?}"),
        }
    }
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap_or_else(|| panic!("{value}")).iter().map(|x| x.as_f64().unwrap()).collect()
}

fn assert_near(got: &[f64], wanted: &[f64], place: &str) {
    assert_eq!(got.len(), wanted.len(), "{place}");
    let far = got.iter().zip(wanted).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(far <= 1e-4, "{place}: {far}: {got:?} instead of {wanted:?}");
}

#[test]
fn embed_gives_the_vectors_of_sentence_transformers() {
    let (documents, expected) = Documents::of_golden("bert-embed");
    let rows = documents.rows(&format!("SELECT id, embed(text, '{}') AS v", model("bert-embed")));
    for (row, wanted) in rows.iter().zip(&expected) {
        assert_near(&numbers(&row["v"]), &numbers(&wanted["numbers"]), &wanted["text"].to_string());
    }
    let (documents, expected) = Documents::of_golden("bert-dense");
    let rows = documents.rows(&format!("SELECT id, embed(text, '{}', normalize => false) AS v", model("bert-dense")));
    for (row, wanted) in rows.iter().zip(&expected) {
        assert_near(&numbers(&row["v"]), &numbers(&wanted["numbers"]), &wanted["text"].to_string());
    }
}

#[test]
fn options_of_embed_change_what_it_gives() {
    let documents = Documents::new(&["one two three four five six seven eight nine ten"]);
    let vector = |options: &str| {
        let rows = documents.rows(&format!("SELECT embed(text, '{}'{options}) AS v", model("bert-embed")));
        numbers(&rows[0]["v"])
    };
    let length = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
    let plain = vector("");
    assert!((length(&plain) - 1.0).abs() < 1e-5);
    assert!((length(&vector(", normalize => false")) - 1.0).abs() > 1e-2);
    assert_near(&vector(", pooling => 'mean'"), &plain, "the folder says mean");
    for other in [", pooling => 'cls'", ", pooling => 'max'", ", max_tokens => 5"] {
        assert!(vector(other).iter().zip(&plain).any(|(a, b)| (a - b).abs() > 1e-3), "{other} changes nothing");
    }
}

#[test]
fn classifiers_give_labels_scores_and_what_was_read() {
    for (name, sigmoid) in [("bert-labels", false), ("roberta-any", true), ("wrapped-labels", false)] {
        let (documents, expected) = Documents::of_golden(name);
        let call = format!("'{}'", model(name));
        let rows = documents.rows(&format!("SELECT id, classify(text, {call}) AS c |> EXTEND c.label AS label"));
        for (row, wanted) in rows.iter().zip(&expected) {
            let place = format!("{name}: {}", wanted["text"]);
            let logits = numbers(&wanted["numbers"]);
            let sum: f64 = logits.iter().map(|x| x.exp()).sum();
            let probability = |x: &f64| if sigmoid { 1.0 / (1.0 + (-x).exp()) } else { x.exp() / sum };
            let scores: Vec<f64> = logits.iter().map(probability).collect();
            let listed = row["c"]["scores"].as_array().unwrap();
            let got: Vec<f64> = listed.iter().map(|entry| entry["score"].as_f64().unwrap()).collect();
            assert_near(&got, &scores, &place);
            let best = (0..scores.len()).max_by(|a, b| scores[*a].total_cmp(&scores[*b])).unwrap();
            assert_eq!(row["label"], listed[best]["label"], "{place}");
            assert_eq!(row["c"]["score"], listed[best]["score"], "{place}");
            assert_eq!(row["c"]["n_tokens"], wanted["n_tokens"], "{place}");
            assert_eq!(row["c"]["truncated"], wanted["truncated"], "{place}");
        }
    }
    let (documents, expected) = Documents::of_golden("bert-number");
    let rows = documents.rows(&format!("SELECT score(text, '{}') AS s", model("bert-number")));
    for (row, wanted) in rows.iter().zip(&expected) {
        assert_near(&[row["s"].as_f64().unwrap()], &numbers(&wanted["numbers"]), &wanted["text"].to_string());
    }
}

#[test]
fn a_model_of_prompts_gives_the_columns_of_nemo() {
    let (documents, expected) = Documents::of_golden("wrapped-prompts");
    let rows = documents.rows(&format!("SELECT prompt_task(text, '{}') AS p", model("wrapped-prompts")));
    for (row, wanted) in rows.iter().zip(&expected) {
        let answers = wanted["answers"].as_object().unwrap();
        assert_eq!(row["p"].as_object().unwrap().len(), answers.len());
        for (name, answer) in answers {
            let got = &row["p"][name];
            match answer.as_f64() {
                // A digit may be rounded the other way where the logits differ in the seventh.
                Some(answer) => assert!((got.as_f64().unwrap() - answer).abs() < 2e-3, "{name}: {got} {answer}"),
                None => assert_eq!(got, answer, "{name} of {}", wanted["text"]),
            }
        }
    }
}

fn many_texts() -> Vec<String> {
    let words = ["light", "water", "stone", "river", "paper", "engine", "yellow", "north", "seven", "garden"];
    let text = |n: usize| (0..3 + n * 7 % 40).map(|i| words[(n * 13 + i * i) % 10]).collect::<Vec<_>>().join(" ");
    (0..120).map(|n| if n % 6 == 5 { text(n - 5) } else { text(n) }).collect()
}

#[test]
fn bytes_do_not_depend_on_threads_and_near_duplicates_are_those_of_brute_force() {
    let texts = many_texts();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let documents = Documents::new(&texts);
    let call = format!("embed(text, '{}')", model("bert-embed"));
    let select = format!("SELECT id, {call} AS v");
    let vectors = documents.try_rows(&select, config(1)).unwrap();
    let small = Config { batch_rows: NonZeroUsize::new(7).unwrap(), ..config(4) };
    assert_eq!(documents.try_rows(&select, small).unwrap(), vectors);

    let rows: Vec<Vec<f64>> = vectors.iter().map(|row| numbers(&row["v"])).collect();
    let cosine = |a: usize, b: usize| rows[a].iter().zip(&rows[b]).map(|(x, y)| x * y).sum::<f64>();
    // With one cluster and the first of all similar ones kept: who has a similar one before it goes.
    let kept: BTreeSet<u64> =
        (0..rows.len()).filter(|b| !(0..*b).any(|a| cosine(a, *b) >= 0.999)).map(|id| id as u64).collect();
    assert!(kept.len() < rows.len() && kept.len() > 10, "{} of {}", kept.len(), rows.len());
    for threads in [1, 4] {
        let dedup =
            format!("DEDUP SEMANTIC ON {call} WITH (threshold = 0.999, clusters = 1) KEEP FIRST BY id |> SELECT id");
        let left = documents.try_rows(&dedup, config(threads)).unwrap();
        let left: BTreeSet<u64> = left.iter().map(|row| row["id"].as_u64().unwrap()).collect();
        assert_eq!(left, kept, "{threads} threads");
    }
}

#[test]
fn a_wrong_model_is_a_mistake_at_the_call() {
    let documents = Documents::new(&["a text"]);
    let cases = [
        (
            "embed(text, '/nowhere/model')",
            "/nowhere/model: there is no such folder; a model is a folder with config.json",
        ),
        ("embed(text, 'BERT', max_tokens => 65)", "the model has positions for 64 tokens, not for 65"),
        ("classify(text, 'bert-embed')", "is this a classifier? A model without a head is for `embed`"),
        ("classify(text, 'bert-number')", "this model gives a number, not labels: `score` reads it"),
        ("score(text, 'bert-labels')", "`score` needs the `label`; the model has 'ads', 'news', 'prose'"),
        ("score(text, 'bert-labels', label => 'poem')", "no label 'poem'; the model has 'ads', 'news', 'prose'"),
        ("classify(text, 'wrapped-prompts')", "this model answers several questions at once: `prompt_task` reads it"),
        ("prompt_task(text, 'bert-labels')", "this is no model of prompts"),
        ("score_head([1.0, 2.0], 'head.bin')", "head.bin: a head is a file of safetensors; no other is opened"),
    ];
    for (call, expected) in cases {
        let call = call.replace("'BERT'", &format!("'{}'", model("bert-embed")));
        let names = ["bert-embed", "bert-number", "bert-labels", "wrapped-prompts"];
        let call =
            names.iter().fold(call, |call, name| call.replace(&format!("'{name}'"), &format!("'{}'", model(name))));
        let shown = documents.refusal(&format!("EXTEND {call} AS x"));
        // Long messages are broken into lines.
        let plain: String =
            shown.split_whitespace().filter(|word| !["│", "|"].contains(word)).collect::<Vec<_>>().join(" ");
        assert!(plain.contains(expected), "{call}\n{shown}");
        assert!(shown.contains("query:1:"), "{call}\n{shown}");
    }
}

/// A file of safetensors with these matrices and vectors of `f32`.
fn write_tensors(path: &Path, tensors: &[(&str, &[usize], &[f32])]) {
    let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
    for (name, shape, numbers) in tensors {
        let begin = data.len();
        data.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        header.insert(name.to_string(), json!({"dtype": "F32", "shape": shape, "data_offsets": [begin, data.len()]}));
    }
    let header = Value::Object(header).to_string().into_bytes();
    std::fs::write(path, [&(header.len() as u64).to_le_bytes()[..], &header, &data].concat()).unwrap();
}

#[test]
fn a_head_scores_vectors_and_rejects_those_of_another_length() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("head.safetensors");
    // The tenth layer stands behind the second.
    write_tensors(
        &path,
        &[
            ("layers.10.weight", &[1, 2], &[1.0, -2.0]),
            ("layers.10.bias", &[1], &[0.5]),
            ("layers.2.weight", &[2, 3], &[1.0, 0.0, 0.0, 0.0, -1.0, 0.0]),
            ("layers.2.bias", &[2], &[0.0, 0.0]),
        ],
    );
    let documents = Documents::new(&["x"]);
    let head = path.display();
    let score = |vector: &str, options: &str| {
        documents.rows(&format!("SELECT score_head({vector}, '{head}'{options}) AS s"))[0]["s"].as_f64().unwrap()
    };
    let vector = "[2.0 + id, 3.0, 4.0]";
    assert_eq!(score(vector, ""), 2.5);
    assert_eq!(score(vector, ", activation => 'none'"), 2.0 + 6.0 + 0.5);
    assert!((score(vector, ", output => 'sigmoid'") - 1.0 / (1.0 + (-2.5f64).exp())).abs() < 1e-6);
    assert!(documents.rows(&format!("SELECT score_head([1.0 + id, 2.0], '{head}') AS s")).is_empty(), "it is rejected");
    write_tensors(&path, &[("a.0.weight", &[2, 3], &[0.0; 6]), ("a.1.weight", &[1, 4], &[0.0; 4])]);
    let shown = documents.refusal(&format!("SELECT score_head([1.0 + id], '{head}') AS s"));
    assert!(shown.contains("gives 2 numbers") && shown.contains("takes 4"), "{shown}");
}

/// What sentence-transformers 6.2 gives for parts of these documents, where `.ci/minilm` could fetch the model.
#[test]
fn a_real_model_gives_the_vectors_of_sentence_transformers() {
    let Some(folder) = std::env::var("CURATOR_MINILM").ok().filter(|folder| !folder.is_empty()) else {
        println!("CURATOR_MINILM is not set (.ci/run sets it where pip has the model): MiniLM was not tried");
        return;
    };
    let expected = std::fs::read_to_string(root().join("tests/golden/encoders/minilm.json")).unwrap();
    let mut expected: Vec<Value> = serde_json::from_str(&expected).unwrap();
    assert_eq!(expected.len(), 24);
    if cfg!(debug_assertions) {
        expected.sort_by_key(|row| row["text"].as_str().unwrap().len());
        println!("without optimization MiniLM is a hundred times slower: only the shortest documents are tried");
        expected.truncate(3);
    }
    let texts: Vec<&str> = expected.iter().map(|row| row["text"].as_str().unwrap()).collect();
    let rows = Documents::new(&texts).rows(&format!("SELECT embed(text, '{folder}') AS v"));
    for (row, wanted) in rows.iter().zip(&expected) {
        let (got, wanted) = (numbers(&row["v"]), numbers(&wanted["numbers"]));
        let cosine: f64 = got.iter().zip(&wanted).map(|(a, b)| a * b).sum();
        assert!(cosine >= 0.9999, "{cosine}");
    }
}
