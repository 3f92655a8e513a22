//! Explain and funnel over executed plans.

#![allow(clippy::unwrap_used)]

use super::OnePass;
use crate::exec::explain::{ExplainFormat, analyzed, logical, physical};
use crate::exec::{RunLog, report};
use crate::sources::RejectLog;
use arrow::array::{AsArray, Int64Array};
use arrow::datatypes::DataType;
use datafusion::config::ConfigOptions;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
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

/// A number for each text, and a panic for one that holds `fatal`.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Fragile(Signature);

impl ScalarUDFImpl for Fragile {
    fn name(&self) -> &str {
        "fragile"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn return_type(&self, _arg_types: &[DataType]) -> datafusion::error::Result<DataType> {
        Ok(DataType::Int64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> datafusion::error::Result<ColumnarValue> {
        let texts = args.args[0].to_array(args.number_rows)?;
        let lengths = texts.as_string_view().iter().map(|text| {
            let text = text.unwrap_or_default();
            assert!(text != "doc 3", "this text is fatal");
            Some(text.len() as i64)
        });
        Ok(ColumnarValue::Array(Arc::new(Int64Array::from_iter(lengths))))
    }
}

#[test]
fn a_document_that_an_operator_fails_on_is_set_aside_and_counted_by_nobody() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let log = Arc::new(RejectLog::new(None, false));
    let plan = runtime.block_on(async {
        let config = SessionConfig::new().with_target_partitions(2).with_batch_size(7).with_extension(log.clone());
        let context = SessionContext::new_with_config(config);
        context.register_udf(ScalarUDF::new_from_impl(Fragile(Signature::any(1, Volatility::Immutable))));
        let sql = "SELECT i FROM t WHERE x > 3 AND fragile(arrow_cast(text, 'Utf8View')) > 0 AND i < 50";
        let plan = query(&context, sql).await.create_physical_plan().await.unwrap();
        let rule = OnePass::new(Arc::new(|_| None), 1 << 20, true);
        let plan = rule.optimize(plan, &ConfigOptions::new()).unwrap();
        collect(Arc::clone(&plan), context.task_ctx()).await.unwrap();
        plan
    });
    let rows = log.summary();
    assert!(rows.n_rejects > 0 && rows.first[0].contains("this text is fatal"), "{rows:?}");
    let report = report(&[plan], &RunLog::default());
    // It is a step of its own; the rules see the others, each once.
    let (aside, first, last) = (&report.steps[1], &report.steps[2], report.steps.last().unwrap());
    assert_eq!((aside.rows_in, aside.rows_out + rows.n_rejects), (100, 100));
    assert_eq!(first.rows_in, aside.rows_out);
    let expected = (0..50).filter(|i| i % 10 > 3 && i % 4 != 3).count() as u64;
    assert_eq!((last.rows_out, report.rows_out), (expected, expected));
}
