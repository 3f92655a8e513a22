//! `INTO` and `COPY … TO`: the options and the target, checked before anything runs.

use super::Write;
use super::inputs::find_problem;
use crate::config::SettingError;
use crate::diag::{Code, Diagnostic, Span};
use crate::logical::{Binder, BoundVerb, option_error};
use crate::sinks::SinkSpec;
use crate::syntax::ast::{OptionItem, VerbCall};
use crate::verb::verb_plan;
use datafusion::logical_expr::LogicalPlan;

/// Where the parts of an output clause stand.
pub(super) struct OutputPlaces<'a> {
    /// The path.
    pub path: Span,
    /// The options; empty where SQL's parser does not keep their places.
    pub options: &'a [OptionItem],
}

impl OutputPlaces<'_> {
    fn name_of(&self, option: &str) -> Span {
        self.find(option).map_or(self.path, |item| item.name.span)
    }

    fn value_of(&self, option: &str) -> Span {
        self.find(option).map_or(self.path, |item| item.value_span)
    }

    fn find(&self, option: &str) -> Option<&OptionItem> {
        self.options.iter().find(|item| item.name.text == option)
    }
}

/// `INTO 'path' WITH (…)`
pub(super) fn bind_into(binder: &Binder<'_>, plan: LogicalPlan, call: &VerbCall) -> BoundVerb<LogicalPlan> {
    let Some(path) = call.name("path") else {
        return Err(vec![binder.error(Code::Syntax, "INTO needs a path", call.span)]);
    };
    let mut given = Vec::new();
    for option in &call.options {
        given.push((option.name.text.clone(), binder.option_text(option)?));
    }
    let places = OutputPlaces { path: path.span, options: &call.options };
    bind_write(binder, plan, binder.parameter_path(&path)?, given, &places)
}

/// A [`Write`], its options and target checked.
pub(super) fn bind_write(
    binder: &Binder<'_>,
    input: LogicalPlan,
    location: String,
    mut options: Vec<(String, String)>,
    places: &OutputPlaces<'_>,
) -> BoundVerb<LogicalPlan> {
    let mut spec = SinkSpec::new(location);
    let mut problems = Vec::new();
    for (name, value) in &options {
        if let Err(refused) = spec.options.set(name, value) {
            let span = match refused {
                SettingError::Unknown { .. } => places.name_of(name),
                SettingError::Value(_) => places.value_of(name),
            };
            problems.push(option_error(binder.error(Code::UnknownOption, "", span), name, refused));
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let conflict = find_problem(&spec, &input).map_err(|error| binder.blame().explain(error, places.path))?;
    if let Some(problem) = conflict {
        let span = problem.option.map_or(places.path, |option| places.value_of(option));
        let diagnostic: Diagnostic = binder.error(Code::OutputIsInput, problem.message, span);
        return Err(vec![diagnostic.help(problem.help)]);
    }
    let schema = input.schema().as_arrow();
    let validated = match binder.may_find_its_output() {
        true => spec.validate_form(schema),
        false => spec.validate(schema),
    };
    validated.map_err(|problem| {
        let code = if problem.exists { Code::OutputExists } else { Code::OptionValue };
        let span = problem.option.map_or(places.path, |option| places.value_of(option));
        let mut lines = problem.message.splitn(2, '\n');
        let diagnostic: Diagnostic = binder.error(code, lines.next().unwrap_or_default(), span);
        vec![diagnostic.maybe_help(lines.next().map(str::to_string))]
    })?;
    // The order in which options are written says nothing; one order makes equal outputs equal plans.
    options.sort();
    let verb = Write { location: spec.location, options, lines: None, appends: false };
    verb_plan(verb, vec![input]).map_err(|error| binder.blame().explain(error, places.path))
}
