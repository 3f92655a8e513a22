//! What we tell a user about their query: codes, places in the text, and a way out.
//!
//! A [`Diagnostic`] is about the *query*; a broken world (a file that cannot be read, a full disk) is an
//! [`Error`](crate::Error). Every diagnostic carries a [`Span`] into a [`SourceText`] and is rendered by
//! [`render`]. Spans are byte offsets; SQL's line and column positions are mapped in `source.rs`.

mod render;
mod source;
mod suggest;
mod synonyms;
mod visible;

pub use render::{render, render_all};
pub use source::{SourceText, Span};
pub(crate) use suggest::{did_you_mean, nearest};
pub(crate) use synonyms::{dedup_method_for, functions_for, verb_for};
pub(crate) use visible::{is_obeyed, visible};

/// The stable number of a kind of message. `curator` users can search for it, tests can pin it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Code {
    /// The text does not follow the grammar.
    Syntax,
    /// A bracket, quote or comment is not closed.
    Unclosed,
    /// The text is nested deeper than we read.
    TooDeep,
    /// An SQL expression does not parse.
    Expression,
    /// No column of that name.
    UnknownColumn,
    /// No table, view or `LET` of that name.
    UnknownTable,
    /// No file at that path.
    UnknownFile,
    /// No function, operator or macro of that name.
    UnknownFunction,
    /// No setting or option of that name.
    UnknownOption,
    /// A `$parameter` that was not given.
    UnknownParameter,
    /// A name that could mean two things.
    Ambiguous,
    /// A name defined twice.
    Duplicate,
    /// A value or expression of the wrong type.
    Type,
    /// Wrong number or names of arguments.
    Arguments,
    /// An option or setting with a value it cannot take.
    OptionValue,
    /// A macro that uses itself.
    Recursion,
    /// Understood, but not possible there.
    Unsupported,
    /// The output is in the way of an existing file.
    OutputExists,
    /// The output is an input of the same statement.
    OutputIsInput,
    /// Understood and planned wrongly by the query's own logic (anything else the planner refuses).
    Plan,
}

impl Code {
    /// The number shown in brackets: `P…` parsing, `N…` names, `T…` types, `Q…` the query as a whole.
    pub fn as_str(self) -> &'static str {
        match self {
            Code::Syntax => "P001",
            Code::Unclosed => "P002",
            Code::TooDeep => "P003",
            Code::Expression => "P004",
            Code::UnknownColumn => "N001",
            Code::UnknownTable => "N002",
            Code::UnknownFile => "N003",
            Code::UnknownFunction => "N004",
            Code::UnknownOption => "N005",
            Code::UnknownParameter => "N006",
            Code::Ambiguous => "N007",
            Code::Duplicate => "N008",
            Code::Type => "T001",
            Code::Arguments => "T002",
            Code::OptionValue => "T003",
            Code::Recursion => "Q001",
            Code::Unsupported => "Q002",
            Code::OutputExists => "Q003",
            Code::Plan => "Q004",
            Code::OutputIsInput => "Q005",
        }
    }
}

/// How bad it is. Warnings never stop a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The query cannot run.
    Error,
    /// The query runs, and probably not as meant.
    Warning,
}

/// A place in a text with a few words about it.
#[derive(Debug, Clone)]
pub struct Label {
    /// The text the span points into.
    pub source: SourceText,
    /// The place.
    pub span: Span,
    /// What is there.
    pub message: String,
}

/// One message about a query.
#[derive(Debug, Clone)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// The stable number.
    pub code: Code,
    /// What is wrong, one line.
    pub message: String,
    /// Where; the first is the main place, others (a macro's body, an earlier definition) follow.
    pub labels: Vec<Label>,
    /// What to do about it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error at one place.
    pub fn error(code: Code, message: impl Into<String>, source: &SourceText, span: Span) -> Self {
        Self {
            severity: Severity::Error,
            code,
            message: message.into(),
            labels: vec![Label { source: source.clone(), span, message: String::new() }],
            help: None,
        }
    }

    /// The words beside the caret of the main place.
    pub fn at(mut self, message: impl Into<String>) -> Self {
        if let Some(label) = self.labels.first_mut() {
            label.message = message.into();
        }
        self
    }

    /// Another place that matters: where a macro is defined, where a name was first used.
    pub fn and_at(mut self, source: &SourceText, span: Span, message: impl Into<String>) -> Self {
        self.labels.push(Label { source: source.clone(), span, message: message.into() });
        self
    }

    /// What to do about it.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Other help than there is.
    pub(crate) fn replace_help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    /// Adds help only if there is any to give.
    pub fn maybe_help(mut self, help: Option<String>) -> Self {
        self.help = self.help.or(help);
        self
    }

    /// The 1-based line and column of the main place.
    pub fn position(&self) -> Option<(usize, usize)> {
        let label = self.labels.first()?;
        Some(label.source.line_column(label.span.start))
    }
}
