//! Against the reference, on the tiny models of `tests/models/fasttext`; and against damage.

use super::*;
use std::path::{Path, PathBuf};

const MODELS: [&str; 7] =
    ["softmax.bin", "tree.bin", "one_vs_all.bin", "negatives.bin", "softmax_pruned.ftz", "tree.ftz", "output_too.ftz"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models/fasttext")
}

fn bytes_of(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(name)).unwrap()
}

fn read(bytes: Vec<u8>) -> Result<FastText> {
    FastText::read(Bytes::from(bytes), "model.bin")
}

fn message(bytes: Vec<u8>) -> String {
    read(bytes).unwrap_err().to_string()
}

/// The lines that the reference was asked about, with the labels and scores that it gave.
fn expected(model: &str) -> Vec<(String, Vec<(String, f32)>)> {
    let text = std::fs::read_to_string(folder().join("expected.jsonl")).unwrap();
    let records = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    records
        .filter(|record| record["model"] == model)
        .map(|record| {
            let top = record["top"].as_array().unwrap().iter();
            let top = top.map(|pair| (pair[0].as_str().unwrap().to_string(), pair[1].as_f64().unwrap() as f32));
            (record["line"].as_str().unwrap().to_string(), top.collect())
        })
        .collect()
}

fn predict(model: &FastText, line: &str, k: usize, scratch: &mut Scratch) -> Vec<Prediction> {
    if model.read_text(line, false, scratch) { model.best(k, scratch) } else { Vec::new() }
}

fn top(model: &FastText, line: &str, k: usize, scratch: &mut Scratch) -> Vec<(String, f32)> {
    let found = predict(model, line, k, scratch);
    found.iter().map(|found| (model.label(found.label).to_string(), found.score)).collect()
}

#[test]
fn every_loss_and_layout_gives_labels_and_scores_of_the_reference() {
    for name in MODELS {
        let model = read(bytes_of(name)).unwrap();
        let mut scratch = model.scratch();
        let expected = expected(name);
        assert!(expected.len() > 15, "{name}");
        // Twice, since the second time words are known.
        for (line, expected) in expected.iter().chain(&expected) {
            let found = top(&model, line, 4, &mut scratch);
            let labels = |top: &[(String, f32)]| top.iter().map(|(label, _)| label.clone()).collect::<Vec<_>>();
            assert_eq!(labels(&found), labels(expected), "{name}: {line:?}");
            for ((_, found), (_, expected)) in found.iter().zip(expected) {
                assert!((found - expected).abs() <= 1e-6, "{name}: {line:?}: {found} is not {expected}");
            }
        }
    }
}

#[test]
fn fewer_labels_are_the_first_of_more() {
    for name in ["softmax.bin", "tree.bin"] {
        let model = read(bytes_of(name)).unwrap();
        let mut scratch = model.scratch();
        for (line, _) in expected(name) {
            let all = top(&model, &line, usize::MAX, &mut scratch);
            assert!(all.len() <= model.n_labels());
            assert_eq!(all[..all.len().min(1)], top(&model, &line, 1, &mut scratch), "{name}: {line:?}");
        }
        assert!(top(&model, "karo", 0, &mut scratch).is_empty());
    }
}

#[test]
fn a_line_ends_at_its_line_feed() {
    let model = read(bytes_of("softmax.bin")).unwrap();
    let mut scratch = model.scratch();
    let whole = top(&model, "karo", 3, &mut scratch);
    assert_eq!(top(&model, "karo\nnéça néça", 3, &mut scratch), whole);
    let more = top(&model, "karo néça néça", 3, &mut scratch);
    assert_ne!(more, whole);
    assert!(model.read_text("karo\nnéça\n\nnéça", true, &mut scratch));
    assert_eq!(model.best(1, &mut scratch)[0].score, more[0].1, "a line feed can be a space");
}

#[test]
fn scores_do_not_depend_on_what_was_read_before() {
    for name in MODELS {
        let model = read(bytes_of(name)).unwrap();
        let lines = expected(name);
        let mut one_for_all = model.scratch();
        for (line, _) in lines.iter().rev() {
            assert_eq!(top(&model, line, 4, &mut one_for_all), top(&model, line, 4, &mut model.scratch()), "{name}");
        }
    }
}

#[test]
fn labels_are_found_with_and_without_their_prefix() {
    let model = read(bytes_of("one_vs_all.bin")).unwrap();
    let label = model.find_label("0_0").unwrap();
    assert_eq!(model.find_label("__label__0_0"), Some(label));
    assert_eq!(model.label(label), "0_0");
    assert_eq!(model.find_label("0_"), None);
    assert_eq!(model.label(model.n_labels()), "");
}

#[test]
fn other_files_are_refused_with_the_reason() {
    let with = |place: usize, value: i32| {
        let mut bytes = bytes_of("softmax.bin");
        bytes[place..place + 4].copy_from_slice(&value.to_le_bytes());
        bytes
    };
    // Where numbers of the header are: magic, version, then the parameters.
    let cases = [
        (b"PK\x03\x04 an archive".to_vec(), "this is no fastText model"),
        (Vec::new(), "this is no fastText model"),
        (with(4, 13), "a fastText model of version 13; versions 11 and 12 can be read"),
        (with(8, 0), "its dimension is 0"),
        (with(8, -4), "its dimension is -4"),
        (with(32, 9), "its loss is of kind 9"),
        (with(36, 2), "this fastText model holds word vectors; only a supervised one has labels"),
        (with(40, 0), "it has pieces of words but no buckets for them"),
        (with(64, i32::MAX), "it names 2147483647 entries"),
        (bytes_of("tree.bin")[..5000].to_vec(), "the file ends within its input matrix"),
    ];
    for (bytes, expected) in cases {
        let message = message(bytes);
        assert!(message.starts_with("model.bin: ") && message.contains(expected), "{message}");
    }
}

#[test]
fn a_file_cut_anywhere_is_an_error() {
    for name in MODELS {
        let bytes = Bytes::from(bytes_of(name));
        // The reference writes nothing behind the output matrix, so a file without its last byte is one that was cut.
        for n_bytes in (0..bytes.len()).step_by(if cfg!(debug_assertions) { 13 } else { 1 }) {
            assert!(FastText::read(bytes.slice(..n_bytes), "cut").is_err(), "{name}, {n_bytes} bytes");
        }
        assert!(FastText::read(bytes.slice(..bytes.len() - 1), "cut").is_err(), "{name}");
    }
}

#[test]
fn a_file_with_changed_bytes_is_an_error_or_a_model() {
    for name in MODELS {
        let good = bytes_of(name);
        let mut n_models = 0;
        // The header and the first words, byte by byte; then here and there.
        for (step, place) in (0..120).chain((120..good.len()).step_by(good.len() / 80)).enumerate() {
            let mut bytes = good.clone();
            bytes[place] = [0x00, 0x7F, 0x80, 0xFF][step % 4];
            if let Ok(model) = read(bytes) {
                n_models += 1;
                let found = predict(&model, "karo néça文章 mi karomi", 3, &mut model.scratch());
                assert!(found.iter().all(|found| found.label < model.n_labels()), "{name}, byte {place}");
            }
        }
        assert!((50..180).contains(&n_models), "{name}: {n_models}");
    }
}
