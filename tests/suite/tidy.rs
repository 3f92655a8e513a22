//! House rules that a machine can check.

use super::harness::root;
use std::path::{Path, PathBuf};

fn sources() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join("src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                found.push((path.strip_prefix(root()).unwrap().to_path_buf(), text));
            }
        }
    }
    found.sort();
    found
}

/// The lines before the tests of a file.
fn production(text: &str) -> &str {
    text.split("#[cfg(test)]\n").next().unwrap_or(text)
}

fn is_test_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "tests.rs") || path.components().any(|part| part.as_os_str() == "tests")
}

#[test]
fn every_file_introduces_itself_and_is_short_enough() {
    let mut problems = Vec::new();
    for (path, text) in sources() {
        if !text.starts_with("//!") {
            problems.push(format!("{}: no //! at the top", path.display()));
        }
        let n_lines = production(&text).lines().count();
        if n_lines > 600 && !is_test_file(&path) {
            problems.push(format!("{}: {n_lines} lines, split it", path.display()));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn imports_point_one_way() {
    // Each layer may use those before it.
    const LAYERS: [&[&str]; 14] = [
        &["error", "diag", "config"],
        &["ops"],
        &["gpu"],
        &["dedup"],
        &["sources", "sinks"],
        &["syntax"],
        &["logical"],
        &["optimizer"],
        &["cost"],
        &["exec"],
        &["physical"],
        &["session"],
        &["cli"],
        &["lib", "main"],
    ];
    let layer = |module: &str| LAYERS.iter().position(|names| names.contains(&module));
    let mut problems = Vec::new();
    for (path, text) in sources() {
        let module = path.iter().nth(1).unwrap().to_string_lossy().trim_end_matches(".rs").to_string();
        let own = layer(&module).unwrap_or_else(|| panic!("{module} is in no layer"));
        for line in production(&text).lines().filter(|line| !line.trim_start().starts_with("//")) {
            for used in line.split("crate::").skip(1) {
                let used: String = used.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                if layer(&used).is_some_and(|used| used > own) {
                    problems.push(format!("{}: {}", path.display(), line.trim()));
                }
            }
        }
        if module == "ops" && production(&text).contains("datafusion::") {
            problems.push(format!("{}: operators know Arrow, not DataFusion", path.display()));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn nothing_is_left_open_or_printed_outside_the_command_line() {
    let mut problems = Vec::new();
    for (path, text) in sources() {
        if is_test_file(&path) {
            continue;
        }
        let in_cli = path.starts_with("src/cli");
        for (number, line) in production(&text).lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            let open = ["todo!(", "unimplemented!(", ".unwrap()", ".expect(", "panic!("]
                .iter()
                .any(|word| code.contains(word));
            let marks = line.contains("TODO") || line.contains("FIXME");
            let prints = !in_cli && ["println!(", "eprintln!(", "dbg!("].iter().any(|word| code.contains(word));
            let unsafe_code = code.contains("unsafe ") && !path.starts_with("src/gpu");
            if open || marks || prints || unsafe_code {
                problems.push(format!("{}:{}: {}", path.display(), number + 1, line.trim()));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn the_lock_file_has_one_arrow_and_one_sql_parser() {
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).unwrap();
    for name in ["arrow", "arrow-array", "parquet", "datafusion", "sqlparser"] {
        let n = lock.lines().filter(|line| *line == format!("name = \"{name}\"")).count();
        assert_eq!(n, 1, "{name} is in the lock file {n} times");
    }
}
