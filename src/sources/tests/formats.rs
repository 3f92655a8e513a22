//! CSV and text files.

use super::*;

#[test]
fn text_is_a_document_a_file_or_a_line() {
    let files: &[(&str, &[u8])] = &[("a.txt", b"one\ntwo\n"), ("b.txt", b"\xff"), ("c.txt", b"")];
    let mut bench = Bench::new(files);
    bench.extra.file = true;
    let outcome = bench.scan("");
    assert_eq!(outcome.column("text"), ["one\ntwo\n", ""]);
    assert_eq!(outcome.rejects.n_rejects, 1);
    let outcome = Bench::new(files).with("unit", "line").scan("");
    assert_eq!(outcome.column("text"), ["one", "two"]);
    assert_eq!(outcome.rejects.n_rejects, 1);
}

#[test]
fn csv_takes_types_quotes_and_rejects_broken_records() {
    let text = b"id,name,score,ok\r\n1,\"a, \"\"b\"\"\nc\",1.5,true\r\n2,,,\r\n3,x\r\n4,\xff,1,false\r\n5,z,2,true\r\n";
    let mut bench = Bench::new(&[("a.csv", text)]);
    bench.extra.row = true;
    let outcome = bench.scan("a.csv");
    assert_eq!(outcome.column("id"), ["1", "2", "5"]);
    assert_eq!(outcome.column("name"), ["a, \"b\"\nc", "NULL", "z"]);
    assert_eq!(outcome.column("score"), ["1.5", "NULL", "2.0"]);
    assert_eq!(outcome.column("ok"), ["true", "NULL", "true"]);
    assert_eq!(outcome.column("_row"), ["2", "4", "7"]);
    let reasons = outcome.reject_reasons();
    assert_eq!(reasons[0], "a.csv:5: the record has 2 fields, the file 4");
    assert!(reasons[1].starts_with("a.csv:6: not UTF-8"), "{reasons:?}");
    let tsv = Bench::new(&[("a.tsv", b"x\ty\n007\t2\n")]).scan("a.tsv");
    assert_eq!((tsv.column("x"), tsv.column("y")), (vec!["007".to_string()], vec!["2".to_string()]));
    let bare = Bench::new(&[("a.csv", b"1;2\n")]).with("header", "false").with("delimiter", ";").scan("a.csv");
    assert_eq!(bare.columns, ["column_1", "column_2"]);
}

#[test]
fn csv_tells_an_empty_text_from_nothing() {
    let types = |bench: &Bench| {
        let fields = bench.table("a.csv").schema().fields().clone();
        fields.iter().map(|field| field.data_type().to_string()).collect::<Vec<_>>()
    };
    for (text, expected_types, expected) in [
        // An empty field is null, quotes around nothing are an empty text, in every place and with every line end.
        ("a,b,c\n,,\n\"\",\"\",\"\"\nx,y,z\n", "Utf8 Utf8 Utf8", "NULL,NULL,NULL|,,|x,y,z"),
        ("\u{feff}a,b\r\n\"\",\r\n\r\n,\"\"\r\nx,\"y,\r\n\"", "Utf8 Utf8", ",NULL|NULL,|x,y,\r\n"),
        ("a,b\n\"say \"\"\"\"\",\"\"\nx,\n", "Utf8 Utf8", "say \"\",|x,NULL"),
        // In columns of numbers and truth values both are null, if the file quotes what needs no quotes…
        ("\"id\",\"ok\"\n\"1\",\"\"\n\"\",\"true\"\n", "Int64 Boolean", "1,NULL|NULL,true"),
        ("id,s\n1,\"x\"\n\"\",\"\"\n", "Int64 Utf8", "1,x|NULL,"),
        // … and where quotes are used with care, a column with an empty text is one of texts.
        ("id,s\n1,x\n\"\",\"a,b\"\n", "Utf8 Utf8", "1,x|,a,b"),
        ("id,s\n1,x\n,\"\"\n", "Int64 Utf8", "1,x|NULL,"),
        // A null of a single column cannot be a blank line, which is no row.
        ("n\n1\n\"\"\n\n2\n", "Int64", "1|NULL|2"),
        ("s\nx\n\"\"\n\ny\n", "Utf8", "x||y"),
    ] {
        for batch_bytes in [1, 1 << 20] {
            let bench = Bench::new(&[("a.csv", text.as_bytes())]).batch_bytes(batch_bytes);
            let outcome = bench.scan("a.csv");
            let columns: Vec<_> = outcome.columns.iter().map(|name| outcome.column(name)).collect();
            let row = |at: usize| columns.iter().map(|column| column[at].as_str()).collect::<Vec<_>>().join(",");
            let rows: Vec<_> = (0..outcome.n_rows()).map(row).collect();
            assert_eq!(rows.join("|"), expected, "{text}");
            assert_eq!(types(&bench).join(" "), expected_types, "{text}");
        }
    }
    let declared = Bench::new(&[("a.csv", b"\"\",1\n,2\n")]).with("header", "false");
    let declared = declared.with("columns", "column_1 TEXT, column_2 BIGINT").scan("a.csv");
    assert_eq!(declared.column("column_1"), ["", "NULL"]);
}

#[test]
fn csv_numbers_are_exact_or_text() {
    for (values, expected_type, expected) in [
        (&["1", "-2"][..], "Int64", &["1", "-2"][..]),
        (&["18446744073709551615", "0"], "UInt64", &["18446744073709551615", "0"]),
        (&["18446744073709551615", "-1"], "Utf8", &["18446744073709551615", "-1"]),
        (&["18446744073709551616", "1"], "Utf8", &["18446744073709551616", "1"]),
        (&["-9223372036854775809", "1"], "Utf8", &["-9223372036854775809", "1"]),
        (&["9007199254740993", "1.5"], "Utf8", &["9007199254740993", "1.5"]),
        (&["1", "1.5", "NaN", "inf", "-inf"], "Float64", &["1.0", "1.5", "NaN", "inf", "-inf"]),
        (&["2", "nan", "Infinity", "-Infinity"], "Float64", &["2.0", "NaN", "inf", "-inf"]),
        (&["NaN", "Nan"], "Utf8", &["NaN", "Nan"]),
        (&["1e999"], "Utf8", &["1e999"]),
    ] {
        let text = format!("v,w\n{}\n", values.iter().map(|value| format!("{value},")).collect::<Vec<_>>().join("\n"));
        let bench = Bench::new(&[("a.csv", text.as_bytes())]);
        assert_eq!(bench.scan("a.csv").column("v"), expected);
        assert_eq!(bench.table("a.csv").schema().field(0).data_type().to_string(), expected_type, "{values:?}");
    }
    // What the sample did not show is set aside rather than rounded.
    let mut bench = Bench::new(&[("a.csv", b"v\n1.5\n2\n9007199254740993\n36028797018963968\n")]);
    bench.config.sample_bytes = 9;
    let outcome = bench.scan("a.csv");
    assert_eq!(outcome.column("v"), ["1.5", "2.0", "3.602879701896397e16"]);
    assert_eq!(outcome.rejects.n_rejects, 1);
}
