//! Plans over one table that is read from lines and one that is not.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::sources::OtherFields;
use crate::verb::verb_plan;
use crate::verbs::write::Write;
use arrow::datatypes::{DataType, Field, Schema};
use datafusion::datasource::empty::EmptyTable;
use datafusion::datasource::provider_as_source;
use datafusion::prelude::SessionContext;
use insta::assert_snapshot;

fn table(names: &[&str]) -> Arc<EmptyTable> {
    let fields: Vec<Field> = names.iter().map(|name| Field::new(*name, DataType::Utf8, true)).collect();
    Arc::new(EmptyTable::new(Arc::new(Schema::new(fields))))
}

/// The plan of a query over `lines (id, text, _extra)` and `other (id, score)` that writes to `location`.
fn analyzed(location: &str, sql: &str) -> String {
    let hook: LineHook = Arc::new(|source| {
        let field = |name: &str| LineField::Named(name.to_string());
        let columns = vec![field("id"), field("text"), LineField::Others];
        let is_read_from_lines = source.schema().field_with_name("text").is_ok();
        let source = provider_as_source(table(&["id", "text", "_extra", LINE_COLUMN]));
        is_read_from_lines.then_some((source, LineFields { columns, others: OtherFields::Held }))
    });
    let context = SessionContext::new();
    context.register_table("lines", table(&["id", "text", "_extra"])).unwrap();
    context.register_table("other", table(&["id", "score"])).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let plan = runtime.block_on(context.state().create_logical_plan(sql)).unwrap();
    let verb = Write { location: location.to_string(), options: vec![], lines: None, appends: false };
    let write = verb_plan(verb, vec![plan]).unwrap();
    let plan = KeepSourceLines::new(hook).analyze(write, &ConfigOptions::default()).unwrap();
    plan.display_indent().to_string()
}

#[test]
fn a_filter_leaves_only_the_line_to_be_written() {
    assert_snapshot!(analyzed("none/b.jsonl", "SELECT * FROM lines WHERE text <> ''"), @r#"
    Write: 'none/b.jsonl', source lines unchanged
      Projection: lines._source_line AS _source_line
        Projection: lines.id, lines.text, lines._extra, lines._source_line
          Filter: lines.text != Utf8("")
            TableScan: lines
    "#);
}

#[test]
fn only_what_the_query_computes_comes_in_columns() {
    assert_snapshot!(analyzed("none/b.jsonl", "SELECT id, upper(text) AS text, 1 AS one FROM lines ORDER BY id LIMIT 3"), @r"
    Write: 'none/b.jsonl', fields of source lines and text, one
      Projection: text, one, lines._source_line AS _source_line
        Limit: skip=0, fetch=3
          Sort: lines.id ASC NULLS LAST
            Projection: lines.id, upper(lines.text) AS text, Int64(1) AS one, lines._source_line
              TableScan: lines
    ");
}

#[test]
fn a_join_carries_the_lines_of_its_left_side() {
    assert_snapshot!(analyzed("none/b.jsonl", "SELECT l.*, o.score FROM lines l JOIN other o ON l.id = o.id"), @r"
    Write: 'none/b.jsonl', fields of source lines and score
      Projection: o.score, l._source_line AS _source_line
        Projection: l.id, l.text, l._extra, o.score, l._source_line
          Inner Join:  Filter: l.id = o.id
            SubqueryAlias: l
              TableScan: lines
            SubqueryAlias: o
              TableScan: other
    ");
}

#[test]
fn branches_without_lines_have_nulls_for_them() {
    assert_snapshot!(analyzed("none/b.jsonl", "SELECT id FROM lines UNION ALL SELECT id FROM other"), @r"
    Write: 'none/b.jsonl', fields of source lines
      Projection: id, _source_line AS _source_line
        Union
          Projection: lines.id AS id, lines._source_line AS _source_line
            Projection: lines.id, lines._source_line
              TableScan: lines
          Projection: other.id AS id, Utf8(NULL) AS _source_line
            Projection: other.id
              TableScan: other
    ");
}

#[test]
fn other_formats_other_sources_and_groups_are_written_from_columns() {
    for (location, sql) in [
        ("none/b.parquet", "SELECT * FROM lines"),
        ("none/b.csv", "SELECT * FROM lines"),
        ("none/b.jsonl", "SELECT * FROM other"),
        ("none/b.jsonl", "SELECT id, count(*) FROM lines GROUP BY id"),
        ("none/b.jsonl", "SELECT id, text AS _source_line FROM lines"),
        ("none/b.jsonl", "SELECT o.* FROM other o JOIN lines l ON l.id = o.id"),
    ] {
        let plan = analyzed(location, sql);
        assert!(!plan.contains("source lines"), "{plan}");
    }
}
