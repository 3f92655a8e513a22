//! The standard library: the presets of `std/`, which every session knows.
//!
//! A preset is a `DEFINE` like a user's own, and a user's `DEFINE` of the same name takes its place.
//! Invariant: every file of `std/` is listed here and defines macros only; tests read all of them.

use super::macros::{Macro, Macros, define};
use crate::diag::SourceText;
use crate::syntax::ast::StatementKind;
use crate::syntax::parse;
use std::sync::LazyLock;

/// Each file with its text, in the order in which they are shown.
const FILES: &[(&str, &str)] = &[
    ("std/c4.cql", include_str!("../../std/c4.cql")),
    ("std/code.cql", include_str!("../../std/code.cql")),
    ("std/data_juicer.cql", include_str!("../../std/data_juicer.cql")),
    ("std/fineweb.cql", include_str!("../../std/fineweb.cql")),
    ("std/gopher.cql", include_str!("../../std/gopher.cql")),
    ("std/nemo.cql", include_str!("../../std/nemo.cql")),
    ("std/redpajama.cql", include_str!("../../std/redpajama.cql")),
    ("std/safety.cql", include_str!("../../std/safety.cql")),
    ("std/url.cql", include_str!("../../std/url.cql")),
];

/// Every preset, by name. A file that does not parse is left out; a test sees to it that there is none.
pub fn presets() -> &'static Macros {
    static PRESETS: LazyLock<Macros> =
        LazyLock::new(|| FILES.iter().flat_map(|(name, text)| read(name, text).unwrap_or_default()).collect());
    &PRESETS
}

/// The presets of one file.
fn read(name: &str, text: &str) -> Result<Vec<(String, Macro)>, Vec<crate::diag::Diagnostic>> {
    let source = SourceText::new(name, text);
    let script = parse(&source, false)?;
    let mut made = Vec::new();
    for statement in &script.statements {
        if let StatementKind::Define { name, params, body } = &statement.kind {
            made.push((name.text.to_lowercase(), define(&source, name, params, body.span)?));
        }
    }
    Ok(made)
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
            read(name, text).unwrap();
        }
    }

    #[test]
    fn no_preset_takes_the_name_of_an_operator() {
        let operators = crate::ops::Registry::builtin();
        for name in presets().keys() {
            assert!(operators.find(name).is_none(), "{name}");
        }
    }
}
