//! Values, rows and chance: what both the generator and the interpreter are made of.

use std::cmp::Ordering;

/// One cell. Numbers are whole, so that no result depends on how floats are added up.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Text(String),
}

pub type Row = Vec<Value>;

/// What a column holds besides nulls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Bool,
    Int,
    Text,
}

impl Value {
    pub fn is_null(&self) -> bool {
        *self == Value::Null
    }

    pub fn text(text: &str) -> Value {
        Value::Text(text.to_string())
    }

    /// The value as it stands in a query.
    pub fn literal(&self) -> String {
        match self {
            Value::Null => "NULL".to_string(),
            Value::Bool(value) => value.to_string(),
            Value::Int(value) => value.to_string(),
            Value::Text(value) => format!("'{}'", value.replace('\'', "''")),
        }
    }

    /// The value as it stands in a line of JSON.
    pub fn json(&self) -> serde_json::Value {
        match self {
            Value::Null => serde_json::Value::Null,
            Value::Bool(value) => (*value).into(),
            Value::Int(value) => (*value).into(),
            Value::Text(value) => value.as_str().into(),
        }
    }
}

/// How two values stand in an order: nulls at the end that is asked for, whatever the direction.
pub fn compare(left: &Value, right: &Value, descending: bool, nulls_first: bool) -> Ordering {
    match (left.is_null(), right.is_null()) {
        (true, true) => Ordering::Equal,
        (true, false) => {
            if nulls_first {
                Ordering::Less
            } else {
                Ordering::Greater
            }
        }
        (false, true) => {
            if nulls_first {
                Ordering::Greater
            } else {
                Ordering::Less
            }
        }
        (false, false) if descending => right.cmp(left),
        (false, false) => left.cmp(right),
    }
}

/// Chance that is the same on every run (splitmix64).
#[derive(Clone)]
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// A number from 0 up to `end`, which is left out.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    pub fn percent(&mut self, share: usize) -> bool {
        self.below(100) < share
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// Some of the items, at least one, in their order.
    pub fn some<T: Clone>(&mut self, from: &[T], at_most: usize) -> Vec<T> {
        let mut left: Vec<usize> = (0..from.len()).collect();
        while left.len() > 1 && (left.len() > at_most || self.percent(40)) {
            let gone = self.below(left.len());
            left.remove(gone);
        }
        left.into_iter().map(|index| from[index].clone()).collect()
    }
}
