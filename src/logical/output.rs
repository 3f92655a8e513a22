//! `INTO` and `COPY … TO`: the options and the target, checked before anything runs.

use super::Binder;
use super::catalog::option_error;
use super::nodes::Write;
use super::verbs::Bound;
use crate::config::SettingError;
use crate::diag::{Code, Diagnostic, Span};
use crate::sinks::SinkSpec;
use crate::syntax::ast::{Name, OptionItem};
use datafusion::logical_expr::{Extension, LogicalPlan};
use std::sync::Arc;

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

impl Binder<'_> {
    pub(super) fn into(&self, plan: LogicalPlan, path: &Name, options: &[OptionItem]) -> Bound<LogicalPlan> {
        let mut given = Vec::new();
        for option in options {
            given.push((option.name.text.clone(), self.option_text(option)?));
        }
        self.write(plan, self.parameter_path(path)?, given, &OutputPlaces { path: path.span, options })
    }

    /// A [`Write`] node, its options and target checked.
    pub(super) fn write(
        &self,
        input: LogicalPlan,
        location: String,
        mut options: Vec<(String, String)>,
        places: &OutputPlaces<'_>,
    ) -> Bound<LogicalPlan> {
        let mut spec = SinkSpec::new(location);
        let mut problems = Vec::new();
        for (name, value) in &options {
            if let Err(refused) = spec.options.set(name, value) {
                let span = match refused {
                    SettingError::Unknown { .. } => places.name_of(name),
                    SettingError::Value(_) => places.value_of(name),
                };
                problems.push(option_error(self.error(Code::UnknownOption, "", span), name, refused));
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        spec.validate(input.schema().as_arrow()).map_err(|problem| {
            let code = if problem.exists { Code::OutputExists } else { Code::OptionValue };
            let span = problem.option.map_or(places.path, |option| places.value_of(option));
            let mut lines = problem.message.splitn(2, '\n');
            let diagnostic: Diagnostic = self.error(code, lines.next().unwrap_or_default(), span);
            vec![diagnostic.maybe_help(lines.next().map(str::to_string))]
        })?;
        // The order in which options are written says nothing; one order makes equal outputs equal plans.
        options.sort();
        let node =
            Write::new(input, spec.location, options).map_err(|error| self.blame().explain(error, places.path))?;
        Ok(LogicalPlan::Extension(Extension { node: Arc::new(node) }))
    }
}
