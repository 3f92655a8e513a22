//! The same query in CQL and in SQL: one optimized plan, the same bytes.

use super::harness::{Outcome, block_on, files, name_of, run_file};
use curator::Config;

/// A plan without the names of the files that its columns are of: a column that a verb replaced is still one of its
/// file, and one that SQL computed is of none.
fn unqualified(plan: &str) -> String {
    plan.replace("tests/corpus/data/docs.jsonl.", "")
}

#[test]
fn a_query_in_cql_and_in_sql_has_one_plan_and_the_same_rows() {
    let mut different = Vec::new();
    let mut n_pairs = 0;
    for cql in files("tests/corpus/pairs", ".cql") {
        let sql = cql.with_extension("sql");
        // Both sides write to the same place, one after the other.
        let both = [&cql, &sql].map(|path| {
            block_on(run_file(path, Config::default())).map_err(|error| format!("{}: {error}", path.display()))
        });
        n_pairs += 1;
        let [cql_side, sql_side] = match both {
            [Ok(cql), Ok(sql)] => [cql, sql],
            [cql, sql] => {
                different.extend(cql.err().into_iter().chain(sql.err()));
                continue;
            }
        };
        let name = name_of(&cql);
        if cql_side.len() != sql_side.len() {
            different.push(format!("{name}: {} statements in CQL, {} in SQL", cql_side.len(), sql_side.len()));
        }
        for (cql, sql) in cql_side.iter().zip(&sql_side) {
            if unqualified(&cql.optimized) != unqualified(&sql.optimized) {
                different.push(format!("{name}: plans differ\n--- CQL\n{}\n--- SQL\n{}", cql.optimized, sql.optimized));
            }
            if cql.written != sql.written {
                let sizes = |side: &Outcome| -> Vec<String> {
                    side.written.iter().map(|(path, bytes)| format!("{} {} B", path.display(), bytes.len())).collect()
                };
                different.push(format!("{name}: files differ\n  CQL {:?}\n  SQL {:?}", sizes(cql), sizes(sql)));
            }
            if cql.rows() != sql.rows() {
                different.push(format!("{name}: rows differ\n--- CQL\n{}\n--- SQL\n{}", cql.rows(), sql.rows()));
            }
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n\n"));
    assert!(n_pairs >= 15);
}
