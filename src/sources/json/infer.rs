//! Learns the type of each field from the values seen.
//!
//! Every value only adds a fact ("there was a number", "there was a negative one"); the type is decided at the end,
//! so it does not depend on the order of the lines. Where facts conflict, the column is text, which holds anything.

use super::value::{Kind, for_each_field, for_each_item, kind, named_float};
use arrow::datatypes::{DataType, Field, Fields};
use std::collections::HashMap;
use std::sync::Arc;

/// Objects with more distinct keys are maps in disguise: they stay JSON text.
const MAX_NESTED_FIELDS: usize = 200;
/// A table has no more columns than this; further fields go to `_extra`.
const MAX_COLUMNS: usize = 2000;
/// Deeper values stay JSON text.
const MAX_TYPE_DEPTH: usize = 12;
/// Whole numbers up to here are exact as floating point.
const MAX_EXACT_INT: u64 = 1 << 53;

/// What was seen of one field.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    boolean: bool,
    int: bool,
    negative: bool,
    beyond_i64: bool,
    beyond_exact_float: bool,
    float: bool,
    /// A number that no Arrow number holds exactly: it stays as written.
    unfit_number: bool,
    string: bool,
    /// `"NaN"` and its kind: floating point beside numbers, text otherwise.
    named_float: bool,
    object: Option<SeenFields>,
    array: Option<Box<Seen>>,
    opaque: bool,
}

/// What was seen of an object's fields, in order of first sight.
#[derive(Clone, Debug, Default)]
pub(crate) struct SeenFields {
    names: HashMap<String, usize>,
    fields: Vec<(String, Seen)>,
    is_overfull: bool,
}

impl SeenFields {
    /// Whether there were more fields than a table may have columns.
    pub fn is_overfull(&self) -> bool {
        self.is_overfull
    }

    /// Notes a field of a line.
    pub fn observe(&mut self, name: &str, raw: &str) {
        if let Some(seen) = self.field(name, MAX_COLUMNS) {
            seen.observe(raw, 0);
        }
    }

    fn field(&mut self, name: &str, max_fields: usize) -> Option<&mut Seen> {
        let index = match self.names.get(name) {
            Some(index) => *index,
            None if self.fields.len() >= max_fields => {
                self.is_overfull = true;
                return None;
            }
            None => {
                self.names.insert(name.to_string(), self.fields.len());
                self.fields.push((name.to_string(), Seen::default()));
                self.fields.len() - 1
            }
        };
        self.fields.get_mut(index).map(|(_, seen)| seen)
    }

    /// Adds what another file showed.
    pub fn merge(&mut self, other: SeenFields) {
        self.merge_up_to(other, MAX_COLUMNS);
    }

    fn merge_up_to(&mut self, other: SeenFields, max_fields: usize) {
        self.is_overfull |= other.is_overfull;
        for (name, seen) in other.fields {
            if let Some(known) = self.field(&name, max_fields) {
                known.merge(seen);
            }
        }
    }

    /// The columns, in order of first sight.
    pub fn resolve(&self) -> Fields {
        self.fields.iter().map(|(name, seen)| Arc::new(Field::new(name, seen.resolve(), true))).collect()
    }
}

impl Seen {
    fn observe(&mut self, raw: &str, depth: usize) {
        match kind(raw) {
            Kind::Null => {}
            Kind::Bool => self.boolean = true,
            Kind::String if named_float(raw).is_some() => self.named_float = true,
            Kind::String => self.string = true,
            Kind::Number => self.observe_number(raw),
            Kind::Object | Kind::Array if depth >= MAX_TYPE_DEPTH || self.opaque => self.opaque = true,
            Kind::Object => {
                let fields = self.object.get_or_insert_default();
                let visited = for_each_field(raw, |name, value| {
                    if let Some(seen) = fields.field(&name, MAX_NESTED_FIELDS) {
                        seen.observe(value, depth + 1);
                    }
                });
                self.opaque |= visited.is_err() || fields.is_overfull;
            }
            Kind::Array => {
                let items = self.array.get_or_insert_default();
                let visited = for_each_item(raw, |item| {
                    items.observe(item, depth + 1);
                    true
                });
                self.opaque |= visited.is_err();
            }
        }
    }

    fn observe_number(&mut self, raw: &str) {
        if let Ok(value) = raw.parse::<i64>() {
            self.int = true;
            self.negative |= value < 0;
            self.beyond_exact_float |= value.unsigned_abs() > MAX_EXACT_INT;
        } else if raw.parse::<u64>().is_ok() {
            self.int = true;
            self.beyond_i64 = true;
            self.beyond_exact_float = true;
        } else if raw.contains(['.', 'e', 'E']) && raw.parse::<f64>().is_ok_and(f64::is_finite) {
            self.float = true;
        } else {
            self.unfit_number = true;
        }
    }

    fn merge(&mut self, other: Seen) {
        self.boolean |= other.boolean;
        self.int |= other.int;
        self.negative |= other.negative;
        self.beyond_i64 |= other.beyond_i64;
        self.beyond_exact_float |= other.beyond_exact_float;
        self.float |= other.float;
        self.unfit_number |= other.unfit_number;
        self.string |= other.string;
        self.named_float |= other.named_float;
        self.opaque |= other.opaque;
        if let Some(fields) = other.object {
            let known = self.object.get_or_insert_default();
            known.merge_up_to(fields, MAX_NESTED_FIELDS);
            self.opaque |= known.is_overfull;
        }
        if let Some(items) = other.array {
            self.array.get_or_insert_default().merge(*items);
        }
    }

    fn resolve(&self) -> DataType {
        let is_number = self.int || self.float || self.unfit_number;
        let is_string = self.string || self.named_float && !is_number;
        let kinds = [self.boolean, is_number, is_string, self.object.is_some(), self.array.is_some()];
        if self.opaque || kinds.iter().filter(|seen| **seen).count() != 1 {
            return DataType::Utf8;
        }
        match (&self.object, &self.array) {
            (Some(object), _) if object.fields.is_empty() => DataType::Utf8,
            (Some(object), _) => DataType::Struct(object.resolve()),
            (_, Some(items)) => DataType::List(Arc::new(Field::new_list_field(items.resolve(), true))),
            _ if self.boolean => DataType::Boolean,
            _ if is_string => DataType::Utf8,
            _ => self.resolve_number(),
        }
    }

    fn resolve_number(&self) -> DataType {
        let is_float = self.float || self.named_float;
        let is_exact = !(self.unfit_number || is_float && self.beyond_exact_float);
        match (is_exact, is_float, self.beyond_i64) {
            (false, _, _) => DataType::Utf8,
            (true, true, _) => DataType::Float64,
            (true, false, false) => DataType::Int64,
            (true, false, true) if self.negative => DataType::Utf8,
            (true, false, true) => DataType::UInt64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inferred(values: &[&str]) -> DataType {
        let mut forward = SeenFields::default();
        values.iter().for_each(|value| forward.observe("f", value));
        let mut merged = SeenFields::default();
        for value in values.iter().rev() {
            let mut one = SeenFields::default();
            one.observe("f", value);
            merged.merge(one);
        }
        let merged_type = merged.resolve()[0].data_type().clone();
        let forward_type = forward.resolve()[0].data_type().clone();
        if !matches!(forward_type, DataType::Struct(_)) {
            assert_eq!(forward_type, merged_type, "the order of lines changed the type of {values:?}");
        }
        forward_type
    }

    #[test]
    fn types_hold_every_value_seen_or_are_text() {
        let list_of_int = DataType::List(Arc::new(Field::new_list_field(DataType::Int64, true)));
        for (values, expected) in [
            (&["1", "-2", "null"][..], DataType::Int64),
            (&["1", "18446744073709551615"], DataType::UInt64),
            (&["-1", "18446744073709551615"], DataType::Utf8),
            (&["18446744073709551616"], DataType::Utf8),
            (&["1", "1.5"], DataType::Float64),
            (&["9007199254740993", "1.5"], DataType::Utf8),
            (&["1e400"], DataType::Utf8),
            (&["1", "\"NaN\"", "null"], DataType::Float64),
            (&["1.5", "\"-Infinity\"", "\"Infinity\""], DataType::Float64),
            (&["9007199254740993", "\"NaN\""], DataType::Utf8),
            (&["\"NaN\""], DataType::Utf8),
            (&["1.5", "\"NaN\"", "\"nan\""], DataType::Utf8),
            (&["true", "\"NaN\""], DataType::Utf8),
            (&["true", "false"], DataType::Boolean),
            (&["true", "1"], DataType::Utf8),
            (&["\"a\"", "1"], DataType::Utf8),
            (&["null"], DataType::Utf8),
            (&["{}"], DataType::Utf8),
            (&["{\"a\":1}", "7"], DataType::Utf8),
            (&["[1]", "[]", "[null, 2]"], list_of_int),
        ] {
            assert_eq!(inferred(values), expected, "{values:?}");
        }
    }

    #[test]
    fn nested_objects_are_merged_and_maps_in_disguise_stay_text() {
        let DataType::Struct(fields) = inferred(&["{\"a\":1}", "{\"b\":{\"c\":\"x\"}}"]) else { unreachable!() };
        assert_eq!(fields.iter().map(|field| field.name().as_str()).collect::<Vec<_>>(), ["a", "b"]);
        let many: Vec<String> = (0..=MAX_NESTED_FIELDS).map(|i| format!("{{\"k{i}\":1}}")).collect();
        assert_eq!(inferred(&many.iter().map(String::as_str).collect::<Vec<_>>()), DataType::Utf8);
        let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
        let mut data_type = inferred(&[&deep]);
        let mut depth = 0;
        while let DataType::List(item) = data_type {
            data_type = item.data_type().clone();
            depth += 1;
        }
        assert_eq!((depth, data_type), (MAX_TYPE_DEPTH, DataType::Utf8));
    }
}
