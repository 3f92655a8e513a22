//! The published implementations' results, document by document: `tests/golden/README.md`.

use super::harness::{block_on, root, run};
use curator::Config;
use curator::diag::SourceText;
use curator::{Language, Session};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

type Row = Map<String, Value>;

#[test]
fn every_golden_column_is_reproduced_on_the_committed_documents() {
    compare_all(&root().join("tests/golden/edge"));
}

#[test]
fn every_golden_column_is_reproduced_on_the_large_set_where_there_is_one() {
    let named = std::env::var_os("CURATOR_GOLDEN").map(PathBuf::from);
    let folder = named.unwrap_or_else(|| root().join("../shared/data/golden"));
    if !folder.join("inputs.jsonl.gz").exists() {
        // Not through `println!`, which the harness keeps to itself when a test passes.
        let told = writeln!(std::io::stderr(), "SKIPPED: no large golden set; name its folder in CURATOR_GOLDEN");
        assert!(told.is_ok());
        return;
    }
    compare_all(&folder);
}

/// Compares every column of `columns.csv`; only the differences listed in `differences.csv` may remain.
/// `GOLDEN_ONLY=part` looks only at columns whose `file.column` contains the part.
fn compare_all(folder: &Path) {
    let only = std::env::var("GOLDEN_ONLY").unwrap_or_default();
    let mut columns: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for [file, column, expression] in csv("columns.csv") {
        if format!("{file}.{column}").contains(&only) {
            columns.entry(file).or_default().push((column, expression));
        }
    }
    let mut listed: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for [file, column, id, reason] in csv("differences.csv") {
        assert!(!reason.trim().is_empty(), "{file} {column} {id}: no reason");
        listed.entry((file, column)).or_default().insert(id);
    }
    let mut problems = Vec::new();
    for (file, wanted) in &columns {
        let golden = rows(folder, file);
        let inputs = if file == "nemo_code" { "code_inputs" } else { "inputs" };
        let ours = evaluate(folder, inputs, wanted);
        for (column, expression) in wanted {
            let hashed = format!("{column}_sha256");
            assert!(
                golden.iter().any(|row| row.contains_key(column) || row.contains_key(&hashed)),
                "{file} has no column {column}"
            );
            let may_differ = listed.get(&(file.clone(), column.clone()));
            let mut wrong = Vec::new();
            for row in &golden {
                let id = row["id"].as_str().unwrap();
                let ours = &ours[id][column];
                let (theirs, ours) = match row.get(&hashed) {
                    Some(hash) => (hash.clone(), ours.as_str().map_or(Value::Null, |text| sha256(text).into())),
                    None => (row.get(column).cloned().unwrap_or(Value::Null), ours.clone()),
                };
                let is_listed = may_differ.is_some_and(|ids| ids.contains(id));
                match (same(&theirs, &ours), is_listed) {
                    (false, false) => wrong.push(format!("{id}: golden {}, ours {}", short(&theirs), short(&ours))),
                    (true, true) => wrong.push(format!("{id}: listed as different, and is equal")),
                    _ => {}
                }
            }
            if !wrong.is_empty() {
                let n_wrong = wrong.len();
                wrong.truncate(5);
                problems.push(format!(
                    "{file}.{column}: {n_wrong} of {}  [{expression}]\n    {}",
                    golden.len(),
                    wrong.join("\n    ")
                ));
            }
        }
    }
    assert!(
        problems.is_empty(),
        "{} columns differ in {}\n  {}",
        problems.len(),
        folder.display(),
        problems.join("\n  ")
    );
}

/// Our values, by document and column: one query for all columns of a file.
fn evaluate(folder: &Path, inputs: &str, columns: &[(String, String)]) -> HashMap<String, Row> {
    let mut query = format!("FROM '{}' |> SELECT id", locate(folder, inputs).display());
    for (column, expression) in columns {
        query.push_str(&format!(",\n  {expression} AS \"{column}\""));
    }
    let source = SourceText::new("columns.csv", query);
    let outcomes = block_on(async {
        let mut session = Session::new(Config::default()).unwrap();
        run(&mut session, &source, Language::Cql).await
    });
    let outcomes = outcomes.unwrap_or_else(|error| panic!("{error}"));
    let rows = outcomes[0].rows();
    rows.lines()
        .map(|line| serde_json::from_str::<Row>(line).unwrap())
        .map(|row| (row["id"].as_str().unwrap().to_string(), row))
        .collect()
}

/// Numbers within 1e-9, 1 for true; the rest equal.
fn same(theirs: &Value, ours: &Value) -> bool {
    let number = |value: &Value| match value {
        Value::Bool(b) => Some(f64::from(u8::from(*b))),
        other => other.as_f64(),
    };
    match (number(theirs), number(ours)) {
        (Some(theirs), Some(ours)) => (theirs - ours).abs() <= 1e-9,
        _ => theirs == ours,
    }
}

fn short(value: &Value) -> String {
    value.to_string().chars().take(100).collect()
}

fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn locate(folder: &Path, name: &str) -> PathBuf {
    let plain = folder.join(format!("{name}.jsonl"));
    if plain.exists() { plain } else { folder.join(format!("{name}.jsonl.gz")) }
}

fn rows(folder: &Path, name: &str) -> Vec<Row> {
    let path = locate(folder, name);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut text = String::new();
    if path.extension().is_some_and(|ending| ending == "gz") {
        flate2::read::MultiGzDecoder::new(bytes.as_slice()).read_to_string(&mut text).unwrap();
    } else {
        text = String::from_utf8(bytes).unwrap();
    }
    text.split('\n').filter(|line| !line.is_empty()).map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn csv<const N: usize>(name: &str) -> Vec<[String; N]> {
    let mut reader = csv::Reader::from_path(root().join("tests/golden").join(name)).unwrap();
    reader
        .records()
        .map(|record| {
            let cells: Vec<String> = record.unwrap().iter().map(str::to_string).collect();
            cells.try_into().unwrap()
        })
        .collect()
}
