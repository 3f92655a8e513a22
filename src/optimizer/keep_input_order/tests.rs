//! Queries over a table whose rows arrive on four threads.

#![allow(clippy::unwrap_used)]

use super::*;
use arrow::array::{Array, Int64Array, RecordBatch, StringArray, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::datasource::{DefaultTableSource, MemTable, provider_as_source};
use datafusion::execution::SessionStateBuilder;
use datafusion::logical_expr::UserDefinedLogicalNodeCore;
use datafusion::physical_plan::{collect, displayable};
use datafusion::prelude::{SessionConfig, SessionContext, col};
use std::collections::HashMap;

const N_ROWS: usize = 40;

/// `id` counts down, `x` is `id % 3`, `name` says the table; blocks of three rows go around four partitions.
fn table(name: &str, with_seq: bool) -> Arc<MemTable> {
    let mut fields = vec![
        Field::new("id", DataType::Int64, false),
        Field::new("x", DataType::Int64, true),
        Field::new("name", DataType::Utf8, false),
    ];
    if with_seq {
        fields.push(Field::new(POSITION_COLUMN, DataType::UInt64, false));
    }
    let schema = Arc::new(Schema::new(fields));
    let mut partitions = vec![vec![]; 4];
    let rows: Vec<usize> = (0..N_ROWS).collect();
    for (block, rows) in rows.chunks(3).enumerate() {
        let ids: Vec<i64> = rows.iter().map(|&row| (N_ROWS - row) as i64).collect();
        let mut columns: Vec<Arc<dyn Array>> = vec![
            Arc::new(Int64Array::from(ids.clone())),
            Arc::new(Int64Array::from_iter_values(ids.iter().map(|id| id % 3))),
            Arc::new(StringArray::from_iter_values(ids.iter().map(|_| name))),
        ];
        if with_seq {
            columns.push(Arc::new(UInt64Array::from_iter_values(rows.iter().map(|&row| row as u64))));
        }
        partitions[block % 4].push(RecordBatch::try_new(Arc::clone(&schema), columns).unwrap());
    }
    let table = MemTable::try_new(schema, partitions).unwrap();
    let order = if with_seq { vec![vec![col(POSITION_COLUMN).sort(true, false)]] } else { vec![] };
    Arc::new(table.with_sort_order(order))
}

async fn session() -> SessionContext {
    let plain = HashMap::from(["a", "b"].map(|name| (name, table(name, false))));
    let tables = plain.clone();
    let hook: PositionHook = Arc::new(move |source| {
        let provider = &source.downcast_ref::<DefaultTableSource>()?.table_provider;
        let same = |table: &Arc<MemTable>| Arc::as_ptr(provider).cast::<()>() == Arc::as_ptr(table).cast::<()>();
        let (name, _) = tables.iter().find(|(_, table)| same(table))?;
        Some(provider_as_source(table(name, true)))
    });
    let config = SessionConfig::new()
        .with_target_partitions(4)
        .with_batch_size(5)
        // Else the SQL planner forgets `ORDER BY` in a subquery before any rule sees it.
        .set_bool("datafusion.sql_parser.enable_subquery_sort_elimination", false);
    let state = SessionStateBuilder::new_with_default_features()
        .with_config(config)
        .with_analyzer_rule(Arc::new(KeepInputOrder::new(hook, Arc::new(|_, _| Ok(None)))))
        .build();
    let context = SessionContext::new_with_state(state);
    for (name, table) in plain {
        context.register_table(name, table).unwrap();
    }
    context
}

/// The physical plan, and the rows as text, values joined by `,` and rows by a blank.
fn run(sql: &str) -> (String, String) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).build().unwrap();
    runtime.block_on(async {
        let context = session().await;
        let plan = context.sql(sql).await.unwrap().create_physical_plan().await.unwrap();
        let shown = displayable(plan.as_ref()).indent(false).to_string();
        let names: Vec<String> = plan.schema().fields().iter().map(|field| field.name().clone()).collect();
        assert!(names.iter().all(|name| !name.starts_with(POSITION_COLUMN)), "{names:?}");
        let mut rows = vec![];
        for batch in collect(plan, context.task_ctx()).await.unwrap() {
            let options = FormatOptions::default();
            let format = |column| ArrayFormatter::try_new(column, &options).unwrap();
            let columns: Vec<_> = batch.columns().iter().map(|column| format(column.as_ref())).collect();
            for row in 0..batch.num_rows() {
                rows.push(columns.iter().map(|column| column.value(row).to_string()).collect::<Vec<_>>().join(","));
            }
        }
        (shown, rows.join(" "))
    })
}

fn rows_of(sql: &str) -> String {
    run(sql).1
}

fn ids(from: std::ops::RangeInclusive<i64>, keep: impl Fn(i64) -> bool) -> String {
    from.rev().filter(|id| keep(*id)).map(|id| id.to_string()).collect::<Vec<_>>().join(" ")
}

#[test]
fn row_local_queries_keep_the_order_by_a_merge_alone() {
    for sql in [
        "SELECT id FROM a",
        "SELECT id FROM a WHERE x < 5",
        "SELECT i AS id FROM (SELECT id AS i, x + 1 AS y FROM a) AS t WHERE y > 0",
    ] {
        let (plan, rows) = run(sql);
        assert_eq!(rows, ids(1..=40, |_| true), "{sql}");
        assert!(plan.contains("SortPreservingMergeExec") && !plan.contains("SortExec"), "{sql}\n{plan}");
    }
}

#[test]
fn limit_takes_the_first_rows_of_the_input() {
    assert_eq!(rows_of("SELECT id FROM a LIMIT 4"), "40 39 38 37");
    assert_eq!(rows_of("SELECT id FROM a WHERE x = 0 LIMIT 2 OFFSET 1"), "36 33");
    assert_eq!(rows_of("SELECT count(*) FROM (SELECT id FROM a LIMIT 4) WHERE id > 38"), "2");
    assert_eq!(rows_of("SELECT id FROM b WHERE id IN (SELECT id FROM a LIMIT 2)"), "40 39");
}

#[test]
fn union_all_gives_branch_after_branch_without_sorting() {
    let (plan, rows) = run("SELECT name, id FROM b WHERE id > 38 UNION ALL SELECT name, id FROM a WHERE id > 38");
    assert_eq!(rows, "b,40 b,39 a,40 a,39");
    assert!(!plan.contains("SortExec"), "{plan}");
    let three = "SELECT id FROM b WHERE id > 39 UNION ALL (SELECT id FROM a WHERE id < 2 UNION ALL SELECT id FROM b \
                 WHERE id = 7) UNION ALL SELECT id FROM a LIMIT 4";
    assert_eq!(rows_of(three), "40 1 7 40");
}

#[test]
fn union_all_of_different_kinds_gives_branch_after_branch() {
    let sql = "SELECT id, name FROM b WHERE id > 38 UNION ALL SELECT x, max(name) FROM a GROUP BY x";
    assert_eq!(rows_of(sql), "40,b 39,b 0,a 1,a 2,a");
}

#[test]
fn order_by_breaks_ties_by_input_order_and_is_kept_by_what_follows() {
    let expected = format!("{} {}", ids(1..=40, |id| id % 3 == 1), ids(1..=40, |id| id % 3 == 2));
    assert_eq!(rows_of("SELECT id FROM a WHERE x > 0 ORDER BY x"), expected);
    assert_eq!(rows_of("SELECT id FROM (SELECT * FROM a ORDER BY x + 1) WHERE x > 0"), expected);
    assert_eq!(rows_of("SELECT id FROM a ORDER BY x DESC LIMIT 2"), "38 35");
}

#[test]
fn distinct_keeps_the_first_of_equal_rows_in_their_order() {
    assert_eq!(rows_of("SELECT DISTINCT x FROM a"), "1 0 2");
    assert_eq!(rows_of("SELECT x FROM a WHERE id < 39 UNION SELECT x FROM b"), "2 1 0");
}

#[test]
fn groups_come_sorted_and_aggregates_see_rows_in_order() {
    assert_eq!(rows_of("SELECT x, count(*) FROM a GROUP BY x"), "0,13 1,14 2,13");
    assert_eq!(rows_of("SELECT x, array_agg(id) FROM a WHERE id > 34 GROUP BY x"), "0,[39, 36] 1,[40, 37] 2,[38, 35]");
    assert_eq!(rows_of("SELECT first_value(id), last_value(id) AS l FROM a"), "40,1");
    assert_eq!(rows_of("SELECT string_agg(id, '-') FROM a WHERE id > 37"), "40-39-38");
}

#[test]
fn row_numbers_follow_the_input() {
    assert_eq!(rows_of("SELECT id, row_number() OVER () AS n FROM a LIMIT 3"), "40,1 39,2 38,3");
    let per_group = "SELECT id, row_number() OVER (PARTITION BY x ORDER BY name) FROM a WHERE id > 36";
    assert_eq!(rows_of(per_group), "40,1 39,1 38,1 37,2");
    assert_eq!(rows_of("SELECT id, rank() OVER (ORDER BY x) FROM a WHERE id > 36"), "40,2 39,1 38,4 37,2");
}

#[test]
fn joins_follow_the_left_side_then_the_right() {
    let sql = "SELECT a.id, b.id FROM a JOIN b ON a.x = b.x WHERE a.id > 38 AND b.id > 34";
    assert_eq!(rows_of(sql), "40,40 40,37 39,39 39,36");
    assert_eq!(rows_of("SELECT id FROM a WHERE id IN (SELECT id + 10 FROM b) LIMIT 2"), "40 39");
    assert_eq!(
        rows_of("SELECT t.id, u.id FROM a AS t LEFT JOIN a AS u ON t.id = u.id - 39 LIMIT 2"),
        "40,NULL 39,NULL".replace("NULL", "")
    );
    let both = "SELECT * FROM (SELECT a.id AS i, b.name FROM a JOIN b USING (id)) AS t WHERE i > 38";
    assert_eq!(rows_of(both), "40,b 39,b");
}

#[test]
fn values_and_unnested_lists_keep_their_order() {
    assert_eq!(rows_of("SELECT * FROM (VALUES (3), (1), (2)) AS t(v)"), "3 1 2");
    assert_eq!(rows_of("SELECT id, unnest([x, 7]) FROM a LIMIT 4"), "40,1 40,7 39,0 39,7");
}

#[test]
fn a_source_without_positions_is_left_alone() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let context = session().await;
        context.register_table("c", table("c", false)).unwrap();
        let query = context.sql("SELECT id FROM c WHERE x > 0").await.unwrap();
        let shown = query.into_optimized_plan().unwrap().display_indent().to_string();
        assert!(!shown.contains("Sort") && !shown.contains(POSITION_COLUMN), "{shown}");
    });
}

/// A node that no rule of ours has heard of.
#[derive(Debug, PartialEq, Eq, Hash, PartialOrd)]
struct Strange(LogicalPlan);

impl UserDefinedLogicalNodeCore for Strange {
    fn name(&self) -> &str {
        "Strange"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.0]
    }

    fn schema(&self) -> &DFSchemaRef {
        self.0.schema()
    }

    fn expressions(&self) -> Vec<Expr> {
        vec![]
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("Strange")
    }

    fn with_exprs_and_inputs(&self, _exprs: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<Self> {
        Ok(Self(inputs.remove(0)))
    }
}

#[test]
fn a_node_that_nobody_taught_the_rule_is_an_error_and_no_silent_loss() {
    let rows = datafusion::logical_expr::LogicalPlanBuilder::empty(true).build().unwrap();
    let plan = LogicalPlan::Extension(Extension { node: Arc::new(Strange(rows)) });
    let rule = KeepInputOrder::new(Arc::new(|_| None), Arc::new(|_, _| Ok(None)));
    let error = rule.analyze(plan, &ConfigOptions::new()).unwrap_err().to_string();
    assert!(error.contains("the order of the rows of `Strange`"), "{error}");
}
