//! JSON lines as a reader sees them.

use super::JsonRows;
use crate::sinks::lines::EncodeRow;
use arrow::array::types::{Float64Type, Int32Type, Int64Type};
use arrow::array::*;
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field, Fields};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;

fn lines(columns: Vec<(&str, ArrayRef)>) -> String {
    let batch = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)));
    let batch = batch.unwrap();
    let rows = JsonRows::new(&batch).unwrap();
    let mut out = Vec::new();
    for row in 0..batch.num_rows() {
        rows.encode(row, &mut out).unwrap();
    }
    String::from_utf8(out).unwrap()
}

#[test]
fn scalars_keep_their_exact_value_and_nulls_are_written() {
    let got = lines(vec![
        ("t", Arc::new(StringViewArray::from(vec![Some("a \"b\""), None]))),
        ("i", Arc::new(Int64Array::from(vec![i64::MIN, i64::MAX]))),
        ("u", Arc::new(UInt64Array::from(vec![u64::MAX, 0]))),
        ("f", Arc::new(Float64Array::from(vec![0.1, f64::NAN]))),
        ("g", Arc::new(Float32Array::from(vec![0.1, f32::INFINITY]))),
        ("h", Arc::new(Float64Array::from(vec![-f64::NAN, f64::NEG_INFINITY]))),
        ("b", Arc::new(BooleanArray::from(vec![Some(true), None]))),
        ("d", Arc::new(Decimal128Array::from(vec![-105, 5]).with_precision_and_scale(10, 2).unwrap())),
        ("x", Arc::new(BinaryArray::from_vec(vec![b"\x00\xff", b""]))),
        ("day", Arc::new(Date32Array::from(vec![0, 19_000]))),
        ("at", Arc::new(TimestampMillisecondArray::from(vec![1_500, 0]).with_timezone("+00:00"))),
        ("n", Arc::new(NullArray::new(2))),
    ]);
    let expected = concat!(
        r#"{"t":"a \"b\"","i":-9223372036854775808,"u":18446744073709551615,"f":0.1,"g":0.1,"h":"NaN","b":true,"d":-1.05,"#,
        r#""x":"00ff","day":"1970-01-01","at":"1970-01-01T00:00:01.500Z","n":null}"#,
        "\n",
        r#"{"t":null,"i":9223372036854775807,"u":0,"f":"NaN","g":"Infinity","h":"-Infinity","b":null,"d":0.05,"#,
        r#""x":"","day":"2022-01-08","at":"1970-01-01T00:00:00Z","n":null}"#,
        "\n",
    );
    assert_eq!(got, expected);
}

#[test]
fn nested_values_are_written_in_full() {
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), None]), None, Some(vec![])]);
    let fixed = FixedSizeListArray::from_iter_primitive::<Float64Type, _, _>(
        [Some(vec![Some(1.5)]), None, Some(vec![Some(2.0)])],
        1,
    );
    let fields = Fields::from(vec![Field::new("k\"", DataType::Utf8, true), Field::new("n", DataType::Int64, true)]);
    let members: Vec<ArrayRef> =
        vec![Arc::new(StringArray::from(vec![Some("v"), None, None])), Arc::new(Int64Array::from(vec![1, 2, 3]))];
    let object = StructArray::new(fields, members, Some(NullBuffer::from(vec![true, false, true])));
    let mut map = MapBuilder::new(None, Int32Builder::new(), StringBuilder::new());
    map.keys().append_value(7);
    map.values().append_value("x");
    map.keys().append_value(8);
    map.values().append_null();
    map.append(true).unwrap();
    map.append(false).unwrap();
    map.append(true).unwrap();
    let dictionary: DictionaryArray<Int32Type> = [Some("en"), None, Some("en")].into_iter().collect();
    let got = lines(vec![
        ("list", Arc::new(list)),
        ("fixed", Arc::new(fixed)),
        ("object", Arc::new(object)),
        ("map", Arc::new(map.finish())),
        ("lang", Arc::new(dictionary)),
    ]);
    let expected = concat!(
        r#"{"list":[1,null],"fixed":[1.5],"object":{"k\"":"v","n":1},"map":{"7":"x","8":null},"lang":"en"}"#,
        "\n",
        r#"{"list":null,"fixed":null,"object":null,"map":null,"lang":null}"#,
        "\n",
        r#"{"list":[],"fixed":[2.0],"object":{"k\"":null,"n":3},"map":{},"lang":"en"}"#,
        "\n",
    );
    assert_eq!(got, expected);
}

#[test]
fn slices_of_nested_arrays_write_their_own_rows() {
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>((0..5).map(|i| Some(vec![Some(i), Some(i * 10)])));
    let fixed =
        FixedSizeListArray::from_iter_primitive::<Int64Type, _, _>((0..5).map(|i| Some(vec![Some(i)])), 1).slice(3, 1);
    let got = lines(vec![("l", Arc::new(list.slice(3, 1))), ("f", Arc::new(fixed))]);
    assert_eq!(got, "{\"l\":[3,30],\"f\":[3]}\n");
}

#[test]
fn extra_members_return_to_their_places() {
    let cases = [
        // A null column takes the member; a column with a value wins; unknown members come last, as they were.
        (
            None,
            Some(r#"{"score":"high","z":1.50,"a":[1, {"b":2}]}"#),
            r#"{"id":1,"score":"high","z":1.50,"a":[1, {"b":2}]}"#,
        ),
        (
            Some(5),
            Some(r#"{"score":"high","z":12345678901234567890}"#),
            r#"{"id":1,"score":5,"z":12345678901234567890}"#,
        ),
        (None, None, r#"{"id":1,"score":null}"#),
        (Some(5), Some("{}"), r#"{"id":1,"score":5}"#),
        (Some(5), Some(" { \"k\\u00e9y\" : \n [1,\n2] } "), r#"{"id":1,"score":5,"kéy":[1, 2]}"#),
        (Some(5), Some("not json"), r#"{"id":1,"score":5,"_extra":"not json"}"#),
        (Some(5), Some("[1]"), r#"{"id":1,"score":5,"_extra":"[1]"}"#),
        (Some(5), Some(r#"{"a":1} {"b":2}"#), r#"{"id":1,"score":5,"_extra":"{\"a\":1} {\"b\":2}"}"#),
    ];
    for (score, extra, expected) in cases {
        let arrays: [ArrayRef; 3] = [
            Arc::new(StringArray::from(vec![extra])),
            Arc::new(LargeStringArray::from(vec![extra])),
            Arc::new(StringViewArray::from(vec![extra])),
        ];
        for array in arrays {
            let got = lines(vec![
                ("id", Arc::new(Int64Array::from(vec![1])) as ArrayRef),
                ("_extra", array),
                ("score", Arc::new(Int64Array::from(vec![score]))),
            ]);
            assert_eq!(got, format!("{expected}\n"));
        }
    }
}

#[test]
fn an_extra_column_of_another_type_is_an_ordinary_column() {
    assert_eq!(lines(vec![("_extra", Arc::new(Int64Array::from(vec![1])))]), "{\"_extra\":1}\n");
}

type Row = (Option<String>, Option<i64>, Option<f64>, Option<Vec<Option<String>>>, Option<bool>);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn random_rows_parse_back_equal(rows in prop::collection::vec(any::<Row>(), 1..20)) {
        let list: Vec<Option<&Vec<Option<String>>>> = rows.iter().map(|row| row.3.as_ref()).collect();
        let elements: StringArray = list.iter().flatten().flat_map(|items| items.iter().cloned()).collect();
        let lengths = list.iter().map(|items| items.map_or(0, Vec::len));
        let list = ListArray::new(
            Arc::new(Field::new_list_field(DataType::Utf8, true)),
            OffsetBuffer::from_lengths(lengths),
            Arc::new(elements),
            Some(NullBuffer::from_iter(list.iter().map(Option::is_some))),
        );
        let text = lines(vec![
            ("text", Arc::new(rows.iter().map(|row| row.0.clone()).collect::<StringArray>()) as ArrayRef),
            ("int", Arc::new(rows.iter().map(|row| row.1).collect::<Int64Array>())),
            ("float", Arc::new(rows.iter().map(|row| row.2).collect::<Float64Array>())),
            ("list", Arc::new(list)),
            ("bool", Arc::new(rows.iter().map(|row| row.4).collect::<BooleanArray>())),
        ]);
        let parsed: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        prop_assert_eq!(parsed.len(), rows.len());
        for (row, value) in rows.iter().zip(parsed) {
            // serde_json's default parser may be one bit off for floats, so they are read by the standard library.
            let float = value["float"].as_f64().map(|_| value["float"].to_string().parse::<f64>().unwrap());
            let finite = row.2.filter(|float| float.is_finite());
            prop_assert!(float.is_some() == finite.is_some());
            if let (Some(got), Some(want)) = (float, finite) {
                prop_assert!((got - want).abs() <= want.abs() * 1e-15);
            }
            let expected = json!({"text": row.0, "int": row.1, "list": row.3, "bool": row.4});
            for key in ["text", "int", "list", "bool"] {
                prop_assert_eq!(&value[key], &expected[key]);
            }
        }
    }

    #[test]
    fn floats_are_written_exactly(float in any::<f64>()) {
        let line = lines(vec![("f", Arc::new(Float64Array::from(vec![float])))]);
        let text = line.trim_start_matches("{\"f\":").trim_end_matches("}\n");
        match float.is_finite() {
            true => prop_assert_eq!(text.parse::<f64>().unwrap().to_bits(), float.to_bits()),
            false => prop_assert_eq!(text, "null"),
        }
    }
}
