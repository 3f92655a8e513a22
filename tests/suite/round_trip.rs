//! What is written reads back: each type in each format, equal or with the difference that `docs/cql.md` names.

use super::harness::{block_on, run};
use arrow::util::display::array_value_to_string;
use curator::diag::SourceText;
use curator::{Config, Language, Session};
use proptest::prelude::*;
use std::fmt::Write;
use std::path::Path;

/// The formats; each case gives what comes back for JSON Lines, for CSV and TSV, and for Parquet and Arrow.
const FORMATS: [(&str, usize); 5] = [("jsonl", 0), ("csv", 1), ("tsv", 1), ("parquet", 2), ("arrow", 2)];

/// What comes back: type and values as they were, others, or nothing because the format refuses the column.
enum Back {
    Same,
    As(&'static str),
    Refused,
}
use Back::{As, Refused, Same};

/// The values of the column `v`, after its type: `Int64: 1|2|NULL`.
fn values(sql: &str) -> Result<String, String> {
    let mut session = Session::new(Config::default()).unwrap();
    let outcomes = block_on(run(&mut session, &SourceText::new("test", sql), Language::Sql));
    let outcomes = outcomes.map_err(|error| error.to_string())?;
    let mut shown = String::new();
    for batch in outcomes.iter().flat_map(|outcome| &outcome.batches) {
        let Some(column) = batch.column_by_name("v") else { continue };
        for row in 0..batch.num_rows() {
            match shown.is_empty() {
                true => write!(shown, "{}: ", column.data_type()).unwrap(),
                false => shown.push('|'),
            }
            match column.is_null(row) || column.data_type() == &arrow::datatypes::DataType::Null {
                true => shown.push_str("NULL"),
                false => shown.push_str(&array_value_to_string(column, row).unwrap()),
            }
        }
    }
    let n_rejects: u64 = outcomes.iter().flat_map(|outcome| &outcome.report.rejected).map(|(_, n)| n).sum();
    assert_eq!(n_rejects, 0, "{sql}");
    Ok(shown)
}

/// A query that gives these values, in this order, beside a column of numbers.
fn query(values: &[&str]) -> String {
    let rows: Vec<String> =
        values.iter().enumerate().map(|(at, value)| format!("SELECT {at} AS n, {value} AS v")).collect();
    rows.join(" UNION ALL ")
}

fn check(folder: &Path, values_written: &[&str], back: [&Back; 3]) {
    let query = query(values_written);
    let before = values(&query).unwrap();
    for (format, column) in FORMATS {
        let file = folder.join(format!("file.{format}")).to_string_lossy().into_owned();
        let round_trip = format!("COPY ({query}) TO '{file}' OPTIONS (overwrite true); SELECT * FROM '{file}'");
        let after = values(&round_trip);
        match back[column] {
            Same => assert_eq!(after.as_ref(), Ok(&before), "{format}"),
            As(expected) => assert_eq!(after.as_deref(), Ok(*expected), "{format}: {before}"),
            Refused => assert!(after.is_err(), "{format}: {before} {after:?}"),
        }
    }
}

#[test]
fn every_type_reads_back_from_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let cases: &[(&[&str], [Back; 3])] = &[
        // Whole numbers are never rounded.
        (&["9223372036854775807", "-9223372036854775808", "NULL"], [Same, Same, Same]),
        (&["CAST('18446744073709551615' AS BIGINT UNSIGNED)", "CAST(0 AS BIGINT UNSIGNED)"], [Same, Same, Same]),
        (
            &["CAST('123456789012345678901234567890' AS DECIMAL(38, 0))"],
            [As("Utf8: 123456789012345678901234567890"), As("Utf8: 123456789012345678901234567890"), Same],
        ),
        (&["CAST(-5 AS SMALLINT)", "NULL"], [As("Int64: -5|NULL"), As("Int64: -5|NULL"), Same]),
        // A fraction is a float of 64 bits.
        (&["0.1", "-0.0", "1e300", "5e-324", "NULL"], [Same, Same, Same]),
        (&["1.0", "2.0"], [Same, Same, Same]),
        (&["CAST(0.1 AS FLOAT)"], [As("Float64: 0.1"), As("Float64: 0.1"), Same]),
        (&["CAST('-1.05' AS DECIMAL(10, 2))"], [As("Float64: -1.05"), As("Float64: -1.05"), Same]),
        (
            &["CAST('0.12345678901234567890' AS DECIMAL(38, 20))"],
            [As("Float64: 0.12345678901234568"), As("Float64: 0.12345678901234568"), Same],
        ),
        // What is no number.
        (
            &["1.5", "CAST('NaN' AS DOUBLE)", "CAST('inf' AS DOUBLE)", "CAST('-inf' AS DOUBLE)", "NULL"],
            [Same, Same, Same],
        ),
        (&["CAST('NaN' AS DOUBLE)", "NULL"], [As("Utf8: NaN|NULL"), Same, Same]),
        (&["CAST('inf' AS FLOAT)", "CAST(1 AS FLOAT)"], [As("Float64: inf|1.0"), As("Float64: inf|1.0"), Same]),
        (&["true", "false", "NULL"], [Same, Same, Same]),
        // Text, with nothing and null apart.
        (&["'a'", "''", "NULL", "' '"], [Same, Same, Same]),
        (&["''", "NULL"], [Same, Same, Same]),
        (&["'a,b'", "'\"'", "'\"\"'", "E'two\\nlines'", "E'\\r'", "E'\\t'", "'é漢🦀'", "'NULL'"], [Same, Same, Same]),
        (&["'1'", "''"], [Same, Same, Same]),
        (&["'007'", "'1'"], [Same, Same, Same]),
        (&["'1'", "'2'", "NULL"], [Same, As("Int64: 1|2|NULL"), Same]),
        (&["'true'", "NULL"], [Same, As("Boolean: true|NULL"), Same]),
        (&["'NaN'", "'Infinity'"], [Same, As("Float64: NaN|inf"), Same]),
        (&["'NaN'", "'1.5'"], [Same, As("Float64: NaN|1.5"), Same]),
        // Dates and times are text in formats of lines.
        (&["DATE '2024-02-29'", "NULL"], [As("Utf8: 2024-02-29|NULL"), As("Utf8: 2024-02-29|NULL"), Same]),
        (
            &["TIMESTAMP '2024-02-29T12:00:00.123456789'"],
            [As("Utf8: 2024-02-29T12:00:00.123456789"), As("Utf8: 2024-02-29T12:00:00.123456789"), Same],
        ),
        (
            &["arrow_cast('2024-02-29T12:00:00Z', 'Timestamp(Millisecond, Some(\"+00:00\"))')"],
            [As("Utf8: 2024-02-29T12:00:00Z"), As("Utf8: 2024-02-29T12:00:00Z"), Same],
        ),
        (&["TIME '12:00:01'"], [As("Utf8: 12:00:01"), As("Utf8: 12:00:01"), Same]),
        (&["X'00ff'", "NULL"], [As("Utf8: 00ff|NULL"), As("Utf8: 00ff|NULL"), Same]),
        // Nested values.
        (&["[1, NULL]", "[]", "NULL"], [Same, Refused, Same]),
        (&["[1.5, CAST('NaN' AS DOUBLE)]"], [Same, Refused, Same]),
        (&["['', NULL]"], [Same, Refused, Same]),
        (
            &["{x: 1, y: ''}", "NULL", "{x: NULL, y: NULL}"],
            [As("Struct(\"x\": Int64, \"y\": Utf8): {x: 1, y: }|NULL|{x: , y: }"), Refused, Same],
        ),
        (&["MAP {'a': 1}"], [As("Struct(\"a\": Int64): {a: 1}"), Refused, Same]),
        (&["arrow_cast('a', 'Dictionary(Int32, Utf8)')"], [As("Utf8: a"), As("Utf8: a"), As("Utf8: a")]),
        (&["arrow_cast('a', 'LargeUtf8')"], [As("Utf8: a"), As("Utf8: a"), As("Utf8: a")]),
        (&["NULL"], [As("Utf8: NULL"), As("Utf8: NULL"), Same]),
    ];
    for (values, back) in cases {
        check(folder.path(), values, back.each_ref());
    }
}

#[test]
fn a_null_of_the_only_column_is_an_empty_text_in_csv() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("one.csv").to_string_lossy().into_owned();
    for (values_written, expected) in [(["'a'", "''", "NULL"], "Utf8: a||"), (["1", "NULL", "2"], "Int64: 1|NULL|2")] {
        let rows = values_written.map(|value| format!("SELECT {value} AS v")).join(" UNION ALL ");
        let round_trip = format!("COPY ({rows}) TO '{file}' OPTIONS (overwrite true); SELECT * FROM '{file}'");
        assert_eq!(values(&round_trip).unwrap(), expected);
    }
}

#[test]
fn partition_columns_read_back_as_numbers_truth_values_or_text() {
    let folder = tempfile::tempdir().unwrap();
    for (values_written, back) in [
        (&["true", "false", "NULL"][..], Same),
        (&["true", "NULL"], Same),
        (&["-5", "7", "NULL"], Same),
        (&["'en'", "'a/b=c%'", "''", "NULL", "'__HIVE_DEFAULT_PARTITION__'"], Same),
        (&["'007'", "'1'"], Same),
        (&["'true'", "'maybe'"], Same),
        (&["CAST(1 AS SMALLINT)"], As("Int64: 1")),
        (&["'1'"], As("Int64: 1")),
        (&["0.5"], As("Utf8: 0.5")),
        (&["DATE '2024-02-29'"], As("Utf8: 2024-02-29")),
    ] {
        let query = query(values_written);
        let before = values(&query).unwrap();
        for format in ["jsonl", "csv", "parquet", "arrow"] {
            let place = folder.path().join(format!("{format}-{}", values_written.join("").len()));
            let place = place.to_string_lossy();
            let round_trip = format!(
                "COPY ({query}) TO '{place}/' OPTIONS (format '{format}', partition_by 'v', overwrite true);\n\
                 SELECT v FROM '{place}' ORDER BY n"
            );
            let after = values(&round_trip);
            let expected = match &back {
                As(expected) => expected,
                _ => before.as_str(),
            };
            assert_eq!(after.as_deref(), Ok(expected), "{format}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// The texts are first and last on their lines, and may all look like numbers.
    #[test]
    fn random_texts_survive_csv_and_what_is_read_as_text_is_the_text(
        rows in prop::collection::vec((cell(), cell()), 1..6),
        numbers in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        let mut rows = rows;
        if numbers {
            let digits = |text: String| text.len().to_string().repeat(text.len().min(1));
            rows = rows.into_iter().map(|(a, b)| (a.map(digits), b)).collect();
        }
        let lines: String =
            rows.iter().map(|(a, b)| format!("{}\n", serde_json::json!({"v": a, "n": 1, "w": b}))).collect();
        std::fs::write(at("in.jsonl"), lines).unwrap();
        let joined = |texts: Vec<&Option<String>>| {
            texts.into_iter().map(|text| text.as_deref().unwrap_or("NULL")).collect::<Vec<_>>().join("|")
        };
        let first = joined(rows.iter().map(|(first, _)| first).collect());
        let last = joined(rows.iter().map(|(_, last)| last).collect());
        for ending in ["csv", "tsv"] {
            let file = at(&format!("out.{ending}"));
            values(&format!("COPY (SELECT * FROM '{}') TO '{file}'", at("in.jsonl"))).unwrap();
            let learnt = values(&format!("SELECT v FROM '{file}'")).unwrap();
            if let Some(found) = learnt.strip_prefix("Utf8: ") {
                prop_assert_eq!(found, &first);
            } else {
                // No text was empty, or it would be lost.
                prop_assert!(!rows.iter().any(|(a, _)| a.as_deref() == Some("")), "{} {}", learnt, first);
            }
            let last_learnt = values(&format!("SELECT w AS v FROM '{file}'")).unwrap();
            if let Some(found) = last_learnt.strip_prefix("Utf8: ") {
                prop_assert_eq!(found, &last);
            }
        }
    }
}

fn cell() -> impl Strategy<Value = Option<String>> {
    prop::option::of(prop_oneof!["[ab1,\"\n\r\t ]{0,4}", Just(String::new())])
}
