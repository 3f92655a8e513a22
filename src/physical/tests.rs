//! Explain and funnel over executed plans.

#![allow(clippy::unwrap_used)]

use super::OnePass;
use crate::exec::explain::{ExplainFormat, analyzed, logical, physical};
use crate::exec::{RunLog, report};
use datafusion::config::ConfigOptions;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::{DataFrame, SessionConfig, SessionContext};
use std::sync::Arc;

async fn query(context: &SessionContext, sql: &str) -> DataFrame {
    let rows: Vec<String> = (0..100).map(|i| format!("({i}, {}, 'doc {}')", i % 10, i % 4)).collect();
    let table = format!("CREATE TABLE IF NOT EXISTS t AS SELECT * FROM (VALUES {}) AS v(i, x, text)", rows.join(", "));
    context.sql(&table).await.unwrap().collect().await.unwrap();
    context.sql(sql).await.unwrap()
}

fn session() -> SessionContext {
    SessionContext::new_with_config(SessionConfig::new().with_target_partitions(2).with_batch_size(7))
}

/// The plan of `sql`, executed.
fn run(sql: &str) -> Arc<dyn ExecutionPlan> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let context = session();
        let plan = query(&context, sql).await.create_physical_plan().await.unwrap();
        let rule = OnePass::new(Arc::new(|_| None), 1 << 20, true);
        let plan = rule.optimize(plan, &ConfigOptions::new()).unwrap();
        collect(Arc::clone(&plan), context.task_ctx()).await.unwrap();
        plan
    })
}

fn funnel(sql: &str) -> Vec<(String, u64, u64)> {
    let report = report(&[run(sql)], &RunLog::default());
    assert_eq!(report.rows_out, report.steps.last().unwrap().rows_out);
    report.steps.into_iter().map(|step| (step.label, step.rows_in, step.rows_out)).collect()
}

fn steps(expected: &[(&str, u64, u64)]) -> Vec<(String, u64, u64)> {
    expected.iter().map(|(label, rows_in, rows_out)| (label.to_string(), *rows_in, *rows_out)).collect()
}

#[test]
fn each_condition_is_a_step_and_rows_add_up() {
    assert_eq!(
        funnel("SELECT text FROM t WHERE x > 3 AND i < 50 AND text LIKE '%1%'"),
        steps(&[
            ("DataSource", 0, 100),
            ("WHERE i < 50", 100, 50),
            ("WHERE x > 3", 50, 30),
            ("WHERE text LIKE '%1%'", 30, 8)
        ])
    );
}

#[test]
fn groups_distinct_and_limits_are_steps() {
    assert_eq!(
        funnel("SELECT x, count(*) FROM t GROUP BY x"),
        steps(&[("DataSource", 0, 100), ("GROUP BY x", 100, 10)])
    );
    assert_eq!(funnel("SELECT DISTINCT text FROM t"), steps(&[("DataSource", 0, 100), ("DISTINCT text", 100, 4)]));
    let limited = funnel("SELECT i FROM t WHERE x > 3 ORDER BY i LIMIT 5");
    assert_eq!(limited.last().unwrap(), &("LIMIT 5".to_string(), 60, 5));
}

#[test]
fn the_side_input_of_a_join_comes_before_the_documents() {
    let joined = funnel("SELECT t.i FROM t JOIN (SELECT i FROM t WHERE i < 3) AS u ON t.x = u.i");
    assert_eq!(joined.last().unwrap(), &("JOIN".to_string(), 100, 30));
    assert_eq!(joined[joined.len() - 2], ("DataSource".to_string(), 0, 100));
    let union = funnel("SELECT i FROM t WHERE x > 3 UNION ALL SELECT i FROM t");
    assert_eq!(union.last().unwrap(), &("UNION ALL".to_string(), 160, 160));
}

#[test]
fn analyze_shows_rows_and_what_each_condition_dropped() {
    let text = analyzed(run("SELECT text FROM t WHERE x > 3 AND i < 50").as_ref());
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    assert!(text.contains("x > 3 in 100 dropped 40"), "{text}");
    assert!(text.contains("i < 50 in 60 dropped 30"), "{text}");
    assert!(text.contains("AnnotateExec: text │ rows 30 expected 36 bytes"), "{text}");
}

#[test]
fn plans_are_shown_as_tree_json_and_dot() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let context = session();
        let frame = query(&context, "SELECT text AS \"a\"\"b\" FROM t WHERE x > (SELECT max(i) FROM t)").await;
        let plan = frame.logical_plan().clone();
        let shown = logical(&plan, ExplainFormat::Tree);
        assert!(
            shown.starts_with("Projection: t.text AS a\"b\n  Filter: t.x > (<subquery>)\n    Subquery\n"),
            "{shown}"
        );
        assert!(shown.ends_with("    TableScan: t\n"), "{shown}");
        let json: serde_json::Value = serde_json::from_str(&logical(&plan, ExplainFormat::Json)).unwrap();
        assert_eq!(json["children"][0]["name"], "Filter");
        let dot = logical(&plan, ExplainFormat::Dot);
        assert!(dot.contains(r#"n0 [label="Projection: t.text AS a\"b"];"#) && dot.contains("n1 -> n0;"), "{dot}");
        let plan = frame.create_physical_plan().await.unwrap();
        let tree = physical(plan.as_ref(), ExplainFormat::Tree);
        assert_eq!(tree, physical(plan.as_ref(), ExplainFormat::Tree));
        assert!(tree.contains("DataSourceExec: partitions="), "{tree}");
    });
}
