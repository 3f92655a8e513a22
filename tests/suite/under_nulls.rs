//! A field of a null is null and a null list has no items, whatever lies under it and however it is asked for.

use super::harness::{block_on, run};
use arrow::array::*;
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field, Fields};
use arrow::util::display::array_value_to_string;
use curator::diag::SourceText;
use curator::{Config, Language, Session};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

fn structs(fields: Vec<(&str, ArrayRef)>, valid: &[bool]) -> ArrayRef {
    let (fields, columns): (Vec<Field>, Vec<ArrayRef>) =
        fields.into_iter().map(|(name, column)| (Field::new(name, column.data_type().clone(), true), column)).unzip();
    Arc::new(StructArray::new(Fields::from(fields), columns, Some(NullBuffer::from(valid.to_vec()))))
}

/// Three rows. In the second everything is null, and has values under it; in the third the field is null itself.
fn write(path: &Path) {
    let numbers = || -> ArrayRef { Arc::new(Int64Array::from(vec![Some(1), Some(2), None])) };
    let st =
        structs(vec![("x", numbers()), ("s", Arc::new(StringArray::from(vec!["a", "b", "c"])))], &[true, false, true]);
    // The outer struct is null; the inner one does not say so.
    let deep = structs(vec![("in", structs(vec![("x", numbers())], &[true, true, true]))], &[true, false, true]);
    let item = structs(vec![("x", numbers())], &[true, false, true]);
    let hidden: ArrayRef = {
        let item = Arc::new(Field::new_list_field(DataType::Int64, true));
        let nulls = NullBuffer::from(vec![true, false, true]);
        Arc::new(ListArray::new(item, OffsetBuffer::from_lengths([1, 1, 1]), numbers(), Some(nulls)))
    };
    let item_field = Arc::new(Field::new_list_field(item.data_type().clone(), true));
    let items: ArrayRef = Arc::new(ListArray::new(item_field, OffsetBuffer::from_lengths([1, 1, 1]), item, None));
    let entries = StructArray::from(vec![
        (
            Arc::new(Field::new("keys", DataType::Utf8, false)),
            Arc::new(StringArray::from(vec!["x", "x", "x"])) as ArrayRef,
        ),
        (Arc::new(Field::new("values", DataType::Int64, true)), numbers()),
    ]);
    let entries_field = Arc::new(Field::new("entries", entries.data_type().clone(), false));
    let nulls = Some(NullBuffer::from(vec![true, false, true]));
    let map: ArrayRef =
        Arc::new(MapArray::new(entries_field, OffsetBuffer::from_lengths([1, 1, 1]), entries, nulls, false));
    let id: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    let columns = [("id", id), ("st", st), ("deep", deep), ("items", items), ("map", map), ("list", hidden)];
    let batch = RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap();
    let mut writer = arrow::ipc::writer::FileWriter::try_new(File::create(path).unwrap(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
}

fn rows(query: &str) -> String {
    let language = if query.starts_with("FROM") { Language::Cql } else { Language::Sql };
    let mut session = Session::new(Config::default()).unwrap();
    let outcomes = block_on(run(&mut session, &SourceText::new("test", query), language));
    let outcomes = match outcomes {
        Ok(outcomes) => outcomes,
        Err(error) => return error.to_string(),
    };
    let mut lines = Vec::new();
    for batch in outcomes.iter().flat_map(|outcome| &outcome.batches) {
        for row in 0..batch.num_rows() {
            let cell = |column: &ArrayRef| match column.is_null(row) {
                true => "NULL".to_string(),
                false => array_value_to_string(column, row).unwrap(),
            };
            lines.push(batch.columns().iter().map(cell).collect::<Vec<_>>().join(" "));
        }
    }
    lines.join("|")
}

#[test]
fn what_lies_under_a_null_is_not_seen_however_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.arrow");
    write(&file);
    let file = file.to_string_lossy();
    let mut wrong = Vec::new();
    for (query, expected) in [
        // A file that has values under a null.
        ("FROM '{f}' |> SELECT st.x", "1|NULL|NULL"),
        ("SELECT st['s'] FROM '{f}'", "a|NULL|c"),
        ("SELECT get_field(st, 's') FROM '{f}'", "a|NULL|c"),
        ("SELECT t.st.s FROM '{f}' AS t", "a|NULL|c"),
        ("FROM '{f}' |> WHERE st.s = 'b'", ""),
        ("FROM '{f}' |> WHERE st.s IS NULL |> SELECT id", "2"),
        ("FROM '{f}' |> ORDER BY st.s DESC NULLS LAST |> SELECT id", "3|1|2"),
        ("FROM '{f}' |> AGGREGATE count(st.s) AS n, max(st.s) AS s", "2 c"),
        ("FROM '{f}' |> AGGREGATE count(*) AS n GROUP BY st.s AS s |> ORDER BY s", "a 1|c 1|NULL 1"),
        ("FROM '{f}' |> DISTINCT ON (st.x) |> SELECT id", "1|2"),
        ("FROM '{f}' |> SET st = coalesce(st, {x: 9, s: 'z'}) |> SELECT st.s", "a|z|c"),
        ("SELECT id FROM '{f}' AS a WHERE EXISTS (SELECT 1 FROM '{f}' AS b WHERE b.st.s = 'b')", ""),
        ("CREATE VIEW v AS SELECT st.s AS s FROM '{f}'; SELECT s FROM v", "a|NULL|c"),
        // Further down.
        ("FROM '{f}' |> SELECT deep.in.x", "1|NULL|NULL"),
        ("FROM '{f}' |> SELECT deep.in AS d |> SELECT d IS NULL", "false|true|false"),
        ("SELECT d['x'] FROM (SELECT deep['in'] AS d FROM '{f}')", "1|NULL|NULL"),
        ("SELECT items[1].x FROM '{f}'", "1|NULL|NULL"),
        ("SELECT map['x'] FROM '{f}'", "1|NULL|NULL"),
        // A null that the query makes.
        ("FROM '{f}' |> SELECT (CASE WHEN id < 2 THEN st END).s", "a|NULL|NULL"),
        ("FROM '{f}' |> SELECT nullif(st, st).s", "NULL|NULL|NULL"),
        ("SELECT (CASE WHEN id < 2 THEN {y: id} END).y FROM '{f}'", "1|NULL|NULL"),
        ("SELECT (CASE WHEN id < 2 THEN {y: {z: id}} END).y.z FROM '{f}'", "1|NULL|NULL"),
        ("FROM '{f}' AS a |> LEFT JOIN '{f}' AS b ON a.id = b.id + 1 |> SELECT b.st.s", "NULL|a|NULL"),
        ("FROM '{f}' |> SELECT lag(st) OVER (ORDER BY id) AS st |> SELECT st.s", "NULL|a|NULL"),
        // Spread into columns.
        ("SELECT unnest(st) FROM '{f}'", "1 a|NULL NULL|NULL c"),
        ("SELECT unnest(CASE WHEN id < 2 THEN {y: id, z: 5} END) FROM '{f}'", "1 5|NULL NULL|NULL NULL"),
        ("SELECT id, unnest(u) FROM (SELECT id, unnest(items) AS u FROM '{f}')", "1 1|2 NULL|3 NULL"),
        ("SELECT u.x FROM (SELECT unnest(items) AS u FROM '{f}')", "1|NULL|NULL"),
        ("SELECT max(m) FROM (SELECT unnest(CASE WHEN id < 2 THEN {m: id} END) AS c FROM '{f}') AS t(m)", "1"),
        ("CREATE TABLE t AS SELECT unnest(st) FROM '{f}'; SELECT * FROM t", "1 a|NULL NULL|NULL c"),
        // Lists and maps.
        ("SELECT array_append(list, 9) FROM '{f}'", "[1, 9]|[9]|[, 9]"),
        ("SELECT list || 9, 9 || list FROM '{f}'", "[1, 9] [9, 1]|[9] [9]|[, 9] [9, ]"),
        ("SELECT array_repeat(list, 2) FROM '{f}'", "[[1], [1]]|[, ]|[[], []]"),
        ("SELECT array_append(CASE WHEN id < 2 THEN [id] END, 9) FROM '{f}'", "[1, 9]|[9]|[9]"),
        (
            "SELECT array_append(CASE WHEN id < 2 THEN arrow_cast([id], 'LargeList(Int64)') END, 9) FROM '{f}'",
            "[1, 9]|[9]|[9]",
        ),
        ("SELECT map_extract(map, 'x'), element_at(map, 'x') FROM '{f}'", "[1] [1]|[] []|[] []"),
        ("CREATE TABLE t AS SELECT array_append(list, 9) AS l FROM '{f}'; SELECT * FROM t", "[1, 9]|[9]|[, 9]"),
        // Nothing else is null.
        ("SELECT {x: 1}.x, {x: {y: 2}}['x']['y'], MAP {'a': 3}['a']", "1 2 3"),
        ("SELECT text_stats('a b').words + (CASE WHEN true THEN text_stats('a').words END)", "3"),
    ] {
        let query = query.replace("{f}", &file);
        let found = rows(&query);
        if found != expected {
            wrong.push(format!("{query}\n  gives {found}\n  not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
