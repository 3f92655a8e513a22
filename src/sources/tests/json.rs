//! JSON Lines: the mess, types, what does not fit.

use super::*;
use crate::sinks::{RejectsFolder, RunFacts};
use crate::store::{Location, Outbox};

const MESS: &[u8] = b"\xef\xbb\xbf{\"id\":1,\"text\":\"bom\",\"keep\":\"a\"}\r\n\
\r\n\
   \n\
{\"id\":2,\"text\":\"caf\xff\",\"keep\":\"b\"}\n\
{\"id\":3,\"text\":\"\\ud800\",\"keep\":\"c\"}\n\
[1,2]\n\
{\"id\":4,\"keep\":\"d\",\"keep\":\"last wins\"}\n\
{\"id\":null,\"text\":null,\"keep\":\"e\"} \n\
{\"id\":5,\"text\":\"x\"} trailing\n\
{\"id\":6,\"text\":\"\\u00e9\\n\\ud83d\\ude00\",\"keep\":\"f\"}\n\
{\"id\":7,\"text\":\"cut o";

#[test]
fn each_mess_gives_the_right_rows_and_rejects() {
    for batch_bytes in [1, 64, 1 << 20] {
        for n_partitions in [1, 4] {
            let mut bench = Bench::new(&[("mess.jsonl", MESS)]).batch_bytes(batch_bytes);
            bench.n_partitions = n_partitions;
            bench.extra = ExtraColumns { file: true, row: true, position: true, line: false };
            let outcome = bench.scan("mess.jsonl");
            let mut rows: Vec<_> = outcome
                .column("_row")
                .into_iter()
                .zip(outcome.column("id"))
                .zip(outcome.column("text"))
                .zip(outcome.column("keep"))
                .map(|(((row, id), text), keep)| (row.parse::<u64>().unwrap(), id, text, keep))
                .collect();
            rows.sort();
            let expected = [
                (1, "1", "bom", "a"),
                (7, "4", "NULL", "last wins"),
                (8, "NULL", "NULL", "e"),
                (10, "6", "é\n😀", "f"),
            ];
            assert_eq!(rows, expected.map(|(row, id, text, keep)| (row, id.into(), text.into(), keep.into())));
            assert_eq!(
                outcome.reject_reasons(),
                [
                    "mess.jsonl:4: not UTF-8: byte 20 of the line is invalid",
                    "mess.jsonl:5: `\\ud800` at byte 17 is half of a surrogate pair, not a character",
                    "mess.jsonl:6: the line is an array, not a JSON object",
                    "mess.jsonl:9: there is more on the line after the JSON object",
                    "mess.jsonl:11: the line ends inside a string",
                ]
            );
            assert_eq!(outcome.rejects.n_rejects, 5);
            // The whole input was seen, so there is no column for surprises.
            assert_eq!(outcome.columns, ["id", "text", "keep", "_file", "_row", "_seq"]);
        }
    }
}

#[test]
fn rejects_do_not_depend_on_the_columns_that_are_read() {
    let bench = Bench::new(&[("mess.jsonl", MESS)]);
    for columns in [&[][..], &["keep"], &["id"]] {
        let outcome = bench.scan_columns("mess.jsonl", Some(columns));
        assert_eq!((outcome.n_rows(), outcome.rejects.n_rejects), (4, 5), "{columns:?}");
        assert_eq!(outcome.columns, columns);
    }
}

#[test]
fn rejects_are_written_with_place_and_bytes() {
    let bench = Bench::new(&[("mess.jsonl", MESS)]);
    let outbox = Outbox::new("test");
    let claim = outbox.claim(&Location::folder(&bench.folder.path().join("rejects"))).unwrap();
    let log = Arc::new(RejectLog::new(Some(RejectsFolder::open(claim, false).unwrap()), false));
    bench.try_scan(bench.table("mess.jsonl"), None, Arc::clone(&log)).unwrap();
    log.stage().unwrap().unwrap().prepare(&RunFacts::default()).unwrap();
    outbox.commit().unwrap();
    let text = fs::read_to_string(bench.folder.path().join("rejects/rejects.jsonl")).unwrap();
    let rejects: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rejects.len(), 5);
    for reject in rejects {
        let start = reject["byte_offset"].as_u64().unwrap() as usize;
        let raw = MESS[start..].split(|byte| *byte == b'\n').next().unwrap();
        assert_eq!(reject["raw"], String::from_utf8_lossy(raw).into_owned());
    }
}

#[test]
fn strict_runs_stop_at_the_first_reject() {
    let bench = Bench::new(&[("mess.jsonl", MESS)]);
    let failed = bench.try_scan(bench.table("mess.jsonl"), None, Arc::new(RejectLog::new(None, true)));
    let message = failed.err().unwrap().to_string();
    assert!(message.contains("mess.jsonl:4: not UTF-8"), "{message}");
}

#[test]
fn conflicting_types_become_text_as_written() {
    let lines = br#"{"a":"x","b":1,"c":{"k":1},"d":[1,"x"],"e":1,"big":18446744073709551615,"huge":1e999}
{"a":1.50,"b":2.5,"c":"plain","d":[],"e":{"n": [1, 2]},"big":3,"huge":123456789012345678901234567890}
"#;
    let outcome = Bench::new(&[("a.jsonl", lines)]).scan("a.jsonl");
    assert_eq!(outcome.column("a"), ["x", "1.50"]);
    assert_eq!(outcome.column("b"), ["1.0", "2.5"]);
    assert_eq!(outcome.column("c"), ["{\"k\":1}", "plain"]);
    assert_eq!(outcome.column("d"), ["[1, x]", "[]"]);
    assert_eq!(outcome.column("e"), ["1", "{\"n\": [1, 2]}"]);
    assert_eq!(outcome.column("big"), ["18446744073709551615", "3"]);
    assert_eq!(outcome.column("huge"), ["1e999", "123456789012345678901234567890"]);
}

#[test]
fn what_the_sample_did_not_show_goes_to_extra() {
    let mut bench = Bench::new(&[(
        "a.jsonl",
        br#"{"id":1,"meta":{"u":"x"},"tags":[1]}
{"id":"two","meta":{"u":"y","new":7},"tags":[1,"x"],"note":"hi"}
{"id":3,"meta":5,"tags":[2,3]}
"#,
    )]);
    bench.config.sample_bytes = 20;
    let outcome = bench.scan("a.jsonl");
    assert_eq!(outcome.columns, ["id", "meta", "tags", "_extra"]);
    assert_eq!(outcome.column("id"), ["1", "NULL", "3"]);
    assert_eq!(outcome.column("meta"), ["{u: x}", "{u: y}", "NULL"]);
    assert_eq!(outcome.column("tags"), ["[1]", "NULL", "[2, 3]"]);
    let extra = outcome.column("_extra");
    assert_eq!(extra[1], r#"{"id":"two","meta":{"new":7},"tags":[1,"x"],"note":"hi"}"#);
    assert_eq!((extra[0].as_str(), extra[2].as_str()), ("NULL", "{\"meta\":5}"));
    assert_eq!(outcome.rejects.n_rejects, 0);
    // Misfits of columns that are not read are in `_extra` too.
    assert_eq!(bench.scan_columns("a.jsonl", Some(&["_extra"])).column("_extra"), extra);
}

#[test]
fn declared_columns_are_taken_and_misfits_rejected_whatever_is_read() {
    let lines = b"{\"id\":1,\"text\":7,\"more\":1}\n{\"id\":\"x\",\"text\":\"t\"}\n{\"text\":\"u\"}\n";
    let bench = Bench::new(&[("a.jsonl", lines)]).with("columns", "id BIGINT, text VARCHAR, score DOUBLE");
    let outcome = bench.scan("a.jsonl");
    assert_eq!(outcome.column("text"), ["7", "u"]);
    assert_eq!(outcome.column("score"), ["NULL", "NULL"]);
    assert_eq!(outcome.reject_reasons(), ["a.jsonl:2: field `id`: `\"x\"` does not fit the column's type"]);
    assert_eq!(bench.scan_columns("a.jsonl", Some(&["text"])).column("text"), ["7", "u"]);
}

#[test]
fn a_line_of_50_megabytes_is_a_row() {
    let n_bytes = 50 << 20;
    let line = format!("{{\"id\":1,\"text\":\"{}\"}}\n{{\"id\":2,\"text\":\"y\"}}\n", "x".repeat(n_bytes));
    let mut bench = Bench::new(&[("a.jsonl", line.as_bytes())]);
    bench.config.sample_bytes = 1000;
    let outcome = bench.scan_columns("a.jsonl", Some(&["id", "text"]));
    let lengths: Vec<usize> = outcome.column("text").iter().map(String::len).collect();
    assert_eq!(lengths, [n_bytes, 1]);
}

#[test]
fn nesting_to_the_limit_is_read_and_deeper_is_rejected() {
    let nested = |depth: usize| format!("{{\"a\":{}1{}}}\n", "[".repeat(depth), "]".repeat(depth));
    let lines = format!("{}{}", nested(255), nested(100_000));
    let outcome = Bench::new(&[("a.jsonl", lines.as_bytes())]).scan("a.jsonl");
    assert_eq!(outcome.n_rows(), 1);
    assert_eq!(outcome.reject_reasons(), ["a.jsonl:2: nested more than 256 levels deep"]);
}

#[test]
fn json_arrays_and_pretty_objects_are_read() {
    let bench = Bench::new(&[("a.json", b"[\n {\"id\": 1,\n \"t\": \"a,b\"},\n {\"id\": 2}\n]\n")]);
    assert_eq!(bench.scan("a.json").column("id"), ["1", "2"]);
}
