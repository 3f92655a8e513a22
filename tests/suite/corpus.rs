//! Every query of `tests/corpus` has its tree, plans and rows in a golden file: a change of any shows in review.

use super::harness::{block_on, files, language_of, name_of, read, run_file, session_for};
use curator::Config;
use curator::internals;

#[test]
fn every_corpus_query_gives_its_golden_tree_plans_and_rows() {
    let mut failed = Vec::new();
    for path in files("tests/corpus", ".cql") {
        let source = read(&path);
        let outcomes = match block_on(run_file(&path, Config::default())) {
            Ok(outcomes) => outcomes,
            Err(error) => {
                failed.push(format!("{}: {error}", path.display()));
                continue;
            }
        };
        let script = session_for(&source, Config::default()).parse(&source, language_of(&path)).unwrap();
        let mut text = format!("== ast\n{}", internals::tree(&script));
        for outcome in &outcomes {
            let rows = if outcome.report.files.is_empty() {
                outcome.rows()
            } else {
                format!("{} rows written\n", outcome.report.rows_out)
            };
            text += &format!("\n== logical\n{}\n== optimized\n{}\n== rows\n{rows}", outcome.logical, outcome.optimized);
        }
        let golden = std::panic::catch_unwind(|| {
            insta::with_settings!({ snapshot_path => "../corpus/golden", prepend_module_to_snapshot => false, omit_expression => true }, {
                insta::assert_snapshot!(name_of(&path), text);
            });
        });
        if golden.is_err() {
            failed.push(format!("{}: differs from its golden file", path.display()));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
