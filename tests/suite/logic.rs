//! SQL logic tests: every record of `tests/sql/*.slt` gives the rows written below it.
//!
//! A statement that begins as a pipeline runs as CQL; everything else is SQL, in the same session.

use super::harness::{block_on, files, root};
use arrow::util::display::array_value_to_string;
use curator::diag::SourceText;
use curator::{Config, Error, Language, Session};
use sqllogictest::{DB, DBOutput, DefaultColumnType, Runner};
use std::num::NonZeroUsize;

struct Curator {
    session: Session,
}

impl DB for Curator {
    type Error = Error;
    type ColumnType = DefaultColumnType;

    fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, Error> {
        let first = sql.split_whitespace().next().unwrap_or_default().to_uppercase();
        let is_cql = ["FROM", "LET", "DEFINE", "SET", "DESCRIBE"].contains(&first.as_str());
        let language = if is_cql { Language::Cql } else { Language::Sql };
        let source = SourceText::new("record", sql);
        let outcomes = block_on(super::harness::run(&mut self.session, &source, language))?;
        let mut rows = Vec::new();
        let mut n_columns = 0;
        for batch in outcomes.iter().flat_map(|outcome| &outcome.batches) {
            n_columns = batch.num_columns();
            for row in 0..batch.num_rows() {
                let cell = |column: &arrow::array::ArrayRef| {
                    if column.logical_nulls().is_some_and(|nulls| nulls.is_null(row)) {
                        return "NULL".to_string();
                    }
                    let text = array_value_to_string(column, row).unwrap();
                    if text.is_empty() { "(empty)".to_string() } else { text.replace('\n', "\\n") }
                };
                rows.push(batch.columns().iter().map(cell).collect());
            }
        }
        if n_columns == 0 {
            return Ok(DBOutput::StatementComplete(0));
        }
        Ok(DBOutput::Rows { types: vec![DefaultColumnType::Any; n_columns], rows })
    }

    fn engine_name(&self) -> &str {
        "curator"
    }
}

fn without_rules_in_small_batches() -> Config {
    let count = |n| NonZeroUsize::new(n).unwrap();
    Config { optimize: false, threads: count(4), batch_rows: count(3), batch_bytes: count(1000), ..Config::default() }
}

#[test]
fn every_record_gives_its_rows() {
    let mut failed = Vec::new();
    for path in files("tests/sql", ".slt") {
        for config in [Config::default(), without_rules_in_small_batches()] {
            let scratch = tempfile::tempdir().unwrap();
            let mut runner = Runner::new(|| async { Ok(Curator { session: Session::new(config.clone()).unwrap() }) });
            // Records with files say `$OUT` for a folder that is empty at first.
            let out = scratch.path().to_string_lossy().into_owned();
            let script = std::fs::read_to_string(root().join(&path)).unwrap().replace("$OUT", &out);
            if let Err(error) = runner.run_script_with_name(&script, path.to_string_lossy()) {
                failed.push(error.to_string());
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}
