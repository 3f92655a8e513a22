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

/// The lines of a file that are not for its tests: without the module of tests at its end, and without single items that
/// only tests have. The others keep their numbers.
fn production(text: &str) -> String {
    let mut lines = Vec::new();
    let mut is_next_for_tests = false;
    for line in text.lines() {
        if is_next_for_tests && line.trim_start().starts_with("mod ") && line.ends_with('{') {
            break;
        }
        let is_attribute = line.trim_start().starts_with("#[");
        let is_for_tests = line.trim_start().starts_with("#[cfg(test)]");
        let is_hidden = is_for_tests || is_next_for_tests;
        is_next_for_tests = is_for_tests || (is_next_for_tests && is_attribute);
        lines.push(if is_hidden { "" } else { line });
    }
    lines.join("\n")
}

/// The modules of this crate that code uses: `crate::a`, and each of `crate::{a, b::c}`.
fn used_modules(code: &str) -> Vec<String> {
    let name = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let mut modules = Vec::new();
    for used in code.split("crate::").skip(1) {
        let Some(group) = used.strip_prefix('{') else {
            modules.push(name(used));
            continue;
        };
        let mut depth = 1;
        let mut is_first = true;
        for (at, c) in group.char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 1 => is_first = true,
                c if is_first && !c.is_whitespace() => {
                    modules.push(name(&group[at..]));
                    is_first = false;
                }
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
    }
    modules
}

#[test]
fn all_production_lines_and_grouped_imports_are_seen() {
    let text = "a\n#[cfg(test)]\nmod tests;\nb\n#[cfg(test)]\n#[allow(x)]\nmod more {\nc";
    assert_eq!(production(text).split_whitespace().collect::<Vec<_>>(), ["a", "b"]);
    let code = "use crate::{\n  Config, exec::{A, B},\n physical,\n}; crate::cli::x()";
    assert_eq!(used_modules(code), ["Config", "exec", "physical", "cli"]);
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
        let production = production(&text);
        let code: Vec<&str> = production.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        for used in used_modules(&code.join("\n")) {
            if layer(&used).is_some_and(|used| used > own) {
                problems.push(format!("{}: uses {used}", path.display()));
            }
        }
        let knows_plans = code.iter().any(|line| line.contains("datafusion::"));
        if ["ops", "gpu"].contains(&module.as_str()) && knows_plans {
            problems.push(format!("{}: {module} knows Arrow, not DataFusion", path.display()));
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
