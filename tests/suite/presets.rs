//! The presets of `std/`: each can be used as it is, and `curator ops` shows it.

use super::cli::run;
use super::harness::{block_on, files, read, root};
use curator::diag::{SourceText, render_all};
use curator::internals;
use curator::internals::{MacroParam, StatementKind};
use curator::{Config, Language, Session};
use std::path::PathBuf;

/// The name and parameters of each preset.
fn presets() -> Vec<(String, Vec<MacroParam>)> {
    let mut found = Vec::new();
    for path in files("std", ".cql") {
        let script = internals::parse(&read(&path), false).unwrap();
        for statement in script.statements {
            if let StatementKind::Define { name, params, .. } = statement.kind {
                found.push((name.text, params));
            }
        }
    }
    assert!(!found.is_empty());
    found
}

/// A model that a preset can be used with: a number, labels, or fastText's.
fn tiny_model(preset: &str) -> PathBuf {
    let encoder = |name: &str| root().join("tests/golden/encoders").join(name);
    match preset {
        name if name.starts_with("fineweb_edu") || name.starts_with("finemath") => encoder("bert-number"),
        "nemo_domain" | "nemo_multilingual_domain" | "nemo_quality" | "nemo_content_type" => encoder("wrapped-labels"),
        _ => root().join("tests/models/fasttext/softmax.bin"),
    }
}

#[test]
fn every_preset_can_be_used_on_columns_of_text() {
    let mut wrong = String::new();
    for (name, params) in presets() {
        let required = params.iter().filter(|param| param.default.is_none());
        // A list of words, a model and a tokenizer are constants; everything else may be a column.
        let argument = |param: &MacroParam| match param.name.text.as_str() {
            "words" => "['a', 'b']".to_string(),
            "tokenizer" => "'cl100k'".to_string(),
            "model" => format!("'{}'", tiny_model(&name).display()),
            _ => "c".to_string(),
        };
        let arguments: Vec<String> = required.map(argument).collect();
        let query = format!("SELECT {name}({}) AS x FROM (VALUES ('a text')) AS t(c)", arguments.join(", "));
        let source = SourceText::new(format!("{name}.sql"), query);
        let mut session = Session::new(Config::default()).unwrap();
        wrong += &render_all(&block_on(session.check(&source, Language::Sql)), false);
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn every_preset_is_listed_and_shown_with_its_parameters_and_text() {
    let list = run(&["ops"]).ok();
    let page = run(&["ops", "--markdown"]).ok();
    for (name, params) in presets() {
        assert!(list.contains(&format!("  {name}(")), "{name} is not in\n{list}");
        assert!(page.contains(&format!("\n### {name}\n")), "{name} is not in the reference page");
        let shown = run(&["ops", &name]).ok();
        assert!(shown.contains(&format!("DEFINE {name}(")) && shown.contains("std/"), "{shown}");
        assert!(params.iter().all(|param| shown.contains(&param.name.text)), "{shown}");
    }
    let (name, _) = &presets()[0];
    let told = run(&["ops", &format!("{name}x")]).wrong();
    assert!(told.contains(&format!("did you mean `{name}`?")), "{told}");
}
