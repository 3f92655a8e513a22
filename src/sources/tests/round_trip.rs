//! Property: every field of a random JSON object comes back.

use super::*;
use proptest::prelude::*;
use serde_json::{Map, Value};

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e6..1e6f64).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c]{1,2}", inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Whether a column's value says the same as the JSON it came from.
fn same(column: &dyn Array, row: usize, json: &Value) -> bool {
    match (column.data_type(), json) {
        (_, Value::Null) => column.is_null(row),
        (DataType::Utf8, Value::String(text)) => column.as_string::<i32>().value(row) == text,
        (DataType::Utf8, other) => serde_json::to_string(other).unwrap() == column.as_string::<i32>().value(row),
        (DataType::Struct(_), Value::Object(fields)) => {
            fields.iter().all(|(name, value)| same(column.as_struct().column_by_name(name).unwrap(), row, value))
        }
        (DataType::List(_), Value::Array(items)) => {
            let list = column.as_list::<i32>().value(row);
            list.len() == items.len() && items.iter().enumerate().all(|(i, item)| same(&list, i, item))
        }
        (DataType::Float64, Value::Number(number)) => {
            column.as_primitive::<arrow::datatypes::Float64Type>().value(row) == number.as_f64().unwrap()
        }
        _ => serde_json::to_string(json).unwrap() == array_value_to_string(column, row).unwrap(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_field_of_random_objects_comes_back(
        rows in prop::collection::vec(prop::collection::btree_map("[a-d]{1,2}", value(), 0..5), 1..8)
    ) {
        let text: String = rows.iter().map(|row| format!("{}\n", serde_json::to_string(row).unwrap())).collect();
        let outcome = Bench::new(&[("a.jsonl", text.as_bytes())]).scan("a.jsonl");
        prop_assert_eq!(outcome.n_rows(), rows.len());
        let batch = &outcome.batches[0][0];
        for (index, row) in rows.iter().enumerate() {
            for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
                let json = row.get(field.name()).unwrap_or(&Value::Null);
                prop_assert!(same(column, index, json), "{} of {:?}", field.name(), row);
            }
        }
    }
}
