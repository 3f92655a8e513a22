//! Constants: defaults in a spec ([`Literal`]), values in a call ([`Value`]), and what a kernel gets ([`Args`]).
//!
//! Invariant: an [`Args`] holds one checked value for each option of its operator.

use super::param::Param;
use super::spec::OpSpec;
use super::text_set::TextSet;
use crate::{Error, Result};
use std::any::Any;
use std::fmt;
use std::sync::{Arc, LazyLock, OnceLock};

/// A constant that a `static` can hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Literal {
    /// Text.
    Text(&'static str),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// True or false.
    Bool(bool),
    /// A list of texts.
    TextList(&'static [&'static str]),
}

/// A constant in a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Text.
    Text(String),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// True or false.
    Bool(bool),
    /// A list of texts.
    TextList(Vec<String>),
}

impl From<Literal> for Value {
    fn from(literal: Literal) -> Self {
        match literal {
            Literal::Text(text) => Value::Text(text.to_string()),
            Literal::Int(n) => Value::Int(n),
            Literal::Float(n) => Value::Float(n),
            Literal::Bool(b) => Value::Bool(b),
            Literal::TextList(texts) => Value::TextList(texts.iter().map(|text| text.to_string()).collect()),
        }
    }
}

impl fmt::Display for Value {
    /// As an SQL literal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quote = |text: &str| format!("'{}'", text.replace('\'', "''"));
        match self {
            Value::Text(text) => f.write_str(&quote(text)),
            Value::Int(n) => write!(f, "{n}"),
            Value::Float(n) => write!(f, "{n:?}"),
            Value::Bool(b) => write!(f, "{b}"),
            Value::TextList(texts) => {
                let texts: Vec<String> = texts.iter().map(|text| quote(text)).collect();
                write!(f, "[{}]", texts.join(", "))
            }
        }
    }
}

/// The options of one call, checked, as its kernel reads them.
#[derive(Debug, Clone)]
pub struct Args {
    options: &'static [Param],
    values: Vec<Value>,
    /// For each text list its members, so that asking for one word does not walk a long list.
    sets: Vec<TextSet>,
    /// What the operator made of its options, once for all documents of the call.
    prepared: OnceLock<Arc<dyn Any + Send + Sync>>,
}

impl Args {
    /// The options in the order of [`OpSpec::options`]; those left off at the end take their defaults.
    pub fn new(spec: &OpSpec, given: Vec<Value>) -> Result<Self> {
        let options = spec.options();
        let in_call = |why: String| Error::Data(format!("`{}`: {why}", spec.name));
        if given.len() > options.len() {
            return Err(in_call(format!("{} options given, it takes {}", given.len(), options.len())));
        }
        let mut given = given.into_iter();
        let mut values = Vec::with_capacity(options.len());
        for param in options {
            let value = given.next().or_else(|| param.default.map(Value::from));
            let value = value.ok_or_else(|| in_call(format!("`{}` is missing", param.name)))?;
            values.push(param.accept(value).map_err(in_call)?);
        }
        let sets = values
            .iter()
            .map(|value| match value {
                Value::TextList(texts) => TextSet::new(texts),
                _ => TextSet::new(&[]),
            })
            .collect();
        Ok(Self { options, values, sets, prepared: OnceLock::new() })
    }

    /// Every value, in the order of [`OpSpec::options`].
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// The values that are not the defaults, as they would be written in a call: by position as far as that goes, then
    /// by name.
    pub fn written(&self) -> Vec<String> {
        let mut by_position = true;
        let mut written = Vec::new();
        for (param, value) in self.options.iter().zip(&self.values) {
            if param.default.is_some_and(|default| param.accept(default.into()).as_ref() == Ok(value)) {
                by_position = false;
            } else if by_position {
                written.push(value.to_string());
            } else {
                written.push(format!("{} => {value}", param.name));
            }
        }
        written
    }

    /// Asked of every document. Inlined, so that the name, which is a constant, is compared in a register.
    #[inline(always)]
    fn position(&self, name: &str) -> Option<usize> {
        let found = self.options.iter().position(|param| param.name == name);
        debug_assert!(found.is_some(), "the spec has no option `{name}`");
        found
    }

    #[inline(always)]
    fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(self.position(name)?)
    }

    /// A whole-number option. Asking for an option that the spec does not have gives 0 (as for the others, the
    /// neutral value); debug builds stop.
    #[inline]
    pub fn int(&self, name: &str) -> i64 {
        if let Some(Value::Int(n)) = self.get(name) { *n } else { 0 }
    }

    /// A count: negative values are 0, values past the address space its end.
    #[inline]
    pub fn count(&self, name: &str) -> usize {
        usize::try_from(self.int(name).max(0)).unwrap_or(usize::MAX)
    }

    /// A number option.
    #[inline]
    pub fn float(&self, name: &str) -> f64 {
        if let Some(Value::Float(n)) = self.get(name) { *n } else { 0.0 }
    }

    /// A true-or-false option.
    #[inline]
    pub fn bool(&self, name: &str) -> bool {
        matches!(self.get(name), Some(Value::Bool(true)))
    }

    /// A text option.
    #[inline]
    pub fn text(&self, name: &str) -> &str {
        if let Some(Value::Text(text)) = self.get(name) { text } else { "" }
    }

    /// A list option, in the order given.
    #[inline]
    pub fn texts(&self, name: &str) -> &[String] {
        if let Some(Value::TextList(texts)) = self.get(name) { texts } else { &[] }
    }

    /// The members of a list option, for asking about many texts.
    #[inline]
    pub(crate) fn set(&self, name: &str) -> &TextSet {
        self.position(name).and_then(|position| self.sets.get(position)).unwrap_or(&EMPTY)
    }

    /// What `make` makes of the options: made at the first document and kept for the others. An operator prepares one
    /// type of thing; asked for another, there is none.
    pub fn prepared<T: Any + Send + Sync>(&self, make: impl FnOnce(&Self) -> T) -> Option<&T> {
        self.prepared.get_or_init(|| Arc::new(make(self))).downcast_ref()
    }

    /// Whether a list option has this member.
    pub fn has_text(&self, name: &str, member: &str) -> bool {
        self.set(name).contains(member)
    }
}

static EMPTY: LazyLock<TextSet> = LazyLock::new(|| TextSet::new(&[]));
