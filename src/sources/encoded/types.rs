//! Arrow's types in JSON: `"Int64"`, `{"list": {"name": "item", "type": "Utf8"}}`.

use arrow::datatypes::{DataType, Field, FieldRef, Fields};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;

#[derive(Serialize, Deserialize)]
struct FieldForm {
    name: String,
    #[serde(rename = "type")]
    data_type: TypeForm,
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    nullable: bool,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<String, String>,
}

fn yes() -> bool {
    true
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum TypeForm {
    /// As Arrow prints it, and reads it again.
    Plain(String),
    Nested(Box<NestedForm>),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum NestedForm {
    List(FieldForm),
    LargeList(FieldForm),
    FixedSizeList(FieldForm, i32),
    Struct(Vec<FieldForm>),
    /// The entries, and whether their keys are sorted.
    Map(FieldForm, bool),
}

impl FieldForm {
    fn of(field: &Field) -> Result<Self, String> {
        Ok(Self {
            name: field.name().clone(),
            data_type: TypeForm::of(field.data_type())?,
            nullable: field.is_nullable(),
            metadata: field.metadata().iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
        })
    }

    fn field(self) -> Result<FieldRef, String> {
        let field = Field::new(self.name, self.data_type.data_type()?, self.nullable);
        Ok(Arc::new(field.with_metadata(self.metadata.into_iter().collect())))
    }
}

impl TypeForm {
    fn of(data_type: &DataType) -> Result<Self, String> {
        let nested = match data_type {
            DataType::List(item) => NestedForm::List(FieldForm::of(item)?),
            DataType::LargeList(item) => NestedForm::LargeList(FieldForm::of(item)?),
            DataType::FixedSizeList(item, n_items) => NestedForm::FixedSizeList(FieldForm::of(item)?, *n_items),
            DataType::Struct(fields) => {
                NestedForm::Struct(fields.iter().map(|field| FieldForm::of(field)).collect::<Result<_, _>>()?)
            }
            DataType::Map(entries, is_sorted) => NestedForm::Map(FieldForm::of(entries)?, *is_sorted),
            plain => {
                let text = plain.to_string();
                return match DataType::from_str(&text) {
                    Ok(again) if again == *plain => Ok(TypeForm::Plain(text)),
                    _ => Err(format!("the type {plain} has no encoded form")),
                };
            }
        };
        Ok(TypeForm::Nested(Box::new(nested)))
    }

    fn data_type(self) -> Result<DataType, String> {
        let nested = match self {
            TypeForm::Plain(text) => return DataType::from_str(&text).map_err(|error| error.to_string()),
            TypeForm::Nested(nested) => *nested,
        };
        Ok(match nested {
            NestedForm::List(item) => DataType::List(item.field()?),
            NestedForm::LargeList(item) => DataType::LargeList(item.field()?),
            NestedForm::FixedSizeList(item, n_items) => DataType::FixedSizeList(item.field()?, n_items),
            NestedForm::Struct(fields) => {
                DataType::Struct(fields.into_iter().map(FieldForm::field).collect::<Result<Fields, _>>()?)
            }
            NestedForm::Map(entries, is_sorted) => DataType::Map(entries.field()?, is_sorted),
        })
    }
}

/// For `#[serde(with = …)]` on the columns of a table.
pub(super) mod schema {
    use super::FieldForm;
    use arrow::datatypes::{Fields, Schema, SchemaRef};
    use serde::de::Error as _;
    use serde::ser::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::sync::Arc;

    pub fn serialize<S: Serializer>(schema: &SchemaRef, serializer: S) -> Result<S::Ok, S::Error> {
        let fields: Result<Vec<_>, _> = schema.fields().iter().map(|field| FieldForm::of(field)).collect();
        fields.map_err(S::Error::custom)?.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SchemaRef, D::Error> {
        let fields = Vec::<FieldForm>::deserialize(deserializer)?;
        let fields: Result<Fields, _> = fields.into_iter().map(FieldForm::field).collect();
        Ok(Arc::new(Schema::new(fields.map_err(D::Error::custom)?)))
    }
}

/// For `#[serde(with = …)]` on a type.
pub(super) mod data_type {
    use super::TypeForm;
    use arrow::datatypes::DataType;
    use serde::de::Error as _;
    use serde::ser::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(data_type: &DataType, serializer: S) -> Result<S::Ok, S::Error> {
        TypeForm::of(data_type).map_err(S::Error::custom)?.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<DataType, D::Error> {
        TypeForm::deserialize(deserializer)?.data_type().map_err(D::Error::custom)
    }
}

/// Whether a type has a form.
pub(super) fn has_form(data_type: &DataType) -> bool {
    TypeForm::of(data_type).is_ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use arrow::datatypes::{IntervalUnit, TimeUnit};

    #[test]
    fn types_come_back_as_they_were() {
        let marked = |name: &str, data_type: DataType| {
            let mark = [("PARQUET:field_id".to_string(), "7".to_string())];
            Arc::new(Field::new(name, data_type, false).with_metadata(mark.into()))
        };
        let pair = Fields::from(vec![marked("a", DataType::Int8), marked("b \"c\"", DataType::Float16)]);
        for data_type in [
            DataType::Null,
            DataType::UInt64,
            DataType::Binary,
            DataType::FixedSizeBinary(16),
            DataType::Date32,
            DataType::Time64(TimeUnit::Nanosecond),
            DataType::Timestamp(TimeUnit::Microsecond, None),
            DataType::Timestamp(TimeUnit::Microsecond, Some("Europe/Berlin".into())),
            DataType::Duration(TimeUnit::Second),
            DataType::Interval(IntervalUnit::MonthDayNano),
            DataType::Decimal128(38, -3),
            DataType::Decimal256(50, 2),
            DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
            DataType::List(marked("element", DataType::Struct(pair.clone()))),
            DataType::LargeList(marked("item", DataType::Utf8)),
            DataType::FixedSizeList(marked("item", DataType::Float32), 384),
            DataType::Map(marked("entries", DataType::Struct(pair)), true),
        ] {
            let text = serde_json::to_string(&TypeForm::of(&data_type).unwrap()).unwrap();
            let again: TypeForm = serde_json::from_str(&text).unwrap();
            assert_eq!(again.data_type().unwrap(), data_type, "{text}");
        }
    }
}
