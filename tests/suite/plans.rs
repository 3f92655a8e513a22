//! Queries of `tests/plans` come in pairs, CQL and SQL: one optimized plan, and both plans as their golden file shows.
//! Nothing is run, so what they read and write need not be there.

use super::harness::{block_on, files, language_of, name_of, read, session_for};
use curator::Config;
use curator::{Compiled, ExplainFormat, Stage};
use std::path::Path;

/// The logical and the optimized plan of one statement of a file, in a session of its own.
fn plans(path: &Path, index: usize) -> [String; 2] {
    let source = read(path);
    let mut session = session_for(&source, Config::default());
    block_on(async {
        let script = session.parse(&source, language_of(path)).unwrap_or_else(|error| panic!("{error}"));
        let plan = match session.compile(&script, index).await.unwrap_or_else(|error| panic!("{error}")) {
            Compiled::Query(plan) => plan,
            _ => panic!("statement {index} is no query"),
        };
        let logical = session.explain(&plan, Stage::Logical, ExplainFormat::Tree).await.unwrap();
        [logical, session.explain(&plan, Stage::Optimized, ExplainFormat::Tree).await.unwrap()]
    })
}

#[test]
fn both_languages_give_the_golden_plans() {
    for path in files("tests/plans", ".cql") {
        let source = read(&path);
        let statements = session_for(&source, Config::default()).parse(&source, language_of(&path)).unwrap().statements;
        let mut text = String::new();
        for (pair, statements) in statements.chunks(2).enumerate() {
            let [cql, _sql] = statements else { panic!("a query without a partner") };
            let written = source.slice(cql.span);
            let [logical, optimized] = plans(&path, pair * 2);
            let [_, optimized_sql] = plans(&path, pair * 2 + 1);
            assert_eq!(optimized, optimized_sql, "{written}");
            text += &format!("== {written}\n{logical}\n== optimized\n{optimized}\n");
        }
        insta::with_settings!({ snapshot_path => "../plans/golden", prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(name_of(&path), text);
        });
    }
}
