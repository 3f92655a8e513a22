//! The standard library: the presets of `std/`, which every session knows.
//!
//! A preset is a `DEFINE` like a user's own, and a user's `DEFINE` of the same name takes its place.
//! Invariant: every file of `std/` is listed here and defines macros only; tests read all of them.

use super::macros::{Macro, Macros, define};
use crate::diag::{Diagnostic, SourceText};
use crate::syntax::ast::StatementKind;
use crate::syntax::parse;
use std::sync::LazyLock;

/// Each file with its text, in the order in which they are shown.
const FILES: &[(&str, &str)] = &[
    ("std/c4.cql", include_str!("../../std/c4.cql")),
    ("std/code.cql", include_str!("../../std/code.cql")),
    ("std/data_juicer.cql", include_str!("../../std/data_juicer.cql")),
    ("std/fasttext.cql", include_str!("../../std/fasttext.cql")),
    ("std/fineweb.cql", include_str!("../../std/fineweb.cql")),
    ("std/gopher.cql", include_str!("../../std/gopher.cql")),
    ("std/nemo.cql", include_str!("../../std/nemo.cql")),
    ("std/nemo_models.cql", include_str!("../../std/nemo_models.cql")),
    ("std/redpajama.cql", include_str!("../../std/redpajama.cql")),
    ("std/safety.cql", include_str!("../../std/safety.cql")),
    ("std/tokens.cql", include_str!("../../std/tokens.cql")),
    ("std/url.cql", include_str!("../../std/url.cql")),
];

/// One file of presets.
#[derive(Debug)]
pub struct PresetFile {
    /// Its path in the repository: `std/gopher.cql`.
    pub name: &'static str,
    /// The comment at its top.
    pub intro: String,
    /// Its presets, in order.
    pub presets: Vec<Preset>,
}

/// A macro that curator ships, as people read it.
#[derive(Debug)]
pub struct Preset {
    /// The comment above it.
    pub comment: String,
    /// The `DEFINE` as written, with its `;`.
    pub text: String,
    /// What it means.
    pub definition: Macro,
}

/// Every preset, by file. A file that does not parse is left out; a test sees to it that there is none.
pub fn preset_files() -> &'static [PresetFile] {
    static READ: LazyLock<Vec<PresetFile>> =
        LazyLock::new(|| FILES.iter().filter_map(|(name, text)| read(name, text).ok()).collect());
    &READ
}

/// Every preset, by name in lower case.
pub fn presets() -> &'static Macros {
    static BY_NAME: LazyLock<Macros> = LazyLock::new(|| {
        let presets = preset_files().iter().flat_map(|file| &file.presets);
        presets.map(|preset| (preset.definition.name.to_lowercase(), preset.definition.clone())).collect()
    });
    &BY_NAME
}

/// The presets of one file.
fn read(name: &'static str, text: &str) -> Result<PresetFile, Vec<Diagnostic>> {
    let source = SourceText::new(name, text);
    let script = parse(&source, false)?;
    let mut presets = Vec::new();
    for statement in &script.statements {
        if let StatementKind::Define { name, params, body } = &statement.kind {
            let definition = define(&source, name, params, body.span)?;
            let comment = comment_above(&text[..statement.span.start]);
            presets.push(Preset { comment, text: format!("{};", source.slice(statement.span)), definition });
        }
    }
    let top = text.lines().take_while(|line| line.starts_with("--"));
    let intro = top.map(uncommented).collect::<Vec<_>>().join("\n");
    Ok(PresetFile { name, intro, presets })
}

/// The lines of comment right above a place, without their dashes.
fn comment_above(before: &str) -> String {
    let mut lines: Vec<&str> =
        before.lines().rev().take_while(|line| line.starts_with("--")).map(uncommented).collect();
    lines.reverse();
    lines.join("\n")
}

fn uncommented(line: &str) -> &str {
    let text = line.trim_start_matches('-');
    text.strip_prefix(' ').unwrap_or(text).trim_end()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_standard_library_is_listed_and_defines_macros_only() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/std");
        let mut found: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| format!("std/{}", entry.unwrap().file_name().to_string_lossy()))
            .filter(|name| name.ends_with(".cql"))
            .collect();
        found.sort();
        assert_eq!(found, FILES.iter().map(|(name, _)| name.to_string()).collect::<Vec<_>>());
        for (name, text) in FILES {
            let source = SourceText::new(*name, *text);
            let script = parse(&source, false).unwrap();
            for statement in &script.statements {
                assert!(matches!(statement.kind, StatementKind::Define { .. }), "{name}");
            }
            let file = read(name, text).unwrap();
            assert!(!file.intro.is_empty(), "{name}: says nothing at its top");
            for preset in file.presets {
                let preset_name = &preset.definition.name;
                assert!(!preset.comment.is_empty(), "{name}: no comment right above `{preset_name}`");
                assert!(
                    preset.comment != file.intro,
                    "{name}: a blank line belongs above the comment of `{preset_name}`"
                );
            }
        }
    }

    #[test]
    fn a_preset_is_its_comment_and_its_text() {
        let text = "-- The file.\n\n-- Far away.\n\n-- One.\n--   Two.\nDEFINE f(t, n => 3)\n  AS words(t) > n; -- End.\n\
                    DEFINE g(t) AS t;";
        let file = read("x", text).unwrap();
        assert_eq!(file.intro, "The file.");
        let seen: Vec<_> = file.presets.iter().map(|preset| (preset.comment.as_str(), preset.text.as_str())).collect();
        assert_eq!(seen, [("One.\n  Two.", "DEFINE f(t, n => 3)\n  AS words(t) > n;"), ("", "DEFINE g(t) AS t;")]);
    }

    #[test]
    fn no_preset_takes_the_name_of_an_operator() {
        let operators = crate::ops::Registry::builtin();
        for name in presets().keys() {
            assert!(operators.find(name).is_none(), "{name}");
        }
    }
}
