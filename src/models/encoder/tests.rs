//! Encoders against what transformers computes, and folders that are not what they seem.
//!
//! `tests/golden/encoders/` has a tiny model of each family and head, made by `make.py` there.

use super::files::ModelFiles;
use super::head::{Head, Task};
use super::loaded::{Loaded, Numbers};
use super::opened::{Encoder, Wishes};
use super::tokens::Tokens;
use super::values;
use arrow::array::{Array, AsArray, Float32Array};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/encoders")
}

fn models() -> Vec<String> {
    let names = std::fs::read_dir(golden()).unwrap().map(|entry| entry.unwrap());
    let mut names: Vec<String> =
        names.filter(|entry| entry.path().is_dir()).map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    assert!(names.len() >= 15, "{names:?}");
    names
}

fn task(name: &str) -> Task {
    if name.contains("embed") || name.contains("dense") { Task::Vectors } else { Task::Labels }
}

fn open(folder: &Path, task: Task) -> crate::Result<Encoder> {
    Encoder::open(Arc::new(ModelFiles::open(&folder.display().to_string())?), task, Wishes::default())
}

struct Golden {
    encoder: Encoder,
    loaded: Loaded,
    rows: Vec<Value>,
}

impl Golden {
    fn new(name: &str) -> Self {
        let folder = golden().join(name);
        let encoder = open(&folder, task(name)).unwrap();
        let loaded = encoder.load().unwrap();
        let rows = std::fs::read_to_string(folder.join("expected.json")).unwrap();
        Golden { encoder, loaded, rows: serde_json::from_str(&rows).unwrap() }
    }

    fn texts(&self) -> Vec<&str> {
        self.rows.iter().map(|row| row["text"].as_str().unwrap()).collect()
    }

    fn run(&self, texts: &[&str], most_rows: usize) -> Numbers {
        let encoded = self.loaded.tokenize(texts.iter().copied());
        self.loaded.run(&encoded, |_| most_rows).unwrap()
    }
}

fn largest(numbers: &[f32]) -> usize {
    (0..numbers.len()).max_by(|a, b| numbers[*a].total_cmp(&numbers[*b])).unwrap()
}

#[test]
fn every_family_and_head_gives_the_numbers_of_transformers() {
    for name in models() {
        let golden = Golden::new(&name);
        let n_outputs = golden.encoder.n_outputs();
        let numbers = golden.run(&golden.texts(), 4);
        let is_unit = name.ends_with("-embed") && name != "deberta-v2-embed";
        let values = match &golden.encoder.head {
            Head::Vectors(_) => {
                let vectors = values::vectors(&numbers, n_outputs, is_unit);
                vectors.as_fixed_size_list().values().as_any().downcast_ref::<Float32Array>().unwrap().values().to_vec()
            }
            _ => numbers.values.clone(),
        };
        for (row, expected) in golden.rows.iter().enumerate() {
            let place = format!("{name}, {}", expected["text"]);
            assert_eq!(expected["n_tokens"].as_u64().unwrap() as usize, numbers.n_tokens[row], "{place}");
            assert_eq!(expected["truncated"].as_bool().unwrap(), numbers.truncated[row], "{place}");
            let wanted: Vec<f32> =
                expected["numbers"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap() as f32).collect();
            let got = &values[row * n_outputs..(row + 1) * n_outputs];
            assert_eq!(wanted.len(), got.len(), "{place}");
            assert_eq!(largest(&wanted), largest(got), "{place}: {wanted:?} {got:?}");
            let far = wanted.iter().zip(got).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(far <= 1e-4, "{place}: {far} from {wanted:?}");
        }
    }
}

#[test]
fn a_row_has_the_same_bits_whatever_stands_beside_it() {
    let bits = |numbers: &Numbers| -> Vec<u32> { numbers.values.iter().map(|x| x.to_bits()).collect() };
    for name in ["bert-embed", "bert-dense", "deberta-labels", "modernbert-labels", "wrapped-prompts"] {
        let golden = Golden::new(name);
        let texts = golden.texts();
        let together = bits(&golden.run(&texts, 100));
        for most_rows in [1, 3] {
            assert_eq!(bits(&golden.run(&texts, most_rows)), together, "{name}, {most_rows} rows at once");
        }
        let alone: Vec<u32> = texts.iter().flat_map(|text| bits(&golden.run(&[text], 8))).collect();
        assert_eq!(alone, together, "{name}, one by one");
        let backwards: Vec<&str> = texts.iter().rev().copied().collect();
        let n_outputs = golden.encoder.n_outputs();
        let backwards: Vec<u32> =
            bits(&golden.run(&backwards, 100)).chunks(n_outputs).rev().flatten().copied().collect();
        assert_eq!(backwards, together, "{name}, backwards");
    }
}

#[test]
fn the_beginning_of_a_long_text_has_the_ids_that_the_whole_has() {
    let words = "naïve words, 3.14 and 東京 – again!\n\n  Some_code(here); ";
    for name in ["bert-embed", "xlm-roberta-embed", "modernbert-embed"] {
        let bytes = std::fs::read(golden().join(name).join("tokenizer.json")).unwrap();
        let tokens = |most| Tokens::open(&bytes, most, 0, name).unwrap();
        for n_repeats in [1, 7, 40, 400] {
            let text = words.repeat(n_repeats);
            let whole = tokens(1 << 19).encode(&text).unwrap();
            assert!(!whole.truncated);
            let begun = tokens(24).encode(&text).unwrap();
            // All but the token at the end, which is another one.
            assert_eq!(begun.ids[..23], whole.ids[..23], "{name}, {n_repeats} times");
            assert_eq!(begun.truncated, whole.ids.len() > 24);
        }
    }
}

/// A copy of a golden model that may be changed.
fn changed(name: &str, change: impl FnOnce(&Path)) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join(name);
    copy_all(&golden().join(name), &copy);
    change(&copy);
    (folder, copy)
}

fn copy_all(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_all(&entry.path(), &to)
        } else {
            std::fs::copy(entry.path(), to).map(drop).unwrap()
        }
    }
}

/// The message of a changed model, without the folder.
fn refusal(name: &str, change: impl FnOnce(&Path)) -> String {
    let (_guard, copy) = changed(name, change);
    let error = open(&copy, task(name)).err().unwrap_or_else(|| panic!("{name} was taken"));
    assert_eq!(error.exit_code(), 1, "{error}");
    error.to_string().replace(&copy.display().to_string(), "DIR")
}

fn edit(folder: &Path, file: &str, key: &str, value: Value) {
    let path = folder.join(file);
    let mut json: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    json[key] = value;
    std::fs::write(path, json.to_string()).unwrap();
}

/// The same tensors under another header.
fn with_header(folder: &Path, change: impl FnOnce(&mut Value)) {
    let path = folder.join("model.safetensors");
    let bytes = std::fs::read(&path).unwrap();
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let mut header: Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    change(&mut header);
    let header = header.to_string().into_bytes();
    let parts = [&(header.len() as u64).to_le_bytes()[..], &header, &bytes[8 + length..]];
    std::fs::write(path, parts.concat()).unwrap();
}

#[test]
fn a_folder_that_is_not_a_sound_model_is_refused_by_name() {
    let weights = |folder: &Path| folder.join("model.safetensors");
    let cut = |folder: &Path, at: usize| {
        let bytes = std::fs::read(weights(folder)).unwrap();
        std::fs::write(weights(folder), &bytes[..at.min(bytes.len() - 4)]).unwrap();
    };
    let words = "embeddings.word_embeddings.weight";
    let cases: Vec<(String, &str)> = vec![
        (refusal("bert-embed", |folder| cut(folder, 5)), "has 5 bytes, and the length of its header takes 8"),
        (refusal("bert-embed", |folder| cut(folder, 1000)), "its header would take"),
        (
            refusal("bert-embed", |folder| cut(folder, usize::MAX)),
            "DIR/model.safetensors is not a sound safetensors file: it was cut short",
        ),
        (
            refusal("bert-embed", |folder| {
                let mut bytes = std::fs::read(weights(folder)).unwrap();
                bytes[..8].copy_from_slice(&u64::MAX.to_le_bytes());
                std::fs::write(weights(folder), bytes).unwrap();
            }),
            "its header would take 18446744073709551615 bytes; 100000000 are the most",
        ),
        (
            refusal("bert-embed", |folder| {
                with_header(folder, |header| header[words]["shape"] = serde_json::json!([u64::MAX, u64::MAX]))
            }),
            "does not take the bytes",
        ),
        (
            refusal("bert-embed", |folder| {
                with_header(folder, |header| header[words]["shape"] = serde_json::json!([7, 7]))
            }),
            "tensor \"embeddings.word_embeddings.weight\": shape [7, 7] does not take the bytes",
        ),
        (
            refusal("bert-embed", |folder| with_header(folder, |header| header["again"] = header[words].clone())),
            "overlaps the one before it",
        ),
        (
            refusal("bert-embed", |folder| {
                with_header(folder, |header| header.as_object_mut().unwrap().shift_remove(words).map(drop).unwrap())
            }),
            "belong to nothing",
        ),
        (
            refusal("bert-embed", |folder| {
                with_header(folder, |header| {
                    let name = "encoder.layer.1.output.dense.bias";
                    header["encoder.layer.7.odd"] = header.as_object_mut().unwrap().shift_remove(name).unwrap();
                })
            }),
            "tensor \"encoder.layer.1.output.dense.bias\" is missing",
        ),
        (
            refusal("bert-embed", |folder| edit(folder, "config.json", "num_hidden_layers", 1.into())),
            "tensor \"encoder.layer.1.attention.output.LayerNorm.bias\" belongs to no part of a BERT model",
        ),
        (
            refusal("bert-embed", |folder| edit(folder, "config.json", "intermediate_size", 64.into())),
            "has shape [32, 16]; the configuration asks for [64, 16]",
        ),
        (
            refusal("bert-embed", |folder| edit(folder, "config.json", "num_attention_heads", 3.into())),
            "DIR/config.json: 16 numbers cannot be divided among 3 heads",
        ),
        (
            refusal("bert-embed", |folder| edit(folder, "config.json", "hidden_act", "snake".into())),
            "DIR/config.json: `hidden_act` \"snake\" is not known",
        ),
        (
            refusal("bert-embed", |folder| edit(folder, "config.json", "model_type", "llama".into())),
            "models of type \"llama\" are not known; those of bert,",
        ),
        (
            refusal("bert-embed", |folder| std::fs::remove_file(folder.join("tokenizer.json")).unwrap()),
            "DIR/tokenizer.json: there is no such file; save the tokenizer as a fast one",
        ),
        (
            refusal("bert-embed", |folder| std::fs::write(folder.join("tokenizer.json"), "{}").unwrap()),
            "DIR/tokenizer.json is not a tokenizer that can be read",
        ),
        (
            refusal("bert-embed", |folder| {
                std::fs::copy(golden().join("roberta-any/tokenizer.json"), folder.join("tokenizer.json")).unwrap();
                edit(
                    folder,
                    "tokenizer.json",
                    "added_tokens",
                    Value::Array(vec![serde_json::json!({
                        "id": 900, "content": "<odd>", "single_word": false, "lstrip": false, "rstrip": false,
                        "normalized": false, "special": true
                    })]),
                );
            }),
            "they do not belong together",
        ),
        (
            refusal("bert-embed", |folder| std::fs::remove_file(folder.join("config.json")).unwrap()),
            "DIR/config.json: there is no such file: is this a model's folder?",
        ),
        (
            refusal("bert-embed", |folder| {
                std::fs::rename(weights(folder), folder.join("pytorch_model.bin")).unwrap();
            }),
            "`pytorch_model.bin` is pickle, which can run code and is never opened",
        ),
        (
            refusal("bert-labels", |folder| {
                edit(folder, "config.json", "id2label", serde_json::json!({"0": "good", "1": "bad"}));
            }),
            "DIR/config.json: `id2label` has 2 labels, and tensor \"classifier.weight\" gives 3 numbers",
        ),
        (
            refusal("bert-labels", |folder| edit(folder, "config.json", "id2label", serde_json::json!({"a": "good"}))),
            "`id2label` does not number its labels",
        ),
        (
            refusal("wrapped-labels", |folder| edit(folder, "config.json", "base_model", "somebody/bert".into())),
            "`base_model` \"somebody/bert\" is not known",
        ),
    ];
    for (message, expected) in cases {
        assert!(message.contains(expected), "{message}\n  instead of\n{expected}");
    }
    let embedder = golden().join("bert-embed");
    let message = open(&embedder, Task::Labels).err().unwrap().to_string();
    assert!(message.contains("is this a classifier? A model without a head is for `embed`"), "{message}");
    let classifier = golden().join("bert-labels");
    assert!(open(&classifier, Task::Vectors).is_ok(), "the backbone of a classifier gives vectors");
}

#[test]
fn labels_of_many_rows_stand_in_the_order_of_the_model() {
    let golden = Golden::new("bert-labels");
    let labels = golden.encoder.head.labels().unwrap();
    let numbers = golden.run(&golden.texts(), 4);
    let values = values::labelled(&numbers, labels);
    assert_eq!(values.data_type(), &values::labelled_type());
    let values = values.as_struct();
    let scores = values.column(2).as_list::<i32>();
    for row in 0..golden.rows.len() {
        let names: Vec<String> = scores
            .value(row)
            .as_struct()
            .column(0)
            .as_string::<i32>()
            .iter()
            .map(|name| name.unwrap().into())
            .collect();
        assert_eq!(names, ["ads", "news", "prose"]);
        let best = largest(&numbers.values[row * 3..row * 3 + 3]);
        assert_eq!(values.column(0).as_string::<i32>().value(row), names[best]);
    }
}
