//! Finds each parameter's argument in a call: positional, `name => value`, or the default.
//!
//! Works on counts and names only, so that the binder can ask before it has planned the argument expressions, and can
//! point at the right one in the user's text.

use super::spec::OpSpec;
use super::value::Value;
use crate::diag::did_you_mean;

/// Where a parameter's value comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum ArgSource {
    /// The i-th positional argument.
    Positional(usize),
    /// The i-th named argument, in the order they were written.
    Named(usize),
    /// Not in the call.
    Default(Value),
}

/// The part of a call that a problem is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentAt {
    /// The call as a whole.
    Call,
    /// The i-th positional argument.
    Positional(usize),
    /// The i-th named argument.
    Named(usize),
}

/// Why a call's arguments do not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentProblem {
    /// Where.
    pub at: ArgumentAt,
    /// What is wrong, one line.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

impl OpSpec {
    /// Each parameter's source, in the order of [`OpSpec::params`].
    pub fn bind_arguments(&self, n_positional: usize, named: &[&str]) -> Result<Vec<ArgSource>, ArgumentProblem> {
        let usage = || format!("it is {}", self.signature());
        let problem = |at, message, help| Err(ArgumentProblem { at, message, help });

        if n_positional > self.params.len() {
            let message = format!("`{}` takes {}, not {n_positional}", self.name, n_arguments(self.params.len()));
            return problem(ArgumentAt::Positional(self.params.len()), message, usage());
        }
        let mut sources: Vec<Option<ArgSource>> =
            (0..self.params.len()).map(|i| (i < n_positional).then_some(ArgSource::Positional(i))).collect();
        for (i, name) in named.iter().enumerate() {
            let Some(position) = self.params.iter().position(|param| param.name == *name) else {
                let known = self.params.iter().map(|param| param.name);
                let message = format!("`{}` has no parameter `{name}`", self.name);
                return problem(ArgumentAt::Named(i), message, did_you_mean(name, known).unwrap_or_else(usage));
            };
            if sources[position].is_some() {
                let message = format!("`{name}` is given twice");
                let help = if position < n_positional {
                    format!("argument {} is `{name}` already", position + 1)
                } else {
                    "remove one of the two".to_string()
                };
                return problem(ArgumentAt::Named(i), message, help);
            }
            sources[position] = Some(ArgSource::Named(i));
        }
        let mut bound = Vec::with_capacity(sources.len());
        for (param, source) in self.params.iter().zip(sources) {
            match source.or_else(|| param.default.map(|default| ArgSource::Default(default.into()))) {
                Some(source) => bound.push(source),
                None => {
                    let message = format!("`{}` needs `{}`, {}", self.name, param.name, param.doc);
                    return problem(ArgumentAt::Call, message, usage());
                }
            }
        }
        Ok(bound)
    }
}

fn n_arguments(n: usize) -> String {
    if n == 1 { "1 argument".to_string() } else { format!("{n} arguments") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::prelude::*;

    static CUT: OpSpec = OpSpec {
        name: "cut",
        family: Family::Custom,
        summary: "",
        details: "",
        params: &[
            Param::text("text", "the document"),
            Param::int("max", "characters to keep"),
            Param::text("mark", "put at the end").default(Literal::Text("…")),
        ],
        returns: Returns::Utf8,
        examples: &[],
        effects: Effects::PURE,
        cost: Cost::ns_per_byte(1.0),
        cpu: Cpu::Text(|text, _| Cow::Borrowed(text)),
        gpu: Gpu::NOT_YET,
    };

    #[test]
    fn arguments_bind_by_position_name_and_default() {
        let default = ArgSource::Default(Value::Text("…".into()));
        assert_eq!(
            CUT.bind_arguments(2, &[]),
            Ok(vec![ArgSource::Positional(0), ArgSource::Positional(1), default.clone()])
        );
        assert_eq!(
            CUT.bind_arguments(0, &["max", "text"]),
            Ok(vec![ArgSource::Named(1), ArgSource::Named(0), default])
        );
        assert_eq!(
            CUT.bind_arguments(1, &["mark", "max"]),
            Ok(vec![ArgSource::Positional(0), ArgSource::Named(1), ArgSource::Named(0)])
        );
    }

    #[test]
    fn arguments_that_do_not_fit_say_which_and_what_to_do() {
        let usage = "it is cut(text TEXT, max BIGINT, mark TEXT => '…') -> TEXT";
        let cases = [
            (4, vec![], ArgumentAt::Positional(3), "`cut` takes 3 arguments, not 4", usage),
            (0, vec!["max"], ArgumentAt::Call, "`cut` needs `text`, the document", usage),
            (1, vec![], ArgumentAt::Call, "`cut` needs `max`, characters to keep", usage),
            (1, vec!["maxx"], ArgumentAt::Named(0), "`cut` has no parameter `maxx`", "did you mean `max`?"),
            (2, vec!["colour"], ArgumentAt::Named(0), "`cut` has no parameter `colour`", usage),
            (1, vec!["max", "max"], ArgumentAt::Named(1), "`max` is given twice", "remove one of the two"),
            (2, vec!["max"], ArgumentAt::Named(0), "`max` is given twice", "argument 2 is `max` already"),
        ];
        for (n_positional, named, at, message, help) in cases {
            let expected = ArgumentProblem { at, message: message.into(), help: help.into() };
            assert_eq!(CUT.bind_arguments(n_positional, &named), Err(expected));
        }
    }
}
