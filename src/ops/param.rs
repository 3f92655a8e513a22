//! The parameters of an operator: names, types, bounds, defaults, and the check of a value.

use super::value::{Literal, Value};
use std::fmt;

/// Tells whether a text has a form; the error says what was expected.
pub type TextForm = fn(&str) -> Result<(), String>;

/// One parameter. The first is the document, or the first ones are the columns of a model; one without a default must be given.
#[derive(Debug, Clone, Copy)]
pub struct Param {
    /// As written before `=>`.
    pub name: &'static str,
    /// A few words about it.
    pub doc: &'static str,
    /// The values it takes.
    pub ty: ParamType,
    /// The value if the call gives none.
    pub default: Option<Literal>,
    /// What a text must be beyond its type, for texts with a form of their own.
    pub form: Option<TextForm>,
}

/// The values a parameter takes; bounds are inclusive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ParamType {
    /// Any text.
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A whole number between the bounds.
    Int {
        /// The least.
        min: i64,
        /// The greatest.
        max: i64,
    },
    /// A number between the bounds; never NaN.
    Float {
        /// The least.
        min: f64,
        /// The greatest.
        max: f64,
    },
    /// True or false.
    Bool,
    /// A list of texts, as `['a', 'b']`.
    TextList,
    /// A list of some of these words.
    ChoiceList(&'static [&'static str]),
    /// A list of numbers: a column that a model reads.
    Vector,
}

impl ParamType {
    /// The SQL name of the type.
    pub fn sql_name(self) -> &'static str {
        match self {
            ParamType::Text | ParamType::Choice(_) => "TEXT",
            ParamType::Int { .. } => "BIGINT",
            ParamType::Float { .. } => "DOUBLE",
            ParamType::Bool => "BOOLEAN",
            ParamType::TextList | ParamType::ChoiceList(_) => "TEXT[]",
            ParamType::Vector => "FLOAT[]",
        }
    }

    /// Whether a column can be of this type.
    pub fn is_column(self) -> bool {
        matches!(self, ParamType::Text | ParamType::Vector)
    }
}

impl fmt::Display for ParamType {
    /// The values it takes, in words: `a whole number of at least 1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |choices: &[&str]| {
            let quoted: Vec<String> = choices.iter().map(|choice| format!("'{choice}'")).collect();
            quoted.join(", ")
        };
        match *self {
            ParamType::Text => f.write_str("a text"),
            ParamType::Choice(choices) => write!(f, "one of {}", quoted(choices)),
            ParamType::Int { min: i64::MIN, max: i64::MAX } => f.write_str("a whole number"),
            ParamType::Int { min, max: i64::MAX } => write!(f, "a whole number of at least {min}"),
            ParamType::Int { min, max } => write!(f, "a whole number from {min} to {max}"),
            ParamType::Float { min: f64::MIN, max: f64::MAX } => f.write_str("a number"),
            ParamType::Float { min, max: f64::MAX } => write!(f, "a number of at least {min}"),
            ParamType::Float { min, max } => write!(f, "a number from {min} to {max}"),
            ParamType::Bool => f.write_str("true or false"),
            ParamType::TextList => f.write_str("a list of texts, as ['a', 'b']"),
            ParamType::ChoiceList(choices) => write!(f, "a list of some of {}", quoted(choices)),
            ParamType::Vector => f.write_str("a list of numbers"),
        }
    }
}

impl Param {
    const fn new(name: &'static str, doc: &'static str, ty: ParamType) -> Self {
        Self { name, doc, ty, default: None, form: None }
    }

    /// The document, or an option that takes any text.
    pub const fn text(name: &'static str, doc: &'static str) -> Self {
        Self::new(name, doc, ParamType::Text)
    }

    /// A column of lists of numbers, for a model.
    pub const fn vector(name: &'static str, doc: &'static str) -> Self {
        Self::new(name, doc, ParamType::Vector)
    }

    /// One of a few words.
    pub const fn choice(name: &'static str, doc: &'static str, choices: &'static [&'static str]) -> Self {
        Self::new(name, doc, ParamType::Choice(choices))
    }

    /// A whole number.
    pub const fn int(name: &'static str, doc: &'static str) -> Self {
        Self::new(name, doc, ParamType::Int { min: i64::MIN, max: i64::MAX })
    }

    /// A number.
    pub const fn float(name: &'static str, doc: &'static str) -> Self {
        Self::new(name, doc, ParamType::Float { min: f64::MIN, max: f64::MAX })
    }

    /// True or false.
    pub const fn bool(name: &'static str, doc: &'static str) -> Self {
        Self::new(name, doc, ParamType::Bool)
    }

    /// A list of texts.
    pub const fn text_list(name: &'static str, doc: &'static str) -> Self {
        Self::new(name, doc, ParamType::TextList)
    }

    /// A list of some of a few words.
    pub const fn choices(name: &'static str, doc: &'static str, choices: &'static [&'static str]) -> Self {
        Self::new(name, doc, ParamType::ChoiceList(choices))
    }

    /// Bounds of a number, both inclusive. A bound means nothing to other types.
    pub const fn between(mut self, least: i64, greatest: i64) -> Self {
        self.ty = match self.ty {
            ParamType::Int { .. } => ParamType::Int { min: least, max: greatest },
            ParamType::Float { .. } => ParamType::Float { min: least as f64, max: greatest as f64 },
            other => other,
        };
        self
    }

    /// The least value of a number.
    pub const fn at_least(mut self, least: i64) -> Self {
        self.ty = match self.ty {
            ParamType::Int { max, .. } => ParamType::Int { min: least, max },
            ParamType::Float { max, .. } => ParamType::Float { min: least as f64, max },
            other => other,
        };
        self
    }

    /// The value if the call gives none.
    pub const fn default(mut self, value: Literal) -> Self {
        self.default = Some(value);
        self
    }

    /// A text that must have this form.
    pub const fn of_form(mut self, form: TextForm) -> Self {
        self.form = Some(form);
        self
    }

    /// Checks a value for this parameter; a whole number becomes a `DOUBLE` where one is wanted.
    pub fn accept(&self, value: Value) -> Result<Value, String> {
        let fits = match (&self.ty, &value) {
            (ParamType::Float { min, max }, Value::Int(n)) => {
                let n = *n as f64;
                if *min <= n && n <= *max {
                    return Ok(Value::Float(n));
                }
                false
            }
            (ParamType::Text, Value::Text(text)) => {
                if let Some(Err(why)) = self.form.map(|form| form(text)) {
                    return Err(format!("`{}`: {why}", self.name));
                }
                true
            }
            (ParamType::Choice(choices), Value::Text(text)) => choices.contains(&text.as_str()),
            (ParamType::Int { min, max }, Value::Int(n)) => min <= n && n <= max,
            (ParamType::Float { min, max }, Value::Float(n)) => min <= n && n <= max,
            (ParamType::Bool, Value::Bool(_)) => true,
            (ParamType::TextList, Value::TextList(_)) => true,
            (ParamType::ChoiceList(choices), Value::TextList(texts)) => {
                texts.iter().all(|text| choices.contains(&text.as_str()))
            }
            _ => false,
        };
        if fits { Ok(value) } else { Err(format!("`{}` is {}, not {value}", self.name, self.ty)) }
    }
}
