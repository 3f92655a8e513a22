//! A document on which an operator panics, an expression fails, work takes too long, or that a model does not take: set aside with the reason, as a line
//! that cannot be read.
//!
//! A panic is a mistake of ours, or of who made the operator; an expression fails on a document that is not as the query
//! thinks: `chars(text) / words(text)` on an empty one. A run of days does not end for either; the reject has the document.
//! With `strict` the log makes an error of both.

use super::apart::Late;
use super::dropped::is_of_data;
use crate::sources::{Reject, RejectKind, RejectLog, is_position};
use crate::{Error, Result, bug};
use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::UInt64Type;
use arrow::error::ArrowError;
use datafusion::error::DataFusionError;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What stands for the file of a document whose place in the input is not known.
const NOWHERE: &str = "a document whose place is not known";

/// What `work` gives, or its panic as text.
pub(in crate::exec) fn guarded<T>(work: impl FnOnce() -> T) -> std::result::Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        text.unwrap_or("a panic without a message").to_string()
    })
}

/// Why a document cannot be worked on.
#[derive(Debug)]
pub(in crate::exec) enum Failure {
    /// An operator panicked.
    Panic(String),
    /// An expression has no value for it.
    Expression(DataFusionError),
    /// Work on it took too long.
    Late(Late),
    /// A model does not take it, for this reason.
    Refused(String),
}

impl Failure {
    /// The failure that an error of a batch is, if one of its documents may be to blame; else the error.
    pub fn of_row(error: DataFusionError, reads_documents: bool) -> std::result::Result<Self, DataFusionError> {
        match Late::of(&error) {
            Some(late) => Ok(Self::Late(late)),
            None if reads_documents && Self::is_of_row(&error) => Ok(Self::Expression(error)),
            None => Err(error),
        }
    }

    /// Whether an error is about the value of an expression, which another row may have.
    pub fn is_of_row(error: &DataFusionError) -> bool {
        match error {
            DataFusionError::ArrowError(error, _) => matches!(
                error.as_ref(),
                ArrowError::DivideByZero
                    | ArrowError::ArithmeticOverflow(_)
                    | ArrowError::CastError(_)
                    | ArrowError::ParseError(_)
                    | ArrowError::ComputeError(_)
                    | ArrowError::InvalidArgumentError(_)
            ),
            DataFusionError::Execution(_) => true,
            DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => Self::is_of_row(inner),
            _ => false,
        }
    }

    fn kind(&self) -> RejectKind {
        match self {
            Self::Panic(_) => RejectKind::OperatorFailed,
            Self::Expression(_) => RejectKind::ExpressionFailed,
            Self::Late(_) => RejectKind::TooSlow,
            Self::Refused(_) => RejectKind::ModelRefused,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panic(panic) => write!(f, "an operator failed on this document: {panic}"),
            Self::Expression(error) => write!(f, "{}", in_words(error)),
            Self::Late(late) => late.fmt(f),
            Self::Refused(reason) => f.write_str(reason),
        }
    }
}

/// `divide by zero in the condition …`: the condition after what happened.
fn in_words(error: &DataFusionError) -> String {
    match error {
        DataFusionError::Context(place, inner) => format!("{}, {place}", in_words(inner)),
        DataFusionError::Diagnostic(_, inner) => in_words(inner),
        DataFusionError::ArrowError(error, _) => match error.as_ref() {
            ArrowError::DivideByZero => "division by zero".to_string(),
            ArrowError::CastError(why) | ArrowError::ParseError(why) | ArrowError::ComputeError(why) => shortened(why),
            ArrowError::ArithmeticOverflow(why) | ArrowError::InvalidArgumentError(why) => shortened(why),
            other => shortened(&other.to_string()),
        },
        DataFusionError::Execution(why) => shortened(why),
        other => shortened(&other.strip_backtrace()),
    }
}

/// Such messages quote the value that does not fit, which may be a whole document.
fn shortened(text: &str) -> String {
    const MOST_CHARS: usize = 200;
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(MOST_CHARS) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line.to_string(),
    }
}

/// Sets the only document of a batch aside.
pub(in crate::exec) fn set_aside(rejects: Option<&RejectLog>, row: &RecordBatch, failure: &Failure) -> Result<()> {
    let Some(rejects) = rejects else {
        return Err(match failure {
            Failure::Expression(_) | Failure::Refused(_) => Error::Data(failure.to_string()),
            Failure::Panic(_) | Failure::Late(_) => bug!("{failure}"),
        });
    };
    let positions = row.schema_ref().fields().iter().zip(row.columns()).filter(|(field, _)| is_position(field.name()));
    let positions: Vec<_> = positions.filter_map(|(_, column)| column.as_primitive_opt::<UInt64Type>()).collect();
    // A row that was joined has several places.
    let position = if let [only] = positions[..] { only.values().first().copied() } else { None };
    let (file, line) = position.and_then(|at| rejects.place_of(at)).unwrap_or((NOWHERE.to_string(), 0));
    let fields = row.schema_ref().fields();
    let columns: Vec<usize> = (0..fields.len()).filter(|index| is_of_data(&fields[*index])).collect();
    let mut document = arrow::json::LineDelimitedWriter::new(vec![]);
    let written = row.project(&columns).and_then(|row| document.write(&row)).and_then(|()| document.finish());
    written.map_err(|error| bug!("a document as JSON: {error}"))?;
    rejects.report(Reject {
        file,
        line,
        byte_offset: 0,
        kind: failure.kind(),
        reason: failure.to_string(),
        raw: document.into_inner(),
    })
}
