//! House rules that a machine can check.

mod code;

use super::harness::root;
use code::production;
use std::collections::BTreeMap;
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

/// The modules that a file stands in: `["exec", "annotate"]` for `src/exec/annotate/mod.rs` and `src/exec/annotate.rs`.
fn modules(path: &Path) -> Vec<String> {
    let parts = path.with_extension("");
    let mut modules: Vec<String> = parts.iter().skip(1).map(|part| part.to_string_lossy().into_owned()).collect();
    modules.pop_if(|last| last == "mod");
    modules
}

/// Where the names come from that the root of the crate gives again: `Session` from `session`.
fn root_names() -> BTreeMap<String, String> {
    let root = std::fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let mut names = BTreeMap::new();
    // Those of `internals` are indented, and begin at the root themselves.
    for statement in code::production(&root).split(";\n").filter(|statement| !statement.contains("crate::")) {
        let Some((module, given)) = statement.trim().strip_prefix("pub use ").and_then(|path| path.split_once("::"))
        else {
            continue;
        };
        for name in given.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|name| !name.is_empty()) {
            names.insert(name.to_string(), module.to_string());
        }
    }
    assert_eq!(names.get("Config").map(String::as_str), Some("config"));
    assert!(!names.contains_key("exec"), "modules are not given again");
    names
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
    const LAYERS: [&[&str]; 18] = [
        &["error", "diag", "config"],
        &["store"],
        &["ops"],
        &["models"],
        &["gpu"],
        &["dedup"],
        &["sources", "sinks"],
        &["verb"],
        &["syntax"],
        &["logical"],
        &["optimizer"],
        &["cost"],
        &["exec"],
        &["verbs"],
        &["physical"],
        &["session"],
        &["cli"],
        &["lib", "main"],
    ];
    let layer = |module: &str| LAYERS.iter().position(|names| names.contains(&module));
    let root_names = root_names();
    let mut problems = Vec::new();
    // A test may look at a layer from above.
    for (path, text) in sources().into_iter().filter(|(path, _)| !is_test_file(path)) {
        let modules = modules(&path);
        let own = layer(&modules[0]).unwrap_or_else(|| panic!("{} is in no layer", modules[0]));
        let code = code::without_comments_and_texts(&production(&text));
        for name in code::names_from_root(&code, modules.len()) {
            let used = root_names.get(&name).unwrap_or(&name);
            if layer(used).is_some_and(|used| used > own) {
                problems.push(format!("{}: uses {used}", path.display()));
            }
        }
        if ["ops", "models", "gpu"].contains(&modules[0].as_str()) && code::has_word(&code, "datafusion") {
            problems.push(format!("{}: {} knows Arrow, not DataFusion", path.display(), modules[0]));
        }
        if modules[0] != "gpu" && code::has_word(&code, "cudarc") {
            problems.push(format!("{}: only gpu calls CUDA", path.display()));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn only_the_store_knows_how_files_are_reached() {
    // What belongs to this machine, not to a run: the user's terminal, texts and settings, the cache of kernels, free memory.
    const OF_THE_MACHINE: [&str; 5] =
        ["cli", "gpu/cache.rs", "cost/profile.rs", "cost/shipped.rs", "physical/free_memory.rs"];
    const WORDS: [&str; 6] = ["fs", "walkdir", "glob", "tempfile", "canonicalize", "is_dir"];
    let mut problems = Vec::new();
    for (path, text) in sources().into_iter().filter(|(path, _)| !is_test_file(path)) {
        let name = path.display().to_string();
        let within = name.split("src/").last().unwrap_or_default();
        if within.starts_with("store/") || OF_THE_MACHINE.iter().any(|known| within.starts_with(known)) {
            continue;
        }
        let code = code::without_comments_and_texts(&production(&text));
        let found = WORDS
            .iter()
            .filter(|word| code::has_word(&code, word))
            .chain([".exists()"].iter().filter(|call| code.contains(**call)));
        problems.extend(found.map(|word| format!("{name}: `{word}`: ask crate::store")));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn nothing_is_left_open_or_printed_outside_the_command_line() {
    const PANICS: [&str; 5] = ["todo!(", "unimplemented!(", ".unwrap()", ".expect(", "panic!("];
    // What runs before `main` must say that it knows what it does.
    const BEFORE_MAIN: &str = "#[ctor::ctor(unsafe)]";
    const PRINTS: [&str; 3] = ["print!(", "println!(", "dbg!("];
    let mut problems = Vec::new();
    for (path, text) in sources() {
        if is_test_file(&path) {
            continue;
        }
        let in_cli = path.starts_with("src/cli");
        let production = production(&text);
        let code = code::without_comments_and_texts(&production);
        for (number, (line, code)) in production.lines().zip(code.lines()).enumerate() {
            let panics = PANICS.iter().any(|word| code.contains(word));
            let marks = line.contains("TODO") || line.contains("FIXME");
            let prints = !in_cli && PRINTS.iter().any(|word| code.contains(word));
            let may_be_unsafe = path.starts_with("src/gpu") || path == Path::new("src/store/mapped.rs");
            let unsafe_code = code::has_word(code, "unsafe") && !may_be_unsafe && line != BEFORE_MAIN;
            if panics || marks || prints || unsafe_code {
                problems.push(format!("{}:{}: {}", path.display(), number + 1, line.trim()));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// What is called `tests.rs` is left out above, so it must be what its name says.
#[test]
fn files_of_tests_are_compiled_for_tests_only() {
    let all = sources();
    let mut problems = Vec::new();
    for (path, _) in all.iter().filter(|(path, _)| is_test_file(path)) {
        let tests = path.ancestors().find(|part| part.file_stem().is_some_and(|name| name == "tests")).unwrap();
        let above = tests.parent().unwrap();
        // `mod tests;`, or `#[path = "tests/lines.rs"] mod …;` for one file of the folder.
        let by_path = format!("\"{}\"", path.strip_prefix(above).unwrap().display());
        let names = |text: &str| code::has_word(text, "mod tests") || text.contains(&by_path);
        let is_above = |file: &Path| file.parent() == Some(above) || file.with_extension("") == above;
        let is_gated = |text: &str| names(text) && !names(&production(text));
        if !all.iter().any(|(file, text)| is_above(file) && is_gated(text)) {
            problems.push(format!("{}: no #[cfg(test)] above it", path.display()));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// The public face: what a user of the library can name. Whoever adds a name must add it here, too.
#[test]
fn the_public_names_are_these() {
    const ROOT: &str = "diag internals ops Config DeviceChoice Error Result Report Compiled ExplainFormat Language Plan \
                        Run Session Stage Script";
    const OPS: &str = "Param Registry Cost Cpu Effects Example Family Gpu OpSpec Returns Args Literal Model ModelBatch \
                       ModelCode ModelColumn ModelDevice ModelFacts ModelFile ModelRows ModelSetting ModelUse OpenModel \
                       PreparedModel RejectedRow";
    const DIAG: &str = "Span SourceText Code Severity Label Diagnostic render render_all";
    for (file, expected) in [("src/lib.rs", ROOT), ("src/ops/mod.rs", OPS), ("src/diag/mod.rs", DIAG)] {
        let text = std::fs::read_to_string(root().join(file)).unwrap();
        let mut names = code::public_names(&text);
        let mut expected: Vec<&str> = expected.split_whitespace().collect();
        names.sort();
        expected.sort_unstable();
        assert_eq!(names, expected, "{file}");
    }
}

#[test]
fn the_lock_file_has_one_arrow_and_one_sql_parser() {
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).unwrap();
    for name in ["arrow", "arrow-array", "parquet", "datafusion", "sqlparser"] {
        let n = lock.lines().filter(|line| *line == format!("name = \"{name}\"")).count();
        assert_eq!(n, 1, "{name} is in the lock file {n} times");
    }
}
