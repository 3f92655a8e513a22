//! The result does not depend on how it is computed: rules on or off, one thread or four, batches and splits of any size.

use super::harness::{block_on, files, language_of, read, run_file, session_for};
use curator::DeviceChoice;
use curator::internals::OPTIONAL_RULES;
use curator::{Compiled, ExplainFormat, Stage};
use curator::{Config, Error};
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

fn queries() -> impl Iterator<Item = PathBuf> {
    files("tests/corpus", ".cql").into_iter().chain(files("tests/corpus/pairs", ".cql"))
}

#[test]
fn rows_and_their_order_do_not_depend_on_rules_threads_batches_or_splits() {
    let count = |n| NonZeroUsize::new(n).unwrap();
    let base = Config { threads: count(1), ..Config::default() };
    let ways = [
        ("without our rules", Config { optimize: false, ..base.clone() }),
        ("4 threads", Config { threads: count(4), ..base.clone() }),
        ("batches of 1", Config { batch_rows: count(1), threads: count(4), ..base.clone() }),
        (
            "batches of 7 and 100 bytes",
            Config { batch_rows: count(7), batch_bytes: count(100), threads: count(4), ..base.clone() },
        ),
        ("splits of 300 bytes", Config { block_bytes: count(300), threads: count(3), ..base.clone() }),
    ];
    let mut ways: Vec<(String, Config)> = ways.into_iter().map(|(way, config)| (way.to_string(), config)).collect();
    ways.extend(OPTIONAL_RULES.map(|rule| {
        let config = Config { disabled_rules: vec![rule.to_string()], threads: count(4), ..base.clone() };
        (format!("without {rule}"), config)
    }));
    let mut different = Vec::new();
    for path in queries() {
        // What it shows is the plan itself, which does depend on the threads.
        if path.ends_with("describe_and_explain.cql") {
            continue;
        }
        let rows = |config: &Config| -> Result<Vec<String>, String> {
            let outcomes = block_on(run_file(&path, config.clone())).map_err(|error| error.to_string())?;
            Ok(outcomes.iter().map(|outcome| outcome.rows()).collect())
        };
        let expected = rows(&base);
        let query = read(&path);
        let depends_on_splits = ["SAMPLE", "SHUFFLE"].iter().any(|verb| query.text().contains(verb));
        for (way, config) in &ways {
            // A sample, and a shuffle, goes by the positions of rows, which begin with the piece of the file.
            if depends_on_splits && config.block_bytes != base.block_bytes {
                continue;
            }
            let found = rows(config);
            if found != expected {
                different.push(format!("{} {way}: {found:?}\nexpected: {expected:?}", path.display()));
            }
        }
    }
    assert!(different.is_empty(), "{} differ:\n{}", different.len(), different.join("\n"));
}

/// The plans of a file's queries, after the optimizer and as they would be executed.
async fn plans(path: &Path, config: Config) -> Result<Vec<String>, Error> {
    let source = read(path);
    let mut session = session_for(&source, config);
    let script = session.parse(&source, language_of(path))?;
    let mut plans = vec![];
    for index in 0..script.statements.len() {
        if let Compiled::Query(plan) = session.compile(&script, index).await? {
            session.define(&plan).await;
            for stage in [Stage::Optimized, Stage::Placed] {
                plans.push(session.explain(&plan, stage, ExplainFormat::Tree).await?);
            }
        }
    }
    Ok(plans)
}

/// Without this, the comparison above might compare nothing.
#[test]
fn every_rule_that_can_be_left_out_changes_the_plan_of_some_query() {
    let profile = Some("t4".to_string());
    let threads = NonZeroUsize::new(4).unwrap();
    let base = Config { threads, profile, device: DeviceChoice::Gpu, ..Config::default() };
    let mut idle: BTreeSet<&str> = OPTIONAL_RULES.into();
    for path in queries() {
        // A query that reads what another one writes has no plan before that one has run.
        let Ok(expected) = block_on(plans(&path, base.clone())) else { continue };
        idle.retain(|rule| {
            let config = Config { disabled_rules: vec![rule.to_string()], ..base.clone() };
            block_on(plans(&path, config)).unwrap() == expected
        });
    }
    assert!(idle.is_empty(), "no query of the corpus needs {idle:?}");
}
