//! Builds one Arrow column from the JSON texts of its values.
//!
//! Invariant: each `append` adds exactly one slot, and returns what the slot could not hold, as JSON text: a value of
//! another type whole, an object's unknown fields as an object of those. Text columns hold everything.

use super::string::string_content;
use super::value::{Kind, for_each_field, for_each_item, kind, named_float};
use arrow::array::{
    ArrayRef, BooleanBuilder, Float64Builder, Int64Builder, ListArray, StringBuilder, StructArray, UInt64Builder,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, FieldRef, Fields};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// A column being built.
pub(crate) enum ColumnBuilder {
    Bool(BooleanBuilder),
    Int(Int64Builder),
    UInt(UInt64Builder),
    Float(Float64Builder),
    Text(StringBuilder),
    Struct(StructColumn),
    List(ListColumn),
}

pub(crate) struct StructColumn {
    fields: Fields,
    index: HashMap<String, usize>,
    children: Vec<ColumnBuilder>,
    valid: Vec<bool>,
}

pub(crate) struct ListColumn {
    item_field: FieldRef,
    items: Box<ColumnBuilder>,
    offsets: Vec<i32>,
    n_items: i32,
    valid: Vec<bool>,
}

/// What did not fit, as JSON text.
pub(crate) type Residue<'a> = Option<Cow<'a, str>>;

impl ColumnBuilder {
    /// A builder for one of the types that inference or a declaration gives.
    pub fn new(data_type: &DataType) -> Self {
        match data_type {
            DataType::Boolean => Self::Bool(BooleanBuilder::new()),
            DataType::Int64 => Self::Int(Int64Builder::new()),
            DataType::UInt64 => Self::UInt(UInt64Builder::new()),
            DataType::Float64 => Self::Float(Float64Builder::new()),
            DataType::Struct(fields) => Self::Struct(StructColumn::new(fields)),
            DataType::List(item) => Self::List(ListColumn::new(item)),
            _ => Self::Text(StringBuilder::new()),
        }
    }

    /// Adds a value, or a null for `None`.
    pub fn append<'a>(&mut self, raw: Option<&'a str>, scratch: &mut Vec<u8>) -> Residue<'a> {
        let Some(raw) = raw.filter(|raw| kind(raw) != Kind::Null) else {
            self.append_null();
            return None;
        };
        let fits = match self {
            Self::Bool(column) => append_parsed(raw, Kind::Bool, parse_bool, |value| column.append_value(value)),
            Self::Int(column) => append_parsed(raw, Kind::Number, parse, |value| column.append_value(value)),
            Self::UInt(column) => append_parsed(raw, Kind::Number, parse, |value| column.append_value(value)),
            Self::Float(column) => match float(raw) {
                Some(value) => {
                    column.append_value(value);
                    true
                }
                None => false,
            },
            Self::Text(column) => {
                column.append_value(if kind(raw) == Kind::String { string_content(raw, scratch) } else { raw });
                true
            }
            Self::Struct(column) if kind(raw) == Kind::Object => return column.append(raw, scratch),
            Self::List(column) if kind(raw) == Kind::Array => return column.append(raw, scratch),
            Self::Struct(_) | Self::List(_) => false,
        };
        if fits {
            return None;
        }
        self.append_null();
        Some(Cow::Borrowed(raw))
    }

    fn append_null(&mut self) {
        match self {
            Self::Bool(column) => column.append_null(),
            Self::Int(column) => column.append_null(),
            Self::UInt(column) => column.append_null(),
            Self::Float(column) => column.append_null(),
            Self::Text(column) => column.append_null(),
            Self::Struct(column) => {
                column.valid.push(false);
                column.children.iter_mut().for_each(ColumnBuilder::append_null);
            }
            Self::List(column) => column.close(false),
        }
    }

    /// The column; the builder is empty again.
    pub fn finish(&mut self) -> Result<ArrayRef, arrow::error::ArrowError> {
        Ok(match self {
            Self::Bool(column) => Arc::new(column.finish()),
            Self::Int(column) => Arc::new(column.finish()),
            Self::UInt(column) => Arc::new(column.finish()),
            Self::Float(column) => Arc::new(column.finish()),
            Self::Text(column) => Arc::new(column.finish()),
            Self::Struct(column) => {
                let children = column.children.iter_mut().map(Self::finish).collect::<Result<_, _>>()?;
                let nulls = NullBuffer::from(std::mem::take(&mut column.valid));
                Arc::new(StructArray::try_new(column.fields.clone(), children, Some(nulls))?)
            }
            Self::List(column) => {
                column.n_items = 0;
                let offsets = OffsetBuffer::new(std::mem::replace(&mut column.offsets, vec![0]).into());
                let nulls = NullBuffer::from(std::mem::take(&mut column.valid));
                let items = column.items.finish()?;
                Arc::new(ListArray::try_new(column.item_field.clone(), offsets, items, Some(nulls))?)
            }
        })
    }
}

/// Whether a value fits a column without loss; of objects and lists only the kind is looked at. For columns that a query
/// has declared and does not read, and for those who write the line again.
pub(crate) fn fits(data_type: &DataType, raw: &str) -> bool {
    match (data_type, kind(raw)) {
        (_, Kind::Null) | (DataType::Utf8, _) | (DataType::Boolean, Kind::Bool) => true,
        // What sources with several types for a field have in common.
        (DataType::Null, _) => true,
        (DataType::Int64, Kind::Number) => raw.parse::<i64>().is_ok(),
        (DataType::UInt64, Kind::Number) => raw.parse::<u64>().is_ok(),
        (DataType::Float64, _) => float(raw).is_some(),
        (DataType::Struct(_), Kind::Object) | (DataType::List(_), Kind::Array) => true,
        _ => false,
    }
}

fn append_parsed<T>(raw: &str, wanted: Kind, parse: fn(&str) -> Option<T>, append: impl FnOnce(T)) -> bool {
    match (kind(raw) == wanted).then(|| parse(raw)).flatten() {
        Some(value) => {
            append(value);
            true
        }
        None => false,
    }
}

fn parse<T: std::str::FromStr>(raw: &str) -> Option<T> {
    raw.parse().ok()
}

fn parse_bool(raw: &str) -> Option<bool> {
    Some(raw == "true")
}

/// A floating-point value, with a name if it is no number.
fn float(raw: &str) -> Option<f64> {
    match kind(raw) {
        Kind::Number => parse_float(raw),
        Kind::String => named_float(raw),
        _ => None,
    }
}

/// A number as floating point: refused if it overflows, or is a whole number that would be rounded.
fn parse_float(raw: &str) -> Option<f64> {
    let value: f64 = raw.parse().ok()?;
    let is_whole = !raw.contains(['.', 'e', 'E']);
    (value.is_finite() && !(is_whole && value.abs() > (1u64 << 53) as f64)).then_some(value)
}

impl StructColumn {
    fn new(fields: &Fields) -> Self {
        Self {
            index: fields.iter().enumerate().map(|(i, field)| (field.name().clone(), i)).collect(),
            children: fields.iter().map(|field| ColumnBuilder::new(field.data_type())).collect(),
            fields: fields.clone(),
            valid: Vec::new(),
        }
    }

    fn append<'a>(&mut self, raw: &'a str, scratch: &mut Vec<u8>) -> Residue<'a> {
        let mut values: Vec<Option<&'a str>> = vec![None; self.children.len()];
        let mut residue = ObjectText::default();
        let visited = for_each_field(raw, |name, value| match self.index.get(name.as_ref()) {
            Some(index) => values[*index] = Some(value),
            None => residue.push(&name, value),
        });
        debug_assert!(visited.is_ok(), "the line was checked before");
        self.valid.push(true);
        for ((child, value), field) in self.children.iter_mut().zip(values).zip(&self.fields) {
            if let Some(rest) = child.append(value, scratch) {
                residue.push(field.name(), &rest);
            }
        }
        residue.finish().map(Cow::Owned)
    }
}

impl ListColumn {
    fn new(item_field: &FieldRef) -> Self {
        Self {
            items: Box::new(ColumnBuilder::new(item_field.data_type())),
            item_field: item_field.clone(),
            offsets: vec![0],
            n_items: 0,
            valid: Vec::new(),
        }
    }

    /// A list with an item that does not fit is not split up: it is null here and whole in the residue.
    fn append<'a>(&mut self, raw: &'a str, scratch: &mut Vec<u8>) -> Residue<'a> {
        let mut all_fit = true;
        let visited = for_each_item(raw, |item| {
            self.n_items += 1;
            all_fit = self.items.append(Some(item), scratch).is_none();
            all_fit
        });
        debug_assert!(visited.is_ok(), "the line was checked before");
        // Items of a list that turned out not to fit stay behind as the unseen content of a null slot.
        self.close(all_fit);
        (!all_fit).then_some(Cow::Borrowed(raw))
    }

    fn close(&mut self, is_valid: bool) {
        self.offsets.push(self.n_items);
        self.valid.push(is_valid);
    }
}

/// The text of a JSON object, combined field by field.
#[derive(Default)]
pub(crate) struct ObjectText(String);

impl ObjectText {
    /// Adds a field; `value` is JSON text.
    pub fn push(&mut self, name: &str, value: &str) {
        self.0.push(if self.0.is_empty() { '{' } else { ',' });
        self.0.push_str(&serde_json::Value::from(name).to_string());
        self.0.push(':');
        self.0.push_str(value);
    }

    /// The object, if it has a field.
    pub fn finish(mut self) -> Option<String> {
        if self.0.is_empty() {
            return None;
        }
        self.0.push('}');
        Some(self.0)
    }
}
