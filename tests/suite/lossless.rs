//! What is read from JSON Lines and written to JSON Lines loses nothing: unchanged rows are their own bytes, and changed
//! rows differ in what the query changed.

use super::harness::{block_on, run};
use curator::diag::SourceText;
use curator::{Config, Language, Session};
use proptest::prelude::*;
use std::io::Write;
use std::path::Path;
use tempfile::TempDir;

/// Everything that a column would change: white space, order and repetition of keys, escapes, spellings of numbers, fields
/// that are not there, nulls, several types in one field, mixed lists, fields that turn up late.
const MESS: &str = r#"{"id": 1, "text": "a b", "n": 1e2}
{"id":"2","text":"caf\u00e9 \/ \ud83d\ude00","n":1.0}
  { "text" :"c" ,"id":3.50 , "n" : -0 }  
{"n":12345678901234567890123,"id":4,"text":"d\n\te"}
{"id":5}
{"id":null,"text":null,"n":null}
{"id":7,"id":"8","text":"x","text":"y"}
{"id":9,"text":"f","mixed":[1,2,{"b":null}],"deep":{"a":{},"b":[[],[1,"x"]]}}
{"id":10,"text":"g","mixed":"no list","deep":7,"t\u0065xt2":true}
{"id":true,"text":["h"],"_seq":5,"_source_line":"own","_extra":{"k":1}}
{}
{"":0,"a b":"c\"d","text":""}
"#;

const LATE: &str = r#"{"text":"late","id":11,"late":{"x":[1e400]},"n":"not a number"}
{"text":"later","late":1,"late2":0.10}
"#;

/// Has the text of another line.
const COPY: &str = "{ \"text\":\"row 5\" }";

/// A folder with the mess in several files, with lines that are rejected, and the lines that are left, in order.
fn messy_folder() -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in");
    std::fs::create_dir(&input).unwrap();
    let long: String = (0..300).map(|n| format!("{{\"id\":{n},\"text\":\"row {n}\",\"n\":{n}}}\n")).collect();
    std::fs::write(input.join("a.jsonl"), format!("{MESS}{{\"id\": broken\n{long}{COPY}\n{LATE}")).unwrap();
    std::fs::write(input.join("b.jsonl"), "{\"id\":1}\r\n[1,2]\n\n{\"id\":\"CR\", \"x\":[]}\r\n{\"id\":12}").unwrap();
    let packed = |n: usize| format!("{{\"text\": \"packed {n}\", \"id\":{n}e0}}\n");
    let members: Vec<u8> = [format!("{}\n\n", packed(0).trim_end()), format!("\"bare\"\n{}", packed(1))]
        .iter()
        .flat_map(|text| gzip(text.as_bytes()))
        .collect();
    std::fs::write(input.join("c.jsonl.gz"), members).unwrap();
    std::fs::write(input.join("d.jsonl.zst"), zstd::encode_all(packed(2).as_bytes(), 1).unwrap()).unwrap();
    let mut left = format!("{MESS}{long}{COPY}\n{LATE}{{\"id\":1}}\r\n{{\"id\":\"CR\", \"x\":[]}}\r\n{{\"id\":12}}\n");
    left.extend((0..3).map(packed));
    for n in 3..9 {
        std::fs::write(input.join(format!("e-{n}.jsonl")), packed(n)).unwrap();
        left.push_str(&packed(n));
    }
    (folder, left)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// What a pipeline over `in/` writes to a file. `settings`: names and values.
fn written(folder: &Path, verbs: &str, settings: &[(&str, &str)]) -> String {
    let mut config = Config::default();
    settings.iter().for_each(|(name, value)| config.set(name, value).unwrap());
    let (input, output) = (folder.join("in"), folder.join("out.jsonl"));
    let query = format!("FROM '{}/' |> {verbs} INTO '{}' WITH (overwrite = true)", input.display(), output.display());
    let mut session = Session::new(config).unwrap();
    let outcomes = block_on(run(&mut session, &SourceText::new("q", query.as_str()), Language::Cql));
    outcomes.unwrap_or_else(|error| panic!("{query}: {error:?}"));
    std::fs::read_to_string(output).unwrap()
}

/// Shows only the first line that differs.
fn assert_lines(found: &str, expected: &str, context: &str) {
    for (number, (found, expected)) in found.split('\n').zip(expected.split('\n')).enumerate() {
        assert_eq!(found, expected, "line {} after {context}", number + 1);
    }
    assert_eq!(found.len(), expected.len(), "{context}");
}

/// One file with these lines, and what a pipeline over it writes.
fn after(lines: &str, verbs: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("in")).unwrap();
    std::fs::write(folder.path().join("in/a.jsonl"), lines).unwrap();
    written(folder.path(), verbs, &[])
}

#[test]
fn a_messy_folder_comes_back_byte_for_byte() {
    let (folder, expected) = messy_folder();
    for verbs in [
        "",
        "WHERE true |>",
        "WHERE words(text) >= 0 OR text IS NULL |>",
        "WHERE id IS NOT NULL OR id IS NULL |> LIMIT 100000 |>",
        "SAMPLE 100 PERCENT SEED 1 |>",
        "EXTEND words(text) AS n_words |> WHERE n_words >= 0 OR text IS NULL |> DROP n_words |>",
        "RENAME id AS other |> RENAME other AS id |>",
    ] {
        assert_lines(&written(folder.path(), verbs, &[]), &expected, verbs);
    }
    let limited: Vec<&str> = expected.split_inclusive('\n').take(7).collect();
    assert_eq!(written(folder.path(), "LIMIT 7 |>", &[]), limited.concat());
    let without_copy: String = expected.split_inclusive('\n').filter(|line| !line.starts_with(COPY)).collect();
    assert!(without_copy.len() < expected.len());
    assert_lines(&written(folder.path(), "DEDUP EXACT ON text |>", &[]), &without_copy, "DEDUP EXACT");
    let mut by_text: Vec<&str> = expected.lines().collect();
    by_text.sort_unstable();
    let sorted = written(folder.path(), "ORDER BY text DESC |>", &[]);
    let mut sorted: Vec<&str> = sorted.lines().collect();
    sorted.sort_unstable();
    assert_eq!(sorted, by_text);
}

#[test]
fn the_bytes_do_not_depend_on_threads_batches_samples_or_the_optimizer() {
    let (folder, expected) = messy_folder();
    let verbs = "WHERE coalesce(text, '') <> 'row 7' |> SET n = 0 |> EXTEND chars(text) AS n_chars |>";
    let changed = written(folder.path(), verbs, &[]);
    for settings in [
        &[("threads", "1")][..],
        &[("threads", "16")],
        &[("threads", "8"), ("batch_rows", "1")],
        &[("threads", "3"), ("batch_bytes", "64"), ("blocksize", "100")],
        &[("optimize", "false")],
        &[("fusion", "false")],
        // The columns are learnt from the beginning, and the rest goes to `_extra`.
        &[("sample_bytes", "40")],
        &[("sample_bytes", "900"), ("threads", "4"), ("optimize", "false")],
    ] {
        assert_lines(&written(folder.path(), "WHERE true |>", settings), &expected, &format!("{settings:?}"));
        if settings.iter().all(|(name, _)| *name != "sample_bytes") {
            assert_lines(&written(folder.path(), verbs, settings), &changed, &format!("{settings:?}"));
        }
    }
}

#[test]
fn a_changed_row_keeps_its_other_fields() {
    let lines = "{\"id\": 1, \"text\": \"a  b\", \"meta\": {\"n\": 1e2, \"m\": [1,{\"b\":null}]}}\n\
                 {\"text\":\"c\",\"id\":\"2\",\"meta\":null}\n\
                 {\"id\":3.0}\n";
    for (verbs, expected) in [
        (
            "SET text = upper(text) |>",
            "{\"id\": 1, \"text\": \"A  B\", \"meta\": {\"n\": 1e2, \"m\": [1,{\"b\":null}]}}\n\
             {\"text\":\"C\",\"id\":\"2\",\"meta\":null}\n\
             {\"id\":3.0}\n",
        ),
        (
            "SET text = coalesce(text, 'none') |>",
            "{\"id\": 1, \"text\": \"a  b\", \"meta\": {\"n\": 1e2, \"m\": [1,{\"b\":null}]}}\n\
             {\"text\":\"c\",\"id\":\"2\",\"meta\":null}\n\
             {\"id\":3.0,\"text\":\"none\"}\n",
        ),
        (
            "EXTEND chars(text) AS n |> DROP meta |>",
            "{\"id\": 1, \"text\": \"a  b\", \"n\": 4}\n{\"text\":\"c\",\"id\":\"2\",\"n\":1}\n{\"id\":3.0,\"n\":null}\n",
        ),
        (
            "DROP id |> RENAME text AS body |>",
            "{ \"body\": \"a  b\", \"meta\": {\"n\": 1e2, \"m\": [1,{\"b\":null}]}}\n{\"body\":\"c\",\"meta\":null}\n{}\n",
        ),
        (
            "SET id = coalesce(id, 'none') |> DEDUP LINES ON id |>",
            "{\"id\": 1, \"text\": \"a  b\", \"meta\": {\"n\": 1e2, \"m\": [1,{\"b\":null}]}}\n\
             {\"text\":\"c\",\"id\":\"2\",\"meta\":null}\n\
             {\"id\":3.0}\n",
        ),
        ("SELECT id, text |>", "{\"id\": 1, \"text\": \"a  b\"}\n{\"text\":\"c\",\"id\":\"2\"}\n{\"id\":3.0}\n"),
        (
            "SELECT text, id, id AS again |>",
            "{\"text\": \"a  b\", \"id\": 1, \"again\": 1}\n{\"text\":\"c\",\"id\":\"2\",\"again\":\"2\"}\n\
             {\"id\":3.0,\"again\":3.0}\n",
        ),
    ] {
        assert_eq!(after(lines, verbs), expected, "{verbs}");
    }
}

#[test]
fn text_that_a_query_left_alone_keeps_its_escapes() {
    let lines = "{\"text\":\"caf\\u00e9 \\/ x\"}\n{\"text\":\"caf\\u00e9  y\"}\n";
    let collapsed = after(lines, "SET text = collapse_whitespace(text) |>");
    assert_eq!(collapsed, "{\"text\":\"caf\\u00e9 \\/ x\"}\n{\"text\":\"café y\"}\n");
}

#[test]
fn of_repeated_fields_the_last_is_replaced() {
    let lines = "{\"a\":1,\"b\":2,\"a\":3,\"c\":4}\n";
    assert_eq!(after(lines, "SET a = a + 1 |>"), "{\"b\":2,\"a\":4,\"c\":4}\n");
    assert_eq!(after(lines, "SET c = 0 |>"), "{\"a\":1,\"b\":2,\"a\":3,\"c\":0}\n");
}

#[test]
fn rows_of_unions_and_joins_come_from_their_lines() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::create_dir(path("in")).unwrap();
    std::fs::write(path("in/a.jsonl"), "{\"id\": 1e0}\n{\"id\": \"x\", \"n\": 2.0}\n").unwrap();
    std::fs::write(path("b.jsonl"), "{\"id\":\"y\",\"n\":3e0}\n{ \"id\":7 }\n").unwrap();
    std::fs::write(path("c.csv"), "id,score\nx,0.5\nz,1\n").unwrap();
    let expected = "{\"id\": 1e0}\n{\"id\": \"x\", \"n\": 2.0}\n{\"id\":\"y\",\"n\":3e0}\n{ \"id\":7 }\n";
    for union in ["UNION ALL", "UNION"] {
        assert_eq!(written(folder.path(), &format!("{union} '{}' |>", path("b.jsonl")), &[]), expected);
    }
    let with_csv = format!("SELECT id |> UNION ALL (FROM '{}' |> SELECT id) |>", path("c.csv"));
    let expected = "{\"id\": 1e0}\n{\"id\": \"x\"}\n{\"id\":\"x\"}\n{\"id\":\"z\"}\n";
    assert_eq!(written(folder.path(), &with_csv, &[]), expected);
    let join = format!("JOIN '{}' USING (id) |>", path("c.csv"));
    assert_eq!(written(folder.path(), &join, &[]), "{\"id\": \"x\", \"n\": 2.0, \"score\": 0.5}\n");
    let right = format!("RIGHT JOIN '{}' USING (id) |> SELECT id, n, score |>", path("c.csv"));
    let joined = written(folder.path(), &right, &[]);
    assert!(joined.ends_with("{\"id\":\"z\",\"n\":null,\"score\":1.0}\n"), "{joined}");
}

#[test]
fn a_union_of_different_types_leaves_the_values_of_both_sides_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::create_dir(path("in")).unwrap();
    std::fs::write(path("in/a.jsonl"), "{\"id\":1}\n{\"id\":2.50}\n").unwrap();
    std::fs::write(path("b.jsonl"), "{\"id\":\"1\"}\n{\"id\":[1]}\n").unwrap();
    let both = "{\"id\":1}\n{\"id\":2.50}\n{\"id\":\"1\"}\n{\"id\":[1]}\n";
    assert_eq!(written(folder.path(), &format!("UNION ALL '{}' |>", path("b.jsonl")), &[]), both);
    // What the query itself converts is changed.
    let converted = format!("SELECT CAST(id AS VARCHAR) AS id |> UNION ALL '{}' |>", path("b.jsonl"));
    let expected = "{\"id\":\"1.0\"}\n{\"id\":\"2.5\"}\n{\"id\":\"1\"}\n{\"id\":\"[1]\"}\n";
    assert_eq!(written(folder.path(), &converted, &[]), expected);
}

#[test]
fn other_formats_get_columns_and_no_lines() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("a.jsonl"), "{\"id\":1,\"n\":1e2}\n{\"id\":\"2\"}\n").unwrap();
    let query = format!(
        "FROM '{0}' |> WHERE true |> INTO '{1}'; FROM '{1}' |> INTO '{2}'; FROM '{1}' |> INTO '{3}'",
        path("a.jsonl"),
        path("b.parquet"),
        path("c.csv"),
        path("d.jsonl")
    );
    let mut session = Session::new(Config::default()).unwrap();
    block_on(run(&mut session, &SourceText::new("q", query.as_str()), Language::Cql)).unwrap();
    assert_eq!(std::fs::read_to_string(path("c.csv")).unwrap(), "id,n\n1,100.0\n2,\n");
    let expected = "{\"id\":\"1\",\"n\":100.0}\n{\"id\":\"2\",\"n\":null}\n";
    assert_eq!(std::fs::read_to_string(path("d.jsonl")).unwrap(), expected);
}

#[test]
fn a_union_by_name_keeps_the_fields_that_each_source_has() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("a.jsonl"), "{\"id\": 1e0, \"a\": [1,\"2\"]}\n").unwrap();
    std::fs::write(path("b.jsonl"), "{\"b\":null,\"id\":2.50}\n").unwrap();
    let query = format!(
        "COPY (SELECT * FROM '{}' UNION ALL BY NAME SELECT * FROM '{}') TO '{}'",
        path("a.jsonl"),
        path("b.jsonl"),
        path("c.jsonl")
    );
    let mut session = Session::new(Config::default()).unwrap();
    block_on(run(&mut session, &SourceText::new("q", query.as_str()), Language::Sql)).unwrap();
    let expected = "{\"id\": 1e0, \"a\": [1,\"2\"]}\n{\"b\":null,\"id\":2.50}\n";
    assert_eq!(std::fs::read_to_string(path("c.jsonl")).unwrap(), expected);
}

#[test]
fn folders_take_their_column_out_of_the_lines() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("in")).unwrap();
    let lines = "{\"lang\":\"en\", \"n\": 1.0}\n{\"n\":2.50,\"lang\":\"de\"}\n";
    std::fs::write(folder.path().join("in/a.jsonl"), lines).unwrap();
    let query = format!(
        "FROM '{0}/in/' |> INTO '{0}/out/' WITH (partition_by = 'lang', compression = 'none');
         FROM '{0}/out/' |> INTO '{0}/again.jsonl'",
        folder.path().display()
    );
    let mut session = Session::new(Config::default()).unwrap();
    block_on(run(&mut session, &SourceText::new("q", query.as_str()), Language::Cql)).unwrap();
    let read = |path: &str| std::fs::read_to_string(folder.path().join(path)).unwrap();
    assert_eq!(read("out/lang=en/part-00000.jsonl"), "{ \"n\": 1.0}\n");
    assert_eq!(read("out/lang=de/part-00000.jsonl"), "{\"n\":2.50}\n");
    assert_eq!(read("again.jsonl"), "{\"n\":2.50,\"lang\":\"de\"}\n{ \"n\": 1.0, \"lang\": \"en\"}\n");
}

#[test]
fn declared_columns_are_all_that_is_written() {
    let lines = "{\"b\":2.0,\"a\":1,\"c\":3}\n{\"c\":4}\n";
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("a.jsonl"), lines).unwrap();
    let query =
        format!("FROM '{}' WITH (columns = 'a BIGINT, b DOUBLE') |> INTO '{}'", path("a.jsonl"), path("b.jsonl"));
    let mut session = Session::new(Config::default()).unwrap();
    block_on(run(&mut session, &SourceText::new("q", query.as_str()), Language::Cql)).unwrap();
    assert_eq!(std::fs::read_to_string(path("b.jsonl")).unwrap(), "{\"b\":2.0,\"a\":1}\n{}\n");
}

#[test]
fn dropped_documents_do_not_show_their_lines() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("in")).unwrap();
    std::fs::write(folder.path().join("in/a.jsonl"), "{\"id\":1e0}\n{\"id\":2}\n{\"id\":2}\n").unwrap();
    let query = format!(
        "FROM '{0}/in/' |> WHERE id > 1 |> DEDUP EXACT ON id |> INTO '{0}/out.jsonl' WITH (rejects = '{0}/rejects/');
         FROM '{0}/rejects/dropped/' |> INTO '{0}/rule.csv';
         FROM '{0}/rejects/dropped-2/' |> INTO '{0}/dedup.csv'",
        folder.path().display()
    );
    let mut session = Session::new(Config::default()).unwrap();
    block_on(run(&mut session, &SourceText::new("q", query.as_str()), Language::Cql)).unwrap();
    let read = |path: &str| std::fs::read_to_string(folder.path().join(path)).unwrap();
    assert_eq!(read("out.jsonl"), "{\"id\":2}\n");
    assert_eq!(read("rule.csv").lines().next(), Some("_rule,_value,_threshold,id"));
    assert_eq!(read("dedup.csv").lines().next(), Some("_rule,_value,_threshold,_kept,id"));
}

/// A JSON value as somebody may have written it.
fn value_text() -> impl Strategy<Value = String> {
    let number = "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?";
    let text = "\"([a-z \\u{e9}\\u{4e2d}]|\\\\n|\\\\\"|\\\\/|\\\\\\\\|\\\\u00e9|\\\\ud83d\\\\ude00){0,8}\"";
    let leaf = prop_oneof![Just("null".to_string()), Just("true".to_string()), number.prop_map(|n| n), text];
    leaf.prop_recursive(3, 12, 4, |inner| {
        let list = prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(", ")));
        prop_oneof![list, object_text(inner)]
    })
}

/// An object of such values, with keys that repeat and white space that varies.
fn object_text(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let field = ("(a|b|c|text|\\\\u0061)", " {0,2}", value, " {0,1}");
    prop::collection::vec(field, 0..5).prop_map(|fields| {
        let fields: Vec<String> =
            fields.iter().map(|(key, before, value, after)| format!("\"{key}\":{before}{value}{after}")).collect();
        format!("{{{}}}", fields.join(","))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_objects_come_back_as_they_were(lines in prop::collection::vec(object_text(value_text()), 1..12)) {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        prop_assert_eq!(after(&text, "WHERE true |>"), text.clone());
        // Fields that the query does not name have the same value text, in the same order.
        let changed = after(&text, "EXTEND 1 AS added |>");
        for (line, changed) in text.lines().zip(changed.lines()) {
            let end = line.trim_end_matches(['}', ' ']);
            prop_assert!(changed.starts_with(end), "{} {}", line, changed);
            prop_assert!(serde_json::from_str::<serde_json::Value>(changed).unwrap()["added"] == 1);
        }
    }
}
