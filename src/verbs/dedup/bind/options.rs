//! The options of `DEDUP` and `DECONTAMINATE`: their names and values, and which differ from the defaults.

use super::asked::Given;
use crate::config::SettingError;
use crate::dedup::{DecontaminateMode, Link, SemanticKeep, SemanticLink, SpanLength};
use crate::diag::{Code, Diagnostic, did_you_mean};
use crate::logical::Place;
use crate::logical::option_error;
use crate::ops::dedup::{HashFamily, Normalize, Shingle};
use std::fmt::Display;
use std::str::FromStr;

/// The options of one verb, as they are read one after the other.
pub(in crate::verbs) struct Options {
    given: Vec<Given>,
    /// What is wrong with them, in the order of reading.
    pub problems: Vec<Diagnostic>,
    /// Those that differ from their default, as `name = value`.
    pub shown: Vec<String>,
}

impl Options {
    /// The options given to `verb`, which takes those of `known`.
    pub fn new(verb: &str, known: &[&str], given: Vec<Given>) -> Self {
        let mut problems = Vec::new();
        for (at, option) in given.iter().enumerate() {
            if !known.contains(&option.name.as_str()) {
                let help = did_you_mean(&option.name, known)
                    .unwrap_or_else(|| format!("the options of {verb} are {}", known.join(", ")));
                let refused = SettingError::Unknown { help: Some(help) };
                problems.push(option_error(option.name_place.error(Code::UnknownOption, ""), &option.name, refused));
            } else if given[..at].iter().any(|earlier| earlier.name == option.name) {
                let message = format!("option `{}` is given twice", option.name);
                problems.push(option.name_place.error(Code::Duplicate, message));
            }
        }
        Self { given, problems, shown: Vec::new() }
    }

    fn find(&self, name: &str) -> Option<&Given> {
        self.given.iter().find(|option| option.name == name)
    }

    /// Whether the query gives the option.
    pub fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// An error about the option's value, at its place.
    pub fn refuse(&mut self, name: &str, message: impl Into<String>) {
        if let Some(option) = self.find(name) {
            let refused = SettingError::Value(message.into());
            let problem = option_error(option.value_place.error(Code::OptionValue, ""), name, refused);
            self.problems.push(problem);
        }
    }

    /// The value of an option, if it is given and can be read.
    pub fn value<T>(&mut self, name: &str, read: impl FnOnce(&str) -> Result<T, String>) -> Option<T> {
        let value = read(self.find(name)?.value.trim());
        value.map_err(|message| self.refuse(name, message)).ok()
    }

    /// The value of an option, or else its default; shown if they differ.
    pub fn setting<T: Shown + PartialEq>(
        &mut self,
        name: &str,
        default: T,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> T {
        match self.value(name, read) {
            Some(value) => {
                self.show(name, &value, &default);
                value
            }
            None => default,
        }
    }

    /// Shows an option that differs from its default.
    pub fn show<T: Shown + PartialEq>(&mut self, name: &str, value: &T, default: &T) {
        if value != default {
            self.shown.push(format!("{name} = {}", value.shown()));
        }
    }

    /// Where the value of an option stands.
    pub fn value_place(&self, name: &str) -> Option<&Place> {
        self.find(name).map(|option| &option.value_place)
    }
}

/// How a value is written in a query.
pub(in crate::verbs) trait Shown {
    fn shown(&self) -> String;
}

macro_rules! shown_plain {
    ($($kind:ty),*) => { $(impl Shown for $kind { fn shown(&self) -> String { self.to_string() } })* };
}

macro_rules! shown_quoted {
    ($($kind:ty),*) => { $(impl Shown for $kind { fn shown(&self) -> String { quoted(self) } })* };
}

shown_plain!(bool, u32, u64, usize, f64);
shown_quoted!(String, Shingle, Normalize, HashFamily);

impl Shown for SpanLength {
    fn shown(&self) -> String {
        match self {
            SpanLength::Bytes(n) => format!("'bytes:{n}'"),
            SpanLength::Tokens(n) => format!("'tokens:{n}'"),
        }
    }
}

impl Shown for SemanticKeep {
    fn shown(&self) -> String {
        let (name, _) = WHICH[*self as usize];
        quoted(&name)
    }
}

impl Shown for Link {
    fn shown(&self) -> String {
        let (name, _) = LINKS[*self as usize];
        quoted(&name)
    }
}

impl Shown for SemanticLink {
    fn shown(&self) -> String {
        let (name, _) = SEMANTIC_LINKS[*self as usize];
        quoted(&name)
    }
}

impl Shown for DecontaminateMode {
    fn shown(&self) -> String {
        let (name, _) = MODES[*self as usize];
        quoted(&name)
    }
}

impl Shown for Vec<String> {
    fn shown(&self) -> String {
        format!("({})", self.iter().map(quoted).collect::<Vec<_>>().join(", "))
    }
}

fn quoted(value: &impl Display) -> String {
    format!("'{}'", value.to_string().replace('\'', "''"))
}

/// `which`, in the order of the type.
const WHICH: [(&str, SemanticKeep); 3] =
    [("hard", SemanticKeep::Hard), ("easy", SemanticKeep::Easy), ("random", SemanticKeep::Random)];
/// `link` of `FUZZY`, in the order of the type.
const LINKS: [(&str, Link); 2] = [("kept", Link::Kept), ("component", Link::Component)];
/// `link` of `SEMANTIC`, in the order of the type.
const SEMANTIC_LINKS: [(&str, SemanticLink); 2] = [("kept", SemanticLink::Kept), ("any", SemanticLink::Any)];
/// `mode`, in the order of the type.
const MODES: [(&str, DecontaminateMode); 2] = [("drop", DecontaminateMode::Drop), ("cut", DecontaminateMode::Cut)];

/// `true` or `false`.
pub(in crate::verbs) fn boolean(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "on" | "1" => Ok(true),
        "false" | "off" | "0" => Ok(false),
        _ => Err(format!("`{text}` is neither true nor false")),
    }
}

/// A whole number of at least `least`.
pub(in crate::verbs) fn whole<T: FromStr + PartialOrd + Display>(least: T) -> impl FnOnce(&str) -> Result<T, String> {
    move |text| match text.replace('_', "").parse() {
        Ok(number) if number >= least => Ok(number),
        _ => Err(format!("`{text}` is not a whole number of at least {least}")),
    }
}

/// A whole number between two, which are allowed.
pub(in crate::verbs) fn between<T: FromStr + PartialOrd + Display>(
    least: T,
    most: T,
) -> impl FnOnce(&str) -> Result<T, String> {
    move |text| match text.replace('_', "").parse() {
        Ok(number) if (&least..=&most).contains(&&number) => Ok(number),
        _ => Err(format!("`{text}` is not a whole number from {least} to {most}")),
    }
}

/// A number from 0 to 1.
pub(in crate::verbs) fn fraction(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| (0.0..=1.0).contains(number));
    // Adding zero turns -0 into 0.
    number.map(|number| number + 0.0).ok_or_else(|| format!("`{text}` is not a number from 0 to 1"))
}

/// A finite number of at least 0.
pub(in crate::verbs) fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| format!("`{text}` is not a number of at least 0"))
}

/// A name.
pub(in crate::verbs) fn name(text: &str) -> Result<String, String> {
    if text.is_empty() { Err("a name is missing".to_string()) } else { Ok(text.to_string()) }
}

/// Names, with commas between them.
pub(in crate::verbs) fn names(text: &str) -> Result<Vec<String>, String> {
    text.split(',').map(|part| name(part.trim())).collect()
}

/// `bytes:100` or `tokens:50`.
pub(in crate::verbs) fn span_length(text: &str) -> Result<SpanLength, String> {
    let wanted = || format!("'{text}' is no length; write 'bytes:100' or 'tokens:50'");
    let (unit, n) = text.split_once(':').ok_or_else(wanted)?;
    let n = n.trim().parse().ok().filter(|n| *n > 0).ok_or_else(wanted)?;
    match unit.trim() {
        "bytes" => Ok(SpanLength::Bytes(n)),
        "tokens" => Ok(SpanLength::Tokens(n)),
        _ => Err(wanted()),
    }
}

/// `hard`, `easy` or `random`.
pub(in crate::verbs) fn which(text: &str) -> Result<SemanticKeep, String> {
    choose(text, &WHICH)
}

/// `kept` or `component`.
pub(in crate::verbs) fn link(text: &str) -> Result<Link, String> {
    choose(text, &LINKS)
}

/// `kept` or `any`.
pub(in crate::verbs) fn semantic_link(text: &str) -> Result<SemanticLink, String> {
    choose(text, &SEMANTIC_LINKS)
}

/// `drop` or `cut`.
pub(in crate::verbs) fn mode(text: &str) -> Result<DecontaminateMode, String> {
    choose(text, &MODES)
}

fn choose<T: Copy>(text: &str, choices: &[(&str, T)]) -> Result<T, String> {
    let found = choices.iter().find(|(name, _)| *name == text);
    found.map(|(_, choice)| *choice).ok_or_else(|| {
        let names: Vec<String> = choices.iter().map(|(name, _)| quoted(name)).collect();
        let hint = did_you_mean(text, choices.iter().map(|(name, _)| *name)).map(|help| format!("; {help}"));
        format!("'{text}' is not one of {}{}", names.join(", "), hint.unwrap_or_default())
    })
}
