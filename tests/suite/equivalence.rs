//! The result does not depend on how it is computed: rules on or off, one thread or four, batches and splits of any size.

use super::harness::{block_on, files, run_file};
use curator::Config;
use std::num::NonZeroUsize;

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
    let mut different = Vec::new();
    for path in files("tests/corpus", ".cql").into_iter().chain(files("tests/corpus/pairs", ".cql")) {
        // What it shows is the plan itself, which does depend on the threads.
        if path.ends_with("describe_and_explain.cql") {
            continue;
        }
        let rows = |config: &Config| -> Result<Vec<String>, String> {
            let outcomes = block_on(run_file(&path, config.clone())).map_err(|error| error.to_string())?;
            Ok(outcomes.iter().map(|outcome| outcome.rows()).collect())
        };
        let expected = rows(&base);
        for (way, config) in &ways {
            let found = rows(config);
            if found != expected {
                different.push(format!("{} {way}: {found:?}\nexpected: {expected:?}", path.display()));
            }
        }
    }
    assert!(different.is_empty(), "{} differ:\n{}", different.len(), different.join("\n"));
}
